"""Files of a manifest directory as values, in a notation of one line, and an observer that judges them.

``name=web`` is a manifest of pod ``web``; ``uid=`` and ``image=`` say more; anything else is broken.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from files.looking.found import (
    Content,
    Entry,
    Found,
    Ignored,
    Listed,
    Listing,
    Problem,
    ProblemKind,
    Signature,
)
from files.verdicts.judging import Judgement, judge
from files.verdicts.state import FileState
from manifests.pod_manifest import Decoded
from manifests.refusals import Refused
from messages.pods import Pod
from messages.sources import RejectReason, Verdict
from messages.units import Timestamp
from tests.support.builders import PodFields, make_pod

NOON = Timestamp(1_900_000_000.0)
"""When the stories begin."""

FIFO = Problem(kind=ProblemKind.NOT_A_FILE, reason="is a fifo, not a file")
LEFTOVER = Ignored(reason="what an editor or a patch leaves behind")


def manifest(
    name: str, found: str | Found, *, written: float = -3600.0, inode: int | None = None
) -> Entry:
    """Return the file ``name``, last written ``written`` seconds after noon: an hour before.

    Files of different names have different inodes unless told otherwise.
    """
    found = Content(data=found.encode()) if isinstance(found, str) else found
    modified = round((NOON + written) * 1e9)
    inode = crc32(name.encode(errors="surrogateescape")) if inode is None else inode
    return Entry(
        name=name,
        path=Path("/manifests") / name,
        found=found,
        signature=None if isinstance(found, Ignored) else Signature(1, inode, 0, modified, 0),
    )


def decode(data: bytes) -> Decoded | Refused:
    """Return a pod, a new object each time, from the notation of this module."""
    if not data:
        return Refused(code=RejectReason.EMPTY, reason="holds no document")
    words = dict(word.partition("=")[::2] for word in data.decode().split())
    if "name" not in words:
        return Refused(code=RejectReason.SYNTAX, reason="is no manifest")
    fields = PodFields(image=words.get("image", "web:1"))
    if "uid" in words:
        fields["uid"] = words["uid"]
    warnings = ("is odd",) if "odd" in words else ()
    return Decoded(pod=make_pod(words["name"], **fields), warnings=warnings)


class Observer:
    """Judges one look after the other as the file source does, and counts what it decodes."""

    def __init__(self, *, clear_on_missing: bool = False) -> None:
        self.state: FileState[Pod] = FileState()
        self.decoded: list[bytes] = []
        self._clear_on_missing = clear_on_missing

    def sees(self, *entries: Entry, at: float = 0.0) -> Judgement[Pod]:
        """Return the judgement on a directory with these files, ``at`` seconds after noon."""
        listed = tuple(sorted(entries, key=lambda entry: entry.name))
        return self.hears(Listed(entries=listed), at=at)

    def sees_for_a_second(self, *entries: Entry, at: float = 0.0) -> Judgement[Pod]:
        """Return the second judgement of two that are a second apart: what comes of it in the end."""
        self.sees(*entries, at=at)
        return self.sees(*entries, at=at + 1.0)

    def hears(self, listing: Listing, at: float = 0.0) -> Judgement[Pod]:
        """Return the judgement on any listing."""
        judgement = judge(
            self.state,
            listing,
            self._decode,
            now=Timestamp(NOON + at),
            clear_on_missing=self._clear_on_missing,
        )
        self.state = judgement.state
        return judgement

    def _decode(self, data: bytes) -> Decoded | Refused:
        self.decoded.append(data)
        return decode(data)


def names(judgement: Judgement[Pod]) -> list[str]:
    """Return the names of the pods that are served."""
    assert judgement.served is not None
    return [pod.name for pod in judgement.served]


def the_pod(judgement: Judgement[Pod]) -> Pod:
    """Return the only pod that is served."""
    assert judgement.served is not None
    (pod,) = judgement.served
    return pod


def verdicts(judgement: Judgement[Pod]) -> dict[str, Verdict]:
    """Return the verdict for each file."""
    return {Path(verdict.path).name: verdict.verdict for verdict in judgement.verdicts}


def reasons(judgement: Judgement[Pod]) -> dict[str, str]:
    """Return the reason for each file."""
    return {Path(verdict.path).name: verdict.reason for verdict in judgement.verdicts}
