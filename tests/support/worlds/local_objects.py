"""The world of the crash matrix in which there is no API server: static pods, and objects from files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import ClassVar

from typing_extensions import override

from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import ChildSpec, SupervisorSpec, isolated
from manifests.pod_manifest import ManifestRules
from messages.objects import ObjectKind
from messages.pods import FILE, JsonObject, PodUid
from messages.units import Seconds
from settings.flags.command_line import parse
from settings.load import settings_of
from sources.file.source import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from tests.support.crash_matrix import StoryRun
from tests.support.kernel.clock import EPOCH
from tests.support.worlds.objects import NODE, ObjectsWorld, Wanted

SCAN = Seconds(5.0)
MANIFESTS = ManifestRules(node_name=NODE, source=FILE, allow_references=True)


class LocalObjectsWorld(ObjectsWorld):
    """Manifests in one directory, objects in another."""

    in_the_end: ClassVar[float] = 20.0  # longer than any backoff, and several scans

    def __init__(self, run: StoryRun) -> None:
        self._pods, self._objects = run.folder / "pods", run.folder / "objects"
        flags = [f"--local-objects-dir={self._objects}", f"--file-check-frequency={SCAN}s"]
        super().__init__(run, settings_of(parse(flags), (), hostname=NODE))
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
    def _tree(self, run: StoryRun) -> SupervisorSpec:
        pods, files = PodMemory(), FileMemory()

        def pod_manager() -> PodManager:
            return PodManager({FILE: self._address(FILE_SOURCE)}, pods)

        def file_source() -> FileSource:
            rules = FileSourceRules(
                path=self._pods, check_frequency=SCAN, clear_on_missing=False, manifests=MANIFESTS
            )
            return FileSource(rules, self._address(POD_MANAGER), files, self.watches)

        local_source = self._tree_of_objects.local_source()
        assert local_source is not None
        return SupervisorSpec(
            name="actorlet",
            children=(
                ChildSpec(key=POD_MANAGER, factory=pod_manager),
                *self._tree_of_objects.specs(),
                local_source,
                isolated(FILE_SOURCE, file_source),
            ),
        )

    @override
    def _api_ports(self) -> None:
        return None

    # What is compared.

    @override
    def _references(self) -> Iterator[Wanted]:
        for name, document in self._wanted.items():
            for volume in document["spec"]["volumes"]:
                yield Wanted(name, ObjectKind.SECRET, volume["secret"]["secretName"])
