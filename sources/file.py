"""The file source: pods from a directory of manifests, or from a single one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, assert_never

from typing_extensions import override

from files.verdicts.judged_files import PORTION, FilesMemory, FilesRules, JudgedFiles, Portion
from files.watching.inotify import InotifyWatch, KeepWatch
from files.watching.messages import FilesMessage, FilesNoticed, LookDue, WatchDue, WatchLost
from kernel import Actor, Key, Port
from manifests.pod_manifest import ManifestRules, decode_manifest
from manifests.verdicts import VerdictReport
from messages.pod_runtime import ListRuntimePods, PodsObserved, RuntimePod
from messages.pods import FILE, Pod
from messages.sources import (
    DescribeSource,
    ListPods,
    MirrorsJudged,
    PodsJudged,
    Rescan,
    SourceListed,
    SourceMessage,
)
from messages.units import Seconds
from sources.kept_uids import WAITING, StaticUids
from sources.listings import Listings


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """To itself: there is more to do than was done for one message."""


FileSourceMessage: TypeAlias = SourceMessage | FilesMessage | GoOn | PodsObserved


def _name_of(message: FileSourceMessage) -> Hashable | None:
    # One is as good as many, except for questions and lost watches.
    return None if isinstance(message, DescribeSource | WatchLost) else type(message).__name__


FILE_SOURCE = Key[FileSourceMessage]("source/file", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSourceRules:
    """The settings of the file source."""

    path: Path
    """A directory of manifests, or one manifest. Need not exist."""
    check_frequency: Seconds
    """Longest time between two looks."""
    clear_on_missing: bool
    """A missing path has no pods, even if it had some, as in a kubelet."""
    manifests: ManifestRules
    portion: Portion = PORTION
    """How much is done for one message."""
    uids: StaticUids | None = None
    """The UIDs that its pods keep; None if they all have their own."""


@dataclass(slots=True, kw_only=True)
class FileMemory(FilesMemory[Pod]):
    """What outlives a life of the file source."""

    report: VerdictReport = field(default_factory=lambda: VerdictReport(FILE))


class FileSource(Actor[FileSourceMessage]):
    """Looks at the manifest path when something changes there, and at every scan.

    Owns: the verdicts on its files, the watch, the time of the next look. Has its own thread, since reading
    files may block.
    Hears: ``FilesNoticed`` and ``WatchLost`` from its watch, ``LookDue`` and ``WatchDue`` from its
    timers, ``GoOn`` from itself, ``Rescan``, ``ListPods``, ``PodsJudged``, ``MirrorsJudged``,
    ``DescribeSource``; ``PodsObserved`` of the runtime, if pods may keep the UIDs under which they run.
    Tells: PodManager ``SourceListed`` when the pods differ from those told last, after the first look of
    each life, and for each ``ListPods``. The listing is provisional until the path has been there once.
    Who tells people ``VerdictsMayDiffer``.
    The runtime ``ListRuntimePods``: it looks at no manifest before it knows which UIDs there are.
    Fails when: there is a bug. Whatever is in the directory becomes a verdict.

    Many files are looked at and judged in portions. Questions are answered in between, from the last listing
    that is complete. A change in the meantime is found by one more look afterwards.

    Order: one look after the other, each listing complete, with a higher epoch than the one before.
    Repetition: a listing may repeat; unchanged pods are then the identical objects.
    """

    def __init__(
        self,
        rules: FileSourceRules,
        pod_manager: Port[SourceListed],
        memory: FileMemory,
        keep_watch: KeepWatch = InotifyWatch,
        runtime: Port[ListRuntimePods] | None = None,
    ) -> None:
        """``runtime`` knows what runs; None if nobody does, and no pod keeps the UID of one that does."""
        self._rules = rules
        self._runtime = runtime
        self._keep_watch = keep_watch
        self._pod_manager = pod_manager
        self._memory = memory

    @override
    def started(self) -> None:
        rules = FilesRules(
            path=self._rules.path,
            check_frequency=self._rules.check_frequency,
            decode=partial(decode_manifest, rules=self._rules.manifests),
            clear_on_missing=self._rules.clear_on_missing,
        )
        self._files = JudgedFiles(self, rules, self._memory, self._keep_watch)
        self._listings = Listings(FILE, self._pod_manager, self.incarnation)
        if self._is_waiting and self._runtime is not None:
            self._runtime.tell(ListRuntimePods(reply_to=self.me))

    @override
    def receive(self, message: FileSourceMessage, /) -> None:
        match message:
            case FilesNoticed() | LookDue() | Rescan() | WatchLost() | WatchDue():
                self._files.hear(message)
                self._go_on()
            case GoOn():
                self._go_on()
            case PodsObserved(pods=pods):
                self._learn(pods)
            case ListPods():
                state = self._memory.state
                self._listings.tell(state.served, is_provisional=state.is_provisional)
            case PodsJudged() | MirrorsJudged():
                self._files.hear_verdicts(message)
                self._go_on()
            case DescribeSource(reply_to=reply_to):
                described = self._files.described(self._listings.epoch)
                reply_to.tell(replace(described, error=WAITING) if self._is_waiting else described)
            case _:
                assert_never(message)

    @property
    def _is_waiting(self) -> bool:
        return self._rules.uids is not None and self._rules.uids.is_waiting

    def _learn(self, pods: tuple[RuntimePod, ...]) -> None:
        if self._rules.uids is not None:
            self._rules.uids.learn(pods)
            self._go_on()

    def _go_on(self) -> None:
        """Work for a portion, tell what is new, and go on later if that was not all."""
        if self._is_waiting:
            return
        if self._files.work(self._rules.portion):
            self.me.tell(GoOn())
        if self._rules.uids is not None:
            self._rules.uids.keep()
        state = self._memory.state
        self._listings.tell_if_new(state.served, is_provisional=state.is_provisional)
