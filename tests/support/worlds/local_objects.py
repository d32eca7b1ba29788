"""The world of the crash matrix in which there is no API server: static pods, and objects from files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from actors.objects.manager import ObjectManagerMemory
from agent.edges import Edges
from agent.tree import AgentTree
from kernel import Level, SupervisorSpec
from messages.objects import HeldObject, ObjectId, ObjectKind, Origin
from messages.pods import JsonObject, PodUid
from server.actor import Listeners
from settings.agent import Settings
from settings.command_line import parse
from settings.load import settings_of
from tests.support.crash_matrix import StoryRun
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH
from tests.support.worlds.objects import NODE, ObjectsWorld, Wanted


class LocalObjectsWorld(ObjectsWorld):
    """Manifests in one directory, objects in another."""

    origin = Origin.LOCAL
    in_the_end: ClassVar[float] = 20.0  # longer than any backoff, and several scans

    def __init__(self, run: StoryRun) -> None:
        self._pods, self._objects = run.folder / "pods", run.folder / "objects"
        self.watches = FakeDirectoryWatches()
        flags = [
            f"--local-objects-dir={self._objects}",
            f"--pod-manifest-path={self._pods}",
            "--file-check-frequency=5s",
        ]
        super().__init__(run, replace(settings_of(parse(flags), (), hostname=NODE), runtime=None))
        self._pods.mkdir()
        self._objects.mkdir()
        self._writings = 0
        self._wanted: dict[str, JsonObject] = {}

    # What users do.

    def write_pod(self, document: JsonObject) -> None:
        """Have a pod's manifest be like this."""
        name, uid = document["metadata"]["name"], document["metadata"]["uid"]
        self.pods[name], self._wanted[name] = PodUid(uid), document
        self._write(f"pods/{name}.json", json.dumps(document))

    def remove_pod(self, name: str) -> None:
        """Have no such manifest."""
        del self._wanted[name]
        self._remove(f"pods/{name}.json")

    def write_object(self, document: JsonObject) -> None:
        """Have an object's file be like this."""
        self._write(f"objects/{document['metadata']['name']}.json", json.dumps(document))

    def break_object(self, name: str) -> None:
        """Have an object's file be unusable."""
        self._write(f"objects/{name}.json", "{")

    def remove_object(self, name: str) -> None:
        """Have no such object."""
        self._remove(f"objects/{name}.json")

    def directory_goes(self) -> None:
        """Have no directory of objects."""
        self._objects.rename(self._objects.with_name("elsewhere"))
        self.watches.notice()

    def directory_comes_back(self) -> None:
        """Have it again, as it was."""
        self._objects.with_name("elsewhere").rename(self._objects)
        self.watches.notice()

    def _write(self, path: str, text: str) -> None:
        # Written at times that are the same in each run: versions of objects are made of them.
        file = self._pods.parent / path
        file.write_text(text)
        file.chmod(0o600)
        self._writings += 1
        moment = EPOCH - 1000.0 + self._writings
        os.utime(file, (moment, moment))
        self.watches.notice()

    def _remove(self, path: str) -> None:
        (self._pods.parent / path).unlink()
        self.watches.notice()

    # What it is made of.

    @override
    def _tree(self, run: StoryRun, settings: Settings) -> SupervisorSpec:
        edges = Edges(keep_watch=self.watches)
        self._agent = AgentTree(settings, Listeners(), lambda: self.play.system, edges)
        return self._agent.root()

    @override
    def _levels(self) -> Mapping[ObjectKind, Level[ObjectId, HeldObject]]:
        return self._agent._objects.levels

    @override
    def _managers_memories(self) -> Iterable[ObjectManagerMemory]:
        return self._agent._objects.memory.managers.values()

    # What is compared.

    @override
    def _references(self) -> Iterator[Wanted]:
        for name, document in self._wanted.items():
            for volume in document["spec"]["volumes"]:
                yield Wanted(name, ObjectKind.SECRET, volume["secret"]["secretName"])
