"""Looks at files and judges them, for any actor that serves what files hold.

``files.watching`` says what is at the path, ``judging`` decides what becomes of it, and the actor passes on
what is served.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

import structlog

from files.looking.found import Listed
from files.verdicts.judging import judge
from files.verdicts.state import Admit, Decode, FileState, T, admit_all
from files.watching.inotify import KeepWatch
from files.watching.messages import FilesHost, FilesMessage
from files.watching.scanned_path import Look, ScannedPath
from manifests.texts import printable
from manifests.verdicts.report import VerdictReport
from messages.sources import Epoch, Rescan, SourceDescribed
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
    lost_since: Timestamp | None = None
    """When the path could be listed last; None while it can be listed, and if it never could."""


class JudgedFiles(Generic[T]):
    """Looks at the files and judges them, for one life of ``host``."""

    def __init__(
        self, host: FilesHost, rules: FilesRules[T], memory: FilesMemory[T], keep_watch: KeepWatch
    ) -> None:
        self._rules = rules
        self._memory = memory
        self._log = structlog.get_logger(f"source/{memory.report.source}")
        self._path = ScannedPath(rules.path, rules.check_frequency, host, keep_watch, self._log)

    def hear(self, message: FilesMessage | Rescan) -> None:
        """Do what ``message`` asks for; afterwards the memory says what is served."""
        listed = self._memory.listed
        if isinstance(message, Rescan):
            self._judge(self._path.look(listed))
        elif (seen := self._path.hear(message, listed)) is not None:
            self._judge(seen)

    def log_verdicts(self) -> None:
        """Log the verdicts that are not in the log yet."""
        self._memory.report.log(self._memory.state.verdicts, "Could not process manifest file")

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

    def _judge(self, seen: Look) -> None:
        rules, memory = self._rules, self._memory
        judgement = judge(
            memory.state,
            seen.listing,
            rules.decode,
            now=seen.at,
            admit=rules.admit,
            clear_on_missing=rules.clear_on_missing,
        )
        memory.state = judgement.state
        if isinstance(seen.listing, Listed):
            memory.listed, memory.last_listed, memory.lost_since = seen.listing, seen.at, None
        elif memory.lost_since is None:
            memory.lost_since = memory.last_listed
        self._note_error(judgement.error)
        self.log_verdicts()
        if judgement.look_again_in is not None:
            self._path.look_again_in(judgement.look_again_in)

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
