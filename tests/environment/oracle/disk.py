"""What of pods has to be on the disk at rest, and no more. Each function returns what is not so."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.environment.oracle.references import containers_of
from tests.environment.oracle.rule import Wishes
from tests.environment.oracle.shown import TERMINAL


def unlike_disk(root: Path, wishes: Wishes, statuses: Mapping[str, Any]) -> Iterator[str]:
    """Yield logs, files of containers, records and kept manifests that are nobody's or say what is not so.

    ``root`` is the folder of the node.
    """
    names = {
        uid: {each["name"] for each in containers_of(pod)}
        for uid, pod in wishes.pods.items()
        if wishes.wants(uid)
    }
    statics = {f"{each.namespace}_{each.name}" for each in wishes.statics()}
    yield from _logs_left(root / "logs", names, statics)
    for folder in (root / "root" / "pods").glob("*/containers/*"):
        yield from _of_nobody(folder, folder.parents[1].name, names)
    for record in (root / "root" / "pod-records").glob("*.json"):
        if record.stem in names and record.stem in statuses:
            yield from _unlike_record(record, names[record.stem], statuses[record.stem]["phase"])
    yield from _unlike_manifests(root)


def _logs_left(folder: Path, names: Mapping[str, set[str]], statics: set[str]) -> Iterator[str]:
    """Yield logs of no container that is wanted. A static pod may have those of one before it, too: what
    `actorlet logs -p` shows.
    """
    before: Counter[str] = Counter()
    for pod in folder.glob("*"):
        name, _, uid = pod.name.rpartition("_")
        before[name] += uid not in names
        if uid in names or name not in statics or before[name] > 1:
            for container in pod.glob("*"):
                yield from _of_nobody(container, uid, names)


def _of_nobody(folder: Path, uid: str, names: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a folder if it is of no container that is wanted."""
    if folder.name not in names.get(uid, ()):
        yield f"{folder.relative_to(folder.parents[2])} is left"


def _unlike_record(file: Path, names: set[str], phase: str) -> Iterator[str]:
    """Yield what the record of a pod says of another pod, of no container of it, or of another end."""
    said = _content(file)
    if said["uid"] != file.stem:
        yield f"the record of {file.stem} is of {said['uid']}"
    for field in ("resources", "probed", "digests"):
        if others := sorted(set(said[field]) - names):
            yield f"the record of {file.stem} has {field} of {others}"
    recorded = said["ended"]["phase"] if said["ended"] else ""
    # Of a pod that the agent ends, such as after its deadline, it is on record that it is to stop.
    is_told = recorded or said["stoppedBy"] is None
    if is_told and recorded != (phase if phase in TERMINAL else ""):
        yield f"the record of {file.stem} says that it ended as {recorded!r}, and it is {phase}"


def _unlike_manifests(folder: Path) -> Iterator[str]:
    """Yield last good contents of manifests that are not there, or are other ones by now."""
    manifests = folder / "manifests"
    for page in (folder / "root" / "last-good-manifests").glob("*.page"):
        said = _content(page)
        kept = said["contents"] if said["path"] == str(manifests) else {}
        for name, text in kept.items():
            if not (manifests / name).exists():
                yield f"the last good content of {name} is left"
            elif text != (manifests / name).read_text("utf-8"):
                yield f"the last good content of {name} is another one than it has"


def _content(file: Path) -> dict[str, Any]:
    """Return what a file of the agent says below its first line, which names its kind and its digest."""
    found: dict[str, Any] = json.loads(file.read_text("utf-8").partition("\n")[2])
    return found
