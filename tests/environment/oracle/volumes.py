"""What has to be in the volumes of pods. Functions return what is not, at rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typing_extensions import override

from messages.pods import Pod
from tests.environment.machine import Instance
from tests.environment.node import Node
from tests.environment.objects import KEY
from tests.environment.oracle.references import Reference, files_of
from tests.environment.oracle.rule import Rule, Wishes
from tests.support.canary import revealed


class PartStays(Rule):
    """A part of a volume that a container mounts lies in a volume of its pod. Its file stays as it was at the
    start of the container, until that ends or the power goes.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._had: dict[str, dict[str, str]] = {}
        """What was in the files of parts, by the ids of instances and by paths."""

    @override
    def starts(self, one: Instance) -> None:
        self._had[one.id] = parts_of(one)
        bound = {each.path: each.root for each in self.runtime.mounts.table()}
        for each in one.parts:
            if self.judges() and f"/pods/{one.uid}/volumes/" not in bound.get(each, ""):
                self.broken(f"{one.name} of {one.uid} mounts {bound.get(each)} at {each[-60:]}")

    @override
    def ends(self, one: Instance) -> None:
        for path, had in self._had.pop(one.id, {}).items():
            has = parts_of(one).get(path)
            if self.judges() and has != had:
                self.broken(f"{one.name} of {one.uid} has {has} at {path[-60:]}, and had {had}")

    @override
    def loses_power(self) -> None:
        self._had.clear()


def parts_of(one: Instance) -> dict[str, str]:
    """Return what is in the files that a container mounts as parts of volumes, by their paths."""
    files = (Path(each) for each in one.parts)
    return {str(each): revealed(each.read_bytes()) for each in files if each.is_file()}


def stale_files(node: Node, wishes: Wishes) -> Iterator[str]:
    """Yield files in volumes of pods that run which do not have what their objects say."""
    if not node.runtime.makes_volumes:
        return
    for uid in sorted({each.uid for each in node.runtime.live()} & set(wishes.pods)):
        pod, folder = wishes.pods[uid], node.folder / "root" / "pods" / uid / "volumes"
        for plugin, volume, reference in files_of(pod):
            said = wishes.said.get((wishes.where(uid), *reference.key), "")
            yield from _unlike(pod, folder / plugin / volume, reference, said)


def _unlike(pod: Pod, folder: Path, reference: Reference, said: str) -> Iterator[str]:
    """Yield a file that is not as it should be. Of an object that is gone the files may stay."""
    path = folder / (reference.items or {}).get(KEY, KEY)
    found = revealed(path.read_bytes()) if path.exists() else ""
    may_stay = not said and not reference.is_optional
    if found != said and not may_stay:
        yield f"{path.relative_to(folder.parents[1])} of {pod.uid} has {found!r}, not {said!r}"
