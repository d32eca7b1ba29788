"""Looks at files and judges them, for any actor that serves what files hold.

``files.watching`` says what is at the path, ``judging`` decides what becomes of it, and the actor passes on
what is served.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Generic, NamedTuple

import structlog

from files.kept_contents import KeptContents
from files.looking.found import Listed
from files.looking.steps import Steps
from files.verdicts.judging import judging
from files.verdicts.state import Admit, Decode, FileState, T, admit_all
from files.watching.inotify import KeepWatch
from files.watching.messages import FilesHost, FilesMessage
from files.watching.scanned_path import ScannedPath
from manifests.texts import printable
from manifests.verdicts import VerdictReport
from messages.sources import Epoch, MirrorsJudged, PodsJudged, Rescan, SourceDescribed
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRules(Generic[T]):
    """What to look at, and how."""

    path: Path
    """A directory of files, or one file. Need not exist."""
    check_frequency: Seconds
    """Longest time between two looks."""
    decode: Decode[T]
    admit: Admit[T] = admit_all
    clear_on_missing: bool = False
    """When the path vanishes, what it held is served no longer, as in a kubelet."""


@dataclass(slots=True, kw_only=True)
class FilesMemory(Generic[T]):
    """What outlives a life of the actor.

    Above all the last good content of each file: a file that is broken while the actor crashes must not
    lose its object.
    """

    report: VerdictReport
    state: FileState[T] = field(default_factory=FileState)
    listed: Listed | None = None
    last_listed: Timestamp | None = None
    error: str = ""
    """Why the path could not be listed; empty when it could."""
    kept: KeptContents | None = None
    """Where the next process finds the last good contents; None if it is to find none."""
    lost_since: Timestamp | None = None
    """When the path could be listed last; None while it can be listed, and if it never could."""


class Portion(NamedTuple):
    """How much is done for one message, so that other messages do not wait long."""

    seconds: Seconds
    """After this long it is enough. What comes after the last step that was begun in time adds to it."""
    steps: int
    """Files, or what takes as long."""


PORTION: Final = Portion(seconds=Seconds(0.02), steps=1_000)
ALL_AT_ONCE: Final = Portion(seconds=Seconds(math.inf), steps=sys.maxsize)


class JudgedFiles(Generic[T]):
    """Looks at the files and judges them, for one life of ``host``.

    The work is done in portions. What is known, and served, is that of the last look whose judgement is
    complete. Whatever asks for a look while one is under way gets one more after it.
    """

    def __init__(
        self, host: FilesHost, rules: FilesRules[T], memory: FilesMemory[T], keep_watch: KeepWatch
    ) -> None:
        self._rules = rules
        self._memory = memory
        self._clock = host.clock
        self._log = structlog.get_logger(f"source/{memory.report.source}")
        self._path = ScannedPath(rules.path, rules.check_frequency, host, keep_watch, self._log)
        self._work: Steps[None] | None = None
        self._look_is_due = False
        self._log_is_due = True  # what the life before had no time for
        self._keep_is_due = False
        self._kept_state: FileState[T] | None = None
        host.resources.callback(self._give_up)

    def hear(self, message: FilesMessage | Rescan) -> None:
        """Note what ``message`` asks for; ``work`` does it."""
        if isinstance(message, Rescan) or self._path.hear(message):
            self._look_is_due = True

    def hear_verdicts(self, word: PodsJudged | MirrorsJudged) -> None:
        """Remember the verdicts of another actor; ``work`` logs what they change."""
        self._memory.report.hear(word)
        self._log_is_due = True

    def work(self, portion: Portion = ALL_AT_ONCE) -> bool:
        """Do a ``portion`` of what there is to do; return whether more is left.

        After a look nothing else is done in the same portion: what is new is told before it is logged.
        """
        until = self._clock.monotonic() + portion.seconds
        steps_left = portion.steps
        self._work = self._work or self._next_work()
        if self._work is None:
            return False
        for _ in self._work:
            steps_left -= 1
            if steps_left <= 0 or self._clock.monotonic() >= until:
                return True
        self._work = None
        return self._recall_is_due or self._look_is_due or self._log_is_due or self._keep_is_due

    def _next_work(self) -> Steps[None] | None:
        if self._recall_is_due:
            return self._recalling()
        if self._look_is_due:
            return self._looking()
        if self._log_is_due:
            return self._logging()
        if self._keep_is_due:
            return self._keeping()
        return None

    @property
    def _recall_is_due(self) -> bool:
        return self._memory.kept is not None and not self._memory.kept.is_read

    def _give_up(self) -> None:
        if self._work is not None:
            self._work.close()

    def described(self, epoch: Epoch) -> SourceDescribed:
        """Return the state of the source that reads these files. ``epoch`` is that of its last listing."""
        memory = self._memory
        return memory.report.described(
            memory.state.verdicts,
            ready=memory.state.served is not None,
            epoch=epoch,
            last_listed=memory.last_listed,
            error=self.trouble,
        )

    @property
    def trouble(self) -> str:
        """Why the path cannot be listed at present, as a sentence; empty when it can."""
        return self._memory.error and f"{printable(self._rules.path)} {self._memory.error}"

    def _recalling(self) -> Steps[None]:
        """Learn what the process before has kept, once in a process."""
        if self._memory.kept is not None:
            recalled = yield from self._memory.kept.reading()
            self._memory.state = replace(self._memory.state, recalled=recalled)

    def _is_news_for(self, kept: KeptContents | None) -> bool:
        return kept is not None and (kept.is_behind or self._memory.state is not self._kept_state)

    def _keeping(self) -> Steps[None]:
        """Keep the last good contents for the next process, unless it is not known yet which those are."""
        self._keep_is_due = False
        memory = self._memory
        if memory.kept is not None and not memory.state.never_listed:
            self._kept_state = memory.state
            yield from memory.kept.writing(memory.state.good_contents)

    def _looking(self) -> Steps[None]:
        self._look_is_due = False
        rules, memory = self._rules, self._memory
        seen = yield from self._path.looking(memory.listed)
        yield
        judgement = yield from judging(
            memory.state,
            seen.listing,
            rules.decode,
            now=seen.time,
            admit=rules.admit,
            clear_on_missing=rules.clear_on_missing,
        )
        is_new = judgement.state is not memory.state
        memory.state = judgement.state
        if isinstance(seen.listing, Listed):
            memory.listed, memory.last_listed, memory.lost_since = (
                seen.listing,
                seen.time.began,
                None,
            )
        elif memory.lost_since is None:
            memory.lost_since = memory.last_listed
        self._note_error(judgement.error)
        if judgement.look_again_in is not None:
            self._path.look_again_in(judgement.look_again_in)
        self._log_is_due = self._log_is_due or is_new
        self._keep_is_due = self._keep_is_due or self._is_news_for(memory.kept)

    def _logging(self) -> Steps[None]:
        """Log the verdicts that are not in the log yet."""
        self._log_is_due = False
        verdicts = self._memory.state.verdicts
        return self._memory.report.logging(verdicts, "Could not process manifest file")

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
