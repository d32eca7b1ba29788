"""What has to be in the volumes of pods at rest. Functions return what is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from messages.pods import Pod
from tests.environment.node import Node
from tests.environment.objects import KEY
from tests.environment.oracle.references import Reference, files_of
from tests.environment.oracle.rule import Wishes
from tests.support.canary import revealed


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
