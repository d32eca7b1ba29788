"""The UIDs that static pods of one source keep from a kubelet: their record on the disk, and the log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from files.records import decoded, encoded, read_file, set_aside, write_file
from manifests.adopting import MOST_KEPT, AdoptedUids, KeptUid
from messages.pod_runtime import RuntimePod
from messages.pods import FullName, JsonObject, PodUid, SourceName

RECORD_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a record. One with more is none."""
_FORM: Final = b"actorlet-static-uids 1"
RECORD_NAME: Final = "kept-static-uids"
WAITING: Final = "is not looked at until the container runtime has said which static pods run"
"""Of a source that may have to give its pods the UIDs of these."""


def record_file(root_dir: Path, source: SourceName) -> Path:
    """Return the record of a source."""
    return root_dir / f"{RECORD_NAME}-{source}.json"


class StaticUids:
    """What outlives a life of a source: one life at a time uses it, so it needs no lock.

    The record is read before the first manifest is, and written before a pod is told whose UID it is about.
    A record that is lost costs nothing while what runs is as a kubelet made it: it is found again. Without
    ``adopts`` nothing is adopted anew, but what was adopted stays so: to drop a flag restarts nothing.
    """

    def __init__(self, root_dir: Path, source: SourceName, *, adopts: bool) -> None:
        self._file = record_file(root_dir, source)
        self._source = source
        self._uids: AdoptedUids | None = None
        self._written: tuple[KeptUid, ...] = ()
        self._is_waiting = adopts
        self._log = structlog.get_logger(f"source/{source}")

    @property
    def is_waiting(self) -> bool:
        """Whether no manifest may be read yet: it is not known what runs."""
        return self._is_waiting

    def learn(self, pods: Iterable[RuntimePod]) -> None:
        """Take what the runtime has. Only what it had first counts: later it is what this agent has made."""
        if self._is_waiting:
            self._is_waiting = False
            self._read().learn(pods)

    def uid_of(self, pod: JsonObject, digest: str) -> PodUid | None:
        """Return the UID that the static pod of a manifest keeps; None if it has one of its own."""
        return self._read().uid_of(pod, digest)

    def keep(self) -> None:
        """Write what is kept, if that has changed. Trouble is said once: the record is safe to lose."""
        kept = self._read().kept
        if kept == self._written:
            return
        for each in kept:
            if each not in self._written:
                self._log.info(
                    "a static pod keeps the UID under which it runs",
                    pod=each.full_name,
                    uid=each.uid,
                )
        self._written = kept
        try:
            write_file(self._file, encoded_uids(kept))
        except OSError as error:
            self._note(f"cannot be written: {error.strerror}")

    def _read(self) -> AdoptedUids:
        if self._uids is None:
            kept = kept_uids(self._file)
            if kept is None and self._file.exists():
                self._set_aside()
            self._written = kept or ()
            self._uids = AdoptedUids(self._source, self._written)
        return self._uids

    def _set_aside(self) -> None:
        try:
            set_aside(self._file)
        except OSError as error:
            self._note(f"cannot be set aside: {error.strerror}")
        else:
            self._note("is unusable, and was set aside")

    def _note(self, reason: str) -> None:
        self._log.warning("the record of adopted pods", file=str(self._file), reason=reason)


def encoded_uids(kept: Iterable[KeptUid]) -> bytes:
    """Return UIDs as they are on disk."""
    return encoded(_FORM, [list(each) for each in kept])


def decoded_uids(data: bytes) -> tuple[KeptUid, ...] | None:
    """Return the UIDs that a record says; None if it is torn, of another version, or no record."""
    document = decoded(_FORM, data)
    if document is None:
        return None
    found = document[-MOST_KEPT:]
    return tuple(KeptUid(FullName(name), digest, PodUid(uid)) for name, digest, uid in found)


def kept_uids(file: Path) -> tuple[KeptUid, ...] | None:
    """Return what a record says; None if there is none that can be used."""
    try:
        return decoded_uids(read_file(file, RECORD_LIMIT))
    except OSError:
        return None
