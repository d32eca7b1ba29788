"""The file source: pods from a directory of manifests, or from a single one.

The actor around three pieces that know nothing of actors: ``manifest_directory`` looks, ``file_verdicts``
decides, ``directory_watch`` says when it is worth looking. Everything passes through one mailbox, so a
listing can never overtake a newer one (K7).
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.kernel import Actor, Key, Port, Timer
from actors.messages.pods import FILE, Pod
from actors.messages.sources import (
    DescribeSource,
    Epoch,
    ListPods,
    MirrorsJudged,
    PodsJudged,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
)
from actors.messages.units import Seconds, Timestamp
from sources.directory_watch import DirectoryWatch, KeepWatch
from sources.file_verdicts import FileState, Judgement, judge
from sources.manifest import ManifestRules, decode_manifest
from sources.manifest_directory import Listed, look
from sources.verdict_board import VerdictBoard
from sources.verdicts import printable
from sources.watched_paths import watched_paths

FIRST_RETRY: Final = Seconds(1.0)
LONGEST_RETRY: Final = Seconds(20.0)
"""A watch that cannot be had is asked for again after 1, 2, 4, ... s, at most 20 s (rule F20). Until
then the scans notice everything, only later."""

_log = structlog.get_logger("source/file")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesNoticed:
    """Something in the watched directories changed. Coalesced; may come for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookDue:
    """It is time to look: a scan is due, or something that was moving may have settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLost:
    """Watching ended by itself, or could not begin."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDue:
    """It is time to try watching again."""


FileSourceMessage: TypeAlias = SourceMessage | FilesNoticed | LookDue | WatchLost | WatchDue


def _name_of(message: FileSourceMessage) -> Hashable | None:
    # Of everything but questions and lost watches one is as good as many.
    return None if isinstance(message, DescribeSource | WatchLost) else type(message).__name__


FILE_SOURCE = Key[FileSourceMessage]("source/file", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSourceRules:
    """What the file source was told to do."""

    path: Path
    """A directory of manifests, or one manifest. Need not exist."""
    check_frequency: Seconds
    """Time between two scans."""
    clear_on_missing: bool
    """A path that vanishes takes its pods with it, as in a kubelet."""
    manifests: ManifestRules


@dataclass(slots=True)
class FileMemory:
    """What outlives a life of the file source.

    Above all the last good content of each file: one that is broken when the source crashes must not
    lose its pod by that.
    """

    state: FileState = field(default_factory=FileState)
    listed: Listed | None = None
    board: VerdictBoard = field(default_factory=lambda: VerdictBoard(FILE))
    last_listed: Timestamp | None = None
    error: str = ""


class FileSource(Actor[FileSourceMessage]):
    """Looks at the manifest path when something changes there, and at every scan.

    Owns: the verdicts on its files, the watch, the time of the next look. Has a thread of its own,
    since reading files may block.
    Hears: ``FilesNoticed`` and ``WatchLost`` from its watch, ``LookDue`` and ``WatchDue`` from its
    timers, ``Rescan``, ``ListPods``, ``PodsJudged``, ``MirrorsJudged``, ``DescribeSource``.
    Tells: PodManager ``SourceListed`` when the pods are others than those told last, for the first
    look of each life, and for each ``ListPods``.
    Fails when: there is a bug. Whatever is in the directory is a verdict.

    Order: one look after the other, each listing complete, with a higher epoch than the one before.
    Repetition: a listing may repeat; unchanged pods are then the identical objects.
    """

    def __init__(
        self,
        rules: FileSourceRules,
        pod_manager: Port[SourceListed],
        memory: FileMemory,
        keep_watch: KeepWatch = DirectoryWatch,
    ) -> None:
        self._rules = rules
        self._keep_watch = keep_watch
        self._pod_manager = pod_manager
        self._memory = memory
        self._decode = partial(decode_manifest, rules=rules.manifests)
        self._sequence = 0
        self._told: tuple[Pod, ...] | None = None
        self._next_look: Timer | None = None
        self._watched: object = None
        self._watched_since = Seconds(0.0)
        self._watch_stack = ExitStack()
        self._retry_after = FIRST_RETRY

    @override
    def started(self) -> None:
        self._watch_stack = self.resources.enter_context(ExitStack())
        # As a message: ten thousand manifests take longer to read than a start may.
        self.me.tell(LookDue())

    @override
    def receive(self, message: FileSourceMessage, /) -> None:
        match message:
            case FilesNoticed() | LookDue() | Rescan():
                self._look()
            case ListPods():
                self._tell()
            case PodsJudged() | MirrorsJudged():
                self._memory.board.hear(message)
                self._log_verdicts()
            case DescribeSource(reply_to=reply_to):
                reply_to.tell(self._described())
            case WatchLost(reason=reason):
                self._lose_watch(reason)
            case WatchDue():
                self._watched = None
                self._look()
            case _:
                assert_never(message)

    def _look(self) -> None:
        # The watch first: what changes while looking is then noticed, at worst for nothing.
        self._watch()
        now = self.clock.wall()
        listing = look(self._rules.path, now=now, previous=self._memory.listed)
        judgement = judge(
            self._memory.state,
            listing,
            self._decode,
            now=now,
            clear_on_missing=self._rules.clear_on_missing,
        )
        self._memory.state = judgement.state
        if isinstance(listing, Listed):
            self._memory.listed = listing
            self._memory.last_listed = now
        self._note_error(judgement.error)
        self._log_verdicts()
        if judgement.pods is not None and judgement.pods is not self._told:
            self._tell()
        self._plan_next(judgement)

    def _plan_next(self, judgement: Judgement) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        delay = self._rules.check_frequency
        if judgement.look_again_in is not None:
            delay = min(delay, judgement.look_again_in)
        self._next_look = self.after(delay, LookDue())

    def _tell(self) -> None:
        pods = self._memory.state.pods
        if pods is None:
            return
        self._sequence += 1
        self._told = pods
        epoch = Epoch(self.incarnation, self._sequence)
        self._pod_manager.tell(SourceListed(source=FILE, epoch=epoch, pods=pods))

    # The watch.

    def _watch(self) -> None:
        """Watch the directories that matter at present; does nothing while they are the same."""
        wanted = watched_paths(self._rules.path)
        if wanted == self._watched:
            return
        self._watch_stack.close()
        self._watched = wanted
        self._watched_since = self.clock.monotonic()
        me = self.me
        watch = self._keep_watch(
            wanted,
            lambda: me.tell(FilesNoticed()),
            lambda reason: me.tell(WatchLost(reason=reason)),
        )
        self._watch_stack.callback(watch.close)

    def _lose_watch(self, reason: str) -> None:
        self._watch_stack.close()
        if self.clock.monotonic() - self._watched_since > LONGEST_RETRY:
            self._retry_after = FIRST_RETRY  # it was a good one: this is another trouble
        delay = self._retry_after
        self._retry_after = Seconds(min(LONGEST_RETRY, delay * 2))
        # Once, not with every attempt: the scans go on meanwhile, and little is missed.
        log = _log.warning if delay == FIRST_RETRY else _log.debug
        log("cannot watch for changes, scanning only", reason=reason, retry=delay)
        self.after(delay, WatchDue())

    # What people see.

    def _log_verdicts(self) -> None:
        self._memory.board.log(self._memory.state.verdicts, "Could not process manifest file")

    def _note_error(self, error: str) -> None:
        if error == self._memory.error:
            return
        self._memory.error = error
        path = printable(self._rules.path)
        if error:
            pods = len(self._memory.state.pods or ())
            _log.warning("manifest path cannot be listed", path=path, reason=error, kept=pods)
        else:
            _log.info("manifest path can be listed again", path=path)

    def _described(self) -> SourceDescribed:
        return SourceDescribed(
            name=FILE,
            ready=self._memory.state.pods is not None,
            epoch=Epoch(self.incarnation, self._sequence),
            last_listed=self._memory.last_listed,
            rejected=dict(self._memory.board.rejected),
            error=self._memory.error and f"{printable(self._rules.path)} {self._memory.error}",
            manifests=self._memory.board.shown(self._memory.state.verdicts),
        )
