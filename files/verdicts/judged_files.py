"""A manifest path, looked at again and again: for every actor that lives by files.

Brings together what knows nothing of actors: ``directory`` looks, ``judging`` decides,
``kept_watch`` says when it is worth looking. The actor hands on what it hears for this, and passes on
what is served; so everything goes through one mailbox, and no look can overtake a newer one (K7).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, assert_never

import structlog

from files.looking.directory import Listed, look
from files.verdicts.judging import Judgement, judge
from files.verdicts.state import Admit, Decode, FileState, T, admit_all
from files.watching.inotify import KeepWatch
from files.watching.path_watch import (
    FilesHost,
    FilesMessage,
    FilesNoticed,
    KeptWatch,
    LookDue,
    WatchDue,
    WatchLost,
)
from kernel import Timer
from manifests.verdicts.judgements import printable
from manifests.verdicts.report import VerdictBoard
from messages.sources import Epoch, Rescan, SourceDescribed
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRules(Generic[T]):
    """What to look at, and how."""

    path: Path
    """A directory of manifests, or one manifest. Need not exist."""
    check_frequency: Seconds
    """Time between two scans."""
    decode: Decode[T]
    admit: Admit[T] = admit_all
    clear_on_missing: bool = False
    """A path that vanishes takes with it what it held, as in a kubelet."""


@dataclass(slots=True, kw_only=True)
class FilesMemory(Generic[T]):
    """What outlives a life of the actor.

    Above all the last good content of each file: what is broken when the actor crashes must not be
    lost by that.
    """

    board: VerdictBoard
    state: FileState[T] = field(default_factory=FileState)
    listed: Listed | None = None
    last_listed: Timestamp | None = None
    error: str = ""
    """Why the path could not be listed; empty when it could."""
    lost_since: Timestamp | None = None
    """When the path could be listed last. None while it can be, and when it never could."""


class WatchedFiles(Generic[T]):
    """Looks for one life of ``host``: at once, when something is noticed, and at every scan."""

    def __init__(
        self, host: FilesHost, rules: FilesRules[T], memory: FilesMemory[T], keep_watch: KeepWatch
    ) -> None:
        self._host = host
        self._rules = rules
        self._memory = memory
        self._log = structlog.get_logger(f"source/{memory.board.source}")
        self._watch = KeptWatch(rules.path, host, keep_watch, self._log)
        self._next_look: Timer | None = None
        # As a message: ten thousand manifests take longer to read than a start may.
        host.me.tell(LookDue())

    def hear(self, message: FilesMessage | Rescan) -> None:
        """Do what ``message`` asks for; afterwards the memory says what is served."""
        match message:
            case FilesNoticed() | LookDue() | Rescan():
                self._look()
            case WatchLost(reason=reason):
                self._watch.lose(reason)
            case WatchDue():
                self._watch.forget()
                self._look()
            case _:
                assert_never(message)

    def log_verdicts(self) -> None:
        """Log what is news about the files."""
        self._memory.board.log(self._memory.state.verdicts, "Could not process manifest file")

    def described(self, epoch: Epoch) -> SourceDescribed:
        """Return how the source is that lives by these files."""
        memory = self._memory
        return SourceDescribed(
            name=memory.board.source,
            ready=memory.state.served is not None,
            epoch=epoch,
            last_listed=memory.last_listed,
            rejected=dict(memory.board.rejected),
            error=self.trouble,
            manifests=memory.board.shown(memory.state.verdicts),
        )

    @property
    def trouble(self) -> str:
        """Why the path cannot be listed at present, as a sentence; empty when it can."""
        return self._memory.error and f"{printable(self._rules.path)} {self._memory.error}"

    def _look(self) -> None:
        # The watch first: what changes while looking is then noticed, at worst for nothing.
        self._watch.renew()
        rules, memory = self._rules, self._memory
        now = self._host.clock.wall()
        listing = look(rules.path, now=now, previous=memory.listed)
        judgement = judge(
            memory.state,
            listing,
            rules.decode,
            now=now,
            admit=rules.admit,
            clear_on_missing=rules.clear_on_missing,
        )
        memory.state = judgement.state
        if isinstance(listing, Listed):
            memory.listed, memory.last_listed, memory.lost_since = listing, now, None
        elif memory.lost_since is None:
            memory.lost_since = memory.last_listed
        self._note_error(judgement.error)
        self.log_verdicts()
        self._plan_next(judgement)

    def _plan_next(self, judgement: Judgement[T]) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        delay = self._rules.check_frequency
        if judgement.look_again_in is not None:
            delay = min(delay, judgement.look_again_in)
        self._next_look = self._host.after(delay, LookDue())

    def _note_error(self, error: str) -> None:
        if error == self._memory.error:
            return
        self._memory.error = error
        path = printable(self._rules.path)
        if error:
            kept = len(self._memory.state.served or ())
            self._log.warning("manifest path cannot be listed", path=path, reason=error, kept=kept)
        else:
            self._log.info("manifest path can be listed again", path=path)
