"""Secrets and ConfigMaps from files of this machine: the one holder of all local objects.

What static pods reference is answered from here, and never from the API server, so that they have it
without any control plane, and before there is one. Files are looked at and judged as manifests of pods
are (``files.verdicts.judged_files``); what is held of them, and what is told of that, is decided in
``local_knowledge``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from actors.objects.local_admission import admit
from actors.objects.local_knowledge import (
    KnownLocalObject,
    Outage,
    answer,
    described,
    known_objects,
    listed,
    news,
    unanswered,
)
from files.verdicts.judged_files import FilesMemory, FilesRules, JudgedFiles
from files.watching.inotify import InotifyWatch, KeepWatch
from files.watching.messages import FilesMessage, FilesNoticed, LookDue, WatchDue, WatchLost
from kernel import Actor, Key, Port
from manifests.objects.local_object import LocalObject, decode_object
from manifests.objects.values import fingerprint
from manifests.verdicts.report import VerdictReport
from messages.holders import (
    HolderIs,
    ListLocalObjects,
    LocalHolderFact,
    LocalHolderMessage,
    LocalObjectsListed,
    LocalReferencesAre,
    Mark,
    ReadObject,
)
from messages.objects import ObjectId, ObjectKind, ReadVerdict
from messages.pods import LOCAL_FILES
from messages.sources import DescribeSource, Epoch, Rescan
from messages.units import Seconds
from stores.objects.last_known import Moment
from stores.objects.usage import JointUsage
from stores.objects.waiting_reads import WaitingReads

MAX_GONE: Final = 1000
"""Objects of which it is remembered that they went: names made of a digest of the content never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsDue:
    """Some read has waited as long as it may."""


LocalObjectsMessage: TypeAlias = (
    LocalHolderMessage | Rescan | DescribeSource | FilesMessage | ReadsDue
)


def _name_of(message: LocalObjectsMessage) -> Hashable | None:
    if isinstance(message, ReadObject | DescribeSource | WatchLost):
        return None
    if isinstance(message, LocalReferencesAre):
        return type(message).__name__, message.kind
    return type(message).__name__


LOCAL_OBJECTS = Key[LocalObjectsMessage]("source/local-objects", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObjectsRules:
    """What the holder of local objects was told to do."""

    path: Path
    """A directory of Secrets and ConfigMaps, one in each file, or one such file. Need not exist."""
    check_frequency: Seconds
    """Time between two scans."""
    strict: bool = False
    """Unknown fields are refused, not warned of."""


@dataclass(slots=True, kw_only=True)
class LocalMemory(FilesMemory[LocalObject]):
    """What outlives a life of the holder: what it holds, what it told, and who waits for an answer."""

    report: VerdictReport = field(default_factory=lambda: VerdictReport(LOCAL_FILES, "object"))
    told: dict[ObjectId, KnownLocalObject] = field(default_factory=dict)
    """What the managers have been told that there is."""
    gone: dict[ObjectId, int | None] = field(default_factory=dict)
    """As ``Gone``: those that went last, the latest last."""
    highest_gone: int = 0
    """The highest version of any object that is no more."""
    is_told: bool = False
    """The first listing has been told as a whole: what comes later was known to be absent."""
    usage: JointUsage = field(default_factory=JointUsage)
    """Of what the managers have been told."""
    reads: WaitingReads = field(default_factory=WaitingReads)
    """Those that came before the first listing."""

    @property
    def is_certain(self) -> bool:
        """Whether the last look left nothing open: no file moved, and the path could be listed."""
        return not self.state.moving and not self.state.gone and self.lost_since is None

    def note_gone(self, object_id: ObjectId) -> None:
        """Remember that an object was told to be no more, in place of the one that went first."""
        self.highest_gone = max(self.highest_gone, self.told[object_id].version)
        self.gone[object_id] = fingerprint(self.told[object_id].described.value)
        if len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]
        del self.told[object_id]


class LocalObjects(Actor[LocalObjectsMessage]):
    """Holds the Secrets and ConfigMaps of the local objects directory.

    Owns: the verdicts on its files, their last good content, the watch, the time of the next look. Has
    a thread of its own, since reading files may block.
    Hears: ``ReadObject``, ``LocalReferencesAre`` and ``ListLocalObjects`` from the managers; ``Rescan``,
    ``DescribeSource``; its timers and its watch.
    Tells: each reader one ``ObjectRead``, at once when the directory has been listed, after another look
    if its reference is a new one; the manager of the kind a ``HolderIs`` for every change between two
    looks, by namespace and name, for every object after the first look of each life, and for every
    object that there is, or that went lately, after each ``ListLocalObjects``, to both managers. After
    these, as often, and when it changes: ``LocalObjectsListed``.
    Fails when: there is a bug. Whatever is in the directory is a verdict.

    Order: what is told of one object is in the order of its versions. Repetition: what is told may
    repeat after a crash on either side, and a change whose telling was cut short is told again.
    """

    def __init__(
        self,
        rules: LocalObjectsRules,
        managers: Mapping[ObjectKind, Port[LocalHolderFact]],
        memory: LocalMemory,
        keep_watch: KeepWatch = InotifyWatch,
    ) -> None:
        self._rules = rules
        self._managers = managers
        self._memory = memory
        self._keep_watch = keep_watch
        self._tellings = 0
        self._listed: dict[ObjectKind, LocalObjectsListed] = {}
        """As the managers were told in this life."""
        self._has_looked = False

    @override
    def started(self) -> None:
        rules = FilesRules(
            path=self._rules.path,
            check_frequency=self._rules.check_frequency,
            decode=partial(decode_object, strict=self._rules.strict),
            admit=admit,
        )
        # Its first look answers those, too, who have waited since an earlier life.
        self._files = JudgedFiles(self, rules, self._memory, self._keep_watch)

    @override
    def receive(self, message: LocalObjectsMessage, /) -> None:
        match message:
            case FilesNoticed() | LookDue() | Rescan() | WatchDue():
                self._look(message)
            case WatchLost():
                self._files.hear(message)
            case LocalReferencesAre(kind=kind, newest=mark):
                self._look_for(kind, mark)
            case ReadObject():
                self._look_for(message.object.kind, message.mark)
                self._memory.reads.add(message, self.clock.monotonic())
                self._answer_waiting()
            case ReadsDue():
                self._answer_waiting()
            case ListLocalObjects():
                self._tell_all()
            case DescribeSource(reply_to=reply_to):
                epoch = Epoch(self.incarnation, self._tellings)
                reply_to.tell(self._files.described(epoch))
            case _:
                assert_never(message)

    def _look_for(self, kind: ObjectKind, mark: Mark) -> None:
        """Look for a new pod, as soon as it is heard of: what that finds is what the pod begins with.

        It may be faster than any notification.
        """
        if self._memory.usage.note_reference(kind, mark):
            self._look(Rescan())

    def _look(self, message: FilesNoticed | LookDue | Rescan | WatchDue) -> None:
        self._files.hear(message)
        if self._memory.state.served is not None:
            self._tell_news()
        self._answer_waiting()

    # What the managers are told.

    def _tell_news(self) -> None:
        """Tell what the last look changed, and what there is if it was the first of this life."""
        memory = self._memory
        after = known_objects(
            memory.state, self._outage(), memory.told, memory.highest_gone, self._now()
        )
        unchanged = [each for each, holding in after.items() if memory.told.get(each) is holding]
        for fact in news(dict(memory.told), after, memory.gone, memory.usage.concerned):
            self._tell(fact)
            self._note_told(fact.described.object, after.get(fact.described.object))
        memory.is_told = True
        if memory.is_certain:
            memory.usage.note_look()
        if not self._has_looked:
            self._has_looked = True
            self._tell_holdings(unchanged)
        self._tell_listed()

    def _note_told(self, object_id: ObjectId, holding: KnownLocalObject | None) -> None:
        # After it was told: a crash between the two repeats it, and loses nothing.
        self._tellings += 1
        if holding is None:
            self._memory.note_gone(object_id)
        else:
            self._memory.told[object_id] = holding
            self._memory.gone.pop(object_id, None)

    def _tell_all(self) -> None:
        # Before the first listing nothing is known; after it everything is told anyway.
        if self._memory.is_told:
            self._tell_holdings([*self._memory.told, *self._memory.gone])
            self._listed.clear()
            self._tell_listed()

    def _tell_holdings(self, objects: list[ObjectId]) -> None:
        for object_id in objects:
            holding = self._memory.told.get(object_id)
            self._tell(HolderIs(described=described(object_id, holding)))

    def _tell_listed(self) -> None:
        for kind, manager in self._managers.items():
            present = listed(kind, self._memory.state, self._outage())
            if present != self._listed.get(kind):
                self._listed[kind] = present
                manager.tell(present)

    def _tell(self, fact: HolderIs) -> None:
        self._managers[fact.described.object.kind].tell(fact)

    # What readers are told.

    def _answer_waiting(self) -> None:
        """Answer whom an answer can be given, or who has waited long enough; wait for the others."""
        memory, now = self._memory, self.clock.monotonic()
        for ready in memory.reads.take() if memory.is_told else memory.reads.take_overdue(now):
            self._answer(ready.read)
        due = memory.reads.next_due()
        if due is not None:
            self.after(Seconds(due - now), ReadsDue())

    def _answer(self, read: ReadObject) -> None:
        memory, outage = self._memory, self._outage()
        if memory.is_told:
            answered = answer(read, memory.told, memory.state, outage, self._now())
            if answered.verdict is ReadVerdict.NOT_FOUND and read.object in memory.gone:
                memory.gone[read.object] = None
            read.reply_to.tell(answered)
            memory.usage.note_answer(read.object, read.mark, answered.verdict)
        else:
            read.reply_to.tell(unanswered(read, self._files.trouble))

    def _now(self) -> Moment:
        return Moment(self.clock.monotonic(), self.clock.wall())

    def _outage(self) -> Outage | None:
        trouble = self._files.trouble
        return Outage(since=self._memory.lost_since, reason=trouble) if trouble else None
