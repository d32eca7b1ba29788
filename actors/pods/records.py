"""RecordKeeper: keeps a small file of each pod that runs, for the next process.

Nothing depends on it while the agent runs. What cannot be written or read is said once and done without.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.pods.record_pages import (
    PAGE_LIMIT,
    KeptPod,
    decoded_page,
    encoded_page,
    page_name,
)
from files.keeping.disk import (
    NEW,
    UNUSABLE,
    make_directory,
    read_file,
    remove_file,
    sync_directory,
    write_file,
)
from kernel import Actor, Key, Port
from messages.pods import PodUid
from messages.units import Seconds

WRITE_AGAIN: Final = Seconds(30.0)
"""How long after a write that failed it is tried again."""
MOST_REFUSED: Final = 3
"""Pages that cannot be written before it is the disk that cannot: then none is tried before all are."""
MOST_PAGES: Final = 20_000
"""Pages that are read at a start. More are nobody's pods."""

_log = structlog.get_logger("pods")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPod:
    """Keep this of a pod. Coalesced per pod: the newest counts. May repeat."""

    kept: KeptPod
    reply_to: Port[PodKept] | None = None
    """Who is told once it is kept; None if nobody waits for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodKept:
    """What was to be kept of a pod is on disk; or it cannot be, which the log says. May repeat."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPod:
    """Keep nothing of a pod any more. May repeat."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKeptPods:
    """Asks for what the process before has kept. Answered by one ``KeptPodsAre``. Coalesced."""

    reply_to: Port[KeptPodsAre]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPodsAre:
    """What the process before has kept."""

    pods: Mapping[PodUid, KeptPod]


RecordKeeperMessage: TypeAlias = KeepPod | DropPod | ReadKeptPods


def _pod_of_record(message: RecordKeeperMessage) -> Hashable | None:
    match message:
        case KeepPod(kept=kept):
            return kept.uid
        case DropPod(uid=uid):
            return uid
        case ReadKeptPods():
            return ReadKeptPods
        case _:
            return None


RECORD_KEEPER = Key[RecordKeeperMessage]("pod-records", coalesce=_pod_of_record)


@dataclass(slots=True)
class RecordMemory:
    """What outlives a life of the keeper of records."""

    unwritten: dict[PodUid, KeptPod | None] = field(default_factory=dict)
    """What is to be on disk, and may not be yet; None for a page that is to go."""
    waiting: dict[PodUid, Port[PodKept]] = field(default_factory=dict)
    """Who is told once the disk has, or refuses, what is kept of a pod."""
    trouble: str = ""


class RecordKeeper(Actor[RecordKeeperMessage]):
    """Keeps one page of each pod in a directory, written by rename.

    Owns: the directory.
    Hears: ``KeepPod``, ``DropPod`` (coalesced per pod), ``ReadKeptPods``.
    Tells: who asked ``KeptPodsAre``, and who waits ``PodKept``.
    Fails when: it has a bug. The next life writes again what may not be on disk.

    A page that cannot be read is set aside, and all of these are one line of the log. A page that cannot be
    written keeps no other waiting. A disk that is full or broken is said once, and once more when it is over;
    every page is then written after all.
    """

    def __init__(self, directory: Path, memory: RecordMemory) -> None:
        self._directory = directory
        self._memory = memory
        self._refused: dict[PodUid, str] = {}
        """Why pages cannot be written, of those that wait for the next try."""
        self._is_broken = False
        """All pages wait for it."""

    @override
    def started(self) -> None:
        self._next_try = self.alarm(self._begin_again)
        self._write()

    @override
    def receive(self, message: RecordKeeperMessage, /) -> None:
        match message:
            case KeepPod(kept=kept, reply_to=reply_to):
                self._memory.unwritten[kept.uid] = kept
                if reply_to is not None:
                    self._memory.waiting[kept.uid] = reply_to
                self._write()
            case DropPod(uid=uid):
                self._memory.unwritten[uid] = None
                self._write()
            case ReadKeptPods(reply_to=reply_to):
                reply_to.tell(KeptPodsAre(pods=self._read()))
            case _:
                assert_never(message)

    # --- writing ---------------------------------------------------------------------------------------

    def _write(self) -> None:
        """Bring onto the disk what is not there yet, and tell those who wait for that."""
        if self._memory.unwritten and not self._is_broken:
            self._write_pages()
        waiting, self._memory.waiting = self._memory.waiting, {}
        for uid, reply_to in waiting.items():
            reply_to.tell(PodKept(uid=uid))

    def _write_pages(self) -> None:
        """Write what is not there yet. What the disk refuses is tried again later."""
        trouble = ""
        try:
            make_directory(self._directory)
            for uid in tuple(self._memory.unwritten):
                if uid not in self._refused and not self._is_broken:
                    self._write_page(uid)
            sync_directory(self._directory)
        except OSError as error:
            self._is_broken, trouble = True, str(error.strerror)
        trouble = trouble or next(iter(self._refused.values()), "")
        self._note(f"cannot be written: {trouble}" if trouble else "")
        if trouble and self._next_try.due is None:
            self._next_try.after(WRITE_AGAIN)

    def _write_page(self, uid: PodUid) -> None:
        unwritten, page = self._memory.unwritten, self._directory / page_name(uid)
        kept = unwritten[uid]
        try:
            if kept is None:
                page.unlink(missing_ok=True)
            else:
                write_file(page, encoded_page(kept))
        except OSError as error:
            self._refused[uid] = str(error.strerror)
            self._is_broken = len(self._refused) >= MOST_REFUSED
        else:
            del unwritten[uid]

    def _begin_again(self) -> None:
        """Try all pages again, those last that were refused."""
        unwritten, refused = self._memory.unwritten, tuple(self._refused)
        for uid in refused:
            unwritten[uid] = unwritten.pop(uid)
        self._is_broken = False
        self._refused.clear()
        self._write()

    def _note(self, trouble: str) -> None:
        """Say what is wrong, or that it is over; each once."""
        memory = self._memory
        if trouble == memory.trouble:
            return
        memory.trouble = trouble
        if trouble:
            _log.warning(
                "records of pods are not kept for a restart",
                directory=str(self._directory),
                reason=trouble,
            )
        else:
            _log.info("records of pods are kept again", directory=str(self._directory))

    # --- reading ---------------------------------------------------------------------------------------

    def _read(self) -> dict[PodUid, KeptPod]:
        """Read every page. What earlier processes set aside or had half written is removed."""
        found: dict[PodUid, KeptPod] = {}
        unusable = 0
        try:
            for page in self._pages():
                kept = self._read_page(page)
                if kept is None:
                    unusable += 1
                else:
                    found[kept.uid] = kept
        except OSError as error:
            self._note(f"cannot be read: {error.strerror}")
        if unusable:
            directory = str(self._directory)
            _log.warning("records of pods are set aside", directory=directory, pages=unusable)
        return found

    def _pages(self) -> Iterator[Path]:
        if not self._directory.exists():
            return
        files = sorted(self._directory.iterdir())
        for file in files:
            if file.suffix in {NEW, UNUSABLE}:
                remove_file(file)
        yield from [file for file in files if file.suffix == ".json"][:MOST_PAGES]

    def _read_page(self, page: Path) -> KeptPod | None:
        """Return what a page says; None if it is unusable, and set aside."""
        try:
            data = read_file(page, PAGE_LIMIT)
        except OSError:
            data = b""
        kept = decoded_page(data)
        if kept is None or page_name(kept.uid) != page.name:
            page.replace(page.with_suffix(UNUSABLE))
            return None
        return kept
