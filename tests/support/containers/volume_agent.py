"""A whole agent whose pods have volumes: of files with Secrets and ConfigMaps, and of others.

Pods are served from manifests, objects from files beside them. Containers say what they see.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from actors.volumes.mounts.mount_table import MountPoint, mounts_below
from actors.volumes.mounts.system_calls import KernelMounts
from messages.pods import JsonObject
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent

TOLD: Final = {"name": "told", "mountPath": "/told"}
FOLLOWS: Final = (
    "trap 'exit 0' TERM; last=; while true; do now=$(cat $FILE 2>/dev/null || echo $last);"
    ' if [ "$now" != "$last" ]; then last=$now; say "$now"; fi; sleep 0.02; done'
)
"""Says each content of ``$FILE`` that it sees."""
RESTS: Final = "trap 'exit 0' TERM; say rests; while true; do sleep 0.05; done"


class VolumeAgent(WholeAgent):
    """``run.py`` with a directory of objects beside that of manifests."""

    def __init__(self, folder: Path, containerd: Containerd) -> None:
        super().__init__(folder, containerd)
        self.objects = folder / "objects"
        self.objects.mkdir()

    def up(self, *flags: str) -> Self:
        """Start it, and wait for nothing."""
        self.begins(f"--local-objects-dir={self.objects}", *flags)
        return self

    # --- objects ---------------------------------------------------------------------------------------

    def keep(self, kind: str, name: str, **data: bytes | str) -> None:
        """Put an object in place, in one step."""
        self.keep_all(kind, name, data)

    def keep_all(self, kind: str, name: str, data: Mapping[str, bytes | str]) -> None:
        """Put an object in place whose keys may be any text."""
        texts = {key: each for key, each in data.items() if isinstance(each, str)}
        others = {
            key: base64.b64encode(each).decode()
            for key, each in data.items()
            if isinstance(each, bytes)
        }
        text, binary = ("stringData", "data") if kind == "Secret" else ("data", "binaryData")
        content = {text: texts, binary: others}
        document = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}
        beside = self.objects / f".{kind}-{name}.new"
        beside.touch(0o600)
        beside.write_text(json.dumps(document))
        beside.replace(self.objects / f"{kind}-{name}.json")

    def drop(self, kind: str, name: str) -> None:
        """Remove an object."""
        (self.objects / f"{kind}-{name}.json").unlink()

    # --- pods ------------------------------------------------------------------------------------------

    def mount(
        self,
        name: str,
        script: str,
        volumes: Iterable[JsonObject],
        mounts: Iterable[JsonObject],
        *,
        env: Mapping[str, str] | None = None,
        others: Iterable[JsonObject] = (),
        **more: Any,
    ) -> None:
        """Put the manifest of a pod in place whose container has these volumes.

        ``main`` in ``more`` is what the container has more, the rest what the pod has. ``others`` are more
        containers.
        """
        variables = [{"name": key, "value": value} for key, value in (env or {}).items()]
        main = {
            **self.container(name, script),
            "env": [{"name": "NAME", "value": name}, *variables],
            "volumeMounts": [TOLD, *mounts],
            **more.pop("main", {}),
        }
        told = {"name": "told", "hostPath": {"path": str(self.told)}}
        self.told.chmod(0o777)
        self.serve(name, containers=[main, *others], volumes=[told, *volumes], **more)

    def beside(self, who: str, script: str, mounts: Iterable[JsonObject]) -> JsonObject:
        """Return another container for a pod, which says what it does under its own name."""
        main = self.container(who, script)
        return {**main, "name": who, "volumeMounts": [TOLD, *mounts]}

    # --- what is seen ----------------------------------------------------------------------------------

    def await_said(self, name: str, *lines: str) -> None:
        """Return once a pod has said exactly this."""
        eventually(lambda: self.said(name) == [*lines])

    def directory(self, name: str) -> Path:
        """Return the directory of a pod that is served."""
        return self.root_dir / "pods" / eventually(lambda: self.uid(name))

    def uid(self, name: str) -> str:
        """Return the UID of a pod; empty if it is not served."""
        metadata = self.document(name).get("metadata") or {}
        return str(metadata.get("uid") or "")

    def volume(self, name: str, kind: str, volume: str) -> Path:
        """Return where a volume of a pod is on the node."""
        return self.directory(name) / "volumes" / f"kubernetes.io~{kind}" / volume

    def mounted(self) -> tuple[MountPoint, ...]:
        """Return what is mounted below the directory of pods."""
        return mounts_below(KernelMounts().table(), str(self.root_dir.resolve()))

    def left(self) -> list[str]:
        """Return what there is of pods: directories, and what is mounted."""
        pods = self.root_dir / "pods"
        found = [each.name for each in pods.iterdir()] if pods.exists() else []
        return [*found, *(each.path for each in self.mounted())]

    def waits(self, name: str) -> bool:
        """Whether the container of a pod waits to be created."""
        waiting = (self.status(name).get("state") or {}).get("waiting") or {}
        return waiting.get("reason") == "ContainerCreating"

    def waits_for(self, name: str, *words: str) -> bool:
        """Whether the log says that a pod waits, with all these words in one line."""
        return any(
            name in line and all(w in line for w in words) for line in self.log().splitlines()
        )


def secret(volume: str, of: str, **fields: Any) -> JsonObject:
    """Return a volume of a Secret."""
    return {"name": volume, "secret": {"secretName": of, **fields}}


def config_map(volume: str, of: str, **fields: Any) -> JsonObject:
    """Return a volume of a ConfigMap."""
    return {"name": volume, "configMap": {"name": of, **fields}}
