"""LocalObjects: the one holder of all Secrets and ConfigMaps from files of this machine.

It tells the followers of static pods' objects, who ask nothing of the API server: so they have their objects
without a control plane, and before there is one. Files are looked at and judged as manifests of pods are
(``files.verdicts.judged_files``); what is held of them, and what is told of that, is decided in
``local_knowledge``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from actors.objects.holders import set_unheld
from actors.objects.local_knowledge import (
    KnownLocalObject,
    Outage,
    admit,
    described,
    held_object,
    known_objects,
    listed,
    news,
    unlisted,
)
from files.verdicts.judged_files import FilesMemory, FilesRules, JudgedFiles
from files.watching.inotify import InotifyWatch, KeepWatch
from files.watching.messages import FilesMessage, FilesNoticed, LookDue, WatchDue, WatchLost
from kernel import Actor, Key, Level, Port
from manifests.objects.local import LocalObject, decode_object
from manifests.objects.values import fingerprint
from manifests.verdicts import VerdictReport
from messages.holders import (
    HolderIs,
    ListLocalObjects,
    LocalHolderFact,
    LocalHolderMessage,
    LocalObjectsListed,
    LocalReferencesAre,
    Mark,
    UnprovenUsed,
)
from messages.objects import ChangeMissed, HeldObject, ObjectId, ObjectKind, ReadVerdict
from messages.pods import LOCAL_FILES
from messages.sources import DescribeSource, Epoch, Rescan
from messages.units import Seconds
from stores.objects.changes import JointUsage, change_after

MAX_GONE: Final = 1000
"""How many objects that went are remembered. Names that contain a digest of the content never end."""


LocalObjectsMessage: TypeAlias = LocalHolderMessage | Rescan | DescribeSource | FilesMessage


def _name_of(message: LocalObjectsMessage) -> Hashable | None:
    if isinstance(message, UnprovenUsed | DescribeSource | WatchLost):
        return None
    if isinstance(message, LocalReferencesAre):
        return type(message).__name__, message.object
    return type(message).__name__


LOCAL_OBJECTS = Key[LocalObjectsMessage]("source/local-objects", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObjectsRules:
    """The settings of the holder of local objects."""

    path: Path
    """A directory of files with one Secret or ConfigMap each, or one such file. Need not exist."""
    check_frequency: Seconds
    """Time between two scans."""
    strict: bool = False
    """Whether unknown fields are refused instead of warned of."""


@dataclass(slots=True, kw_only=True)
class LocalMemory(FilesMemory[LocalObject]):
    """What outlives a life of the holder: what it knows, what it told, and who waits for a look."""

    report: VerdictReport = field(default_factory=lambda: VerdictReport(LOCAL_FILES, "object"))
    told: dict[ObjectId, KnownLocalObject] = field(default_factory=dict)
    """The objects that the managers were told of, and exist."""
    gone: dict[ObjectId, int | None] = field(default_factory=dict)
    """As ``Gone``: the objects that went last, the latest last."""
    highest_gone: int = 0
    """The highest version of any object that went."""
    is_told: bool = False
    """Whether the first listing has been told completely: an object that comes later was known to be
    absent."""
    usage: JointUsage = field(default_factory=JointUsage)
    """Who may have used what the managers were told of."""
    needs: dict[ObjectId, LocalReferencesAre] = field(default_factory=dict)
    """Who needs an object, of those that pods reference."""
    waited_for: set[ObjectId] = field(default_factory=set)
    """Those whose followers wait for a look."""

    @property
    def is_certain(self) -> bool:
        """Whether the last look left nothing open: no file was being changed, the path could be listed."""
        return not self.state.moving and not self.state.gone and self.lost_since is None

    def note_gone(self, object_id: ObjectId) -> None:
        """Note that the managers were told that an object went. The one that went first may be forgotten."""
        self.highest_gone = max(self.highest_gone, self.told[object_id].version)
        self.gone[object_id] = fingerprint(self.told[object_id].described.value)
        if len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]
        del self.told[object_id]


class LocalObjects(Actor[LocalObjectsMessage]):
    """Holds the Secrets and ConfigMaps of the local objects directory.

    Owns: the verdicts on its files, their last good content, the watch, the time of the next look. It has a
    thread of its own, since reading files may block.
    Hears: ``LocalReferencesAre``, ``UnprovenUsed`` and ``ListLocalObjects`` from the
    managers; ``Rescan``, ``DescribeSource``; its timers and its watch.
    Tells: the followers of each referenced object, by the level of its manager, what it is, after the look
    that a new reference causes, and whenever that changes; the manager of the kind one
    ``HolderIs`` for every change between two looks, by namespace and name, and for every object after the
    first look of each life; both managers, after each ``ListLocalObjects``, one for every object that there
    is or that went lately, and ``ChangeMissed`` for a pod that has begun with what changed meanwhile.
    ``LocalObjectsListed`` follows each time, and whenever it changes.
    Fails when: there is a bug. Whatever is in the directory is a verdict.

    Order: what is told of one object is in the order of its versions.
    Repetition: what is told may repeat after a crash on either side, and a change whose telling was cut
    short is told again.
    """

    def __init__(
        self,
        rules: LocalObjectsRules,
        managers: Mapping[ObjectKind, Port[LocalHolderFact | ChangeMissed]],
        objects: Mapping[ObjectKind, Level[ObjectId, HeldObject]],
        memory: LocalMemory,
        keep_watch: KeepWatch = InotifyWatch,
    ) -> None:
        self._rules = rules
        self._managers = managers
        self._objects = objects
        self._memory = memory
        self._keep_watch = keep_watch
        self._tellings = 0
        self._listed: dict[ObjectKind, LocalObjectsListed] = {}
        """What each manager was told last in this life."""
        self._has_looked = False

    @override
    def started(self) -> None:
        rules = FilesRules(
            path=self._rules.path,
            check_frequency=self._rules.check_frequency,
            decode=partial(decode_object, strict=self._rules.strict),
            admit=admit,
        )
        self._files = JudgedFiles(self, rules, self._memory, self._keep_watch)

    @override
    def receive(self, message: LocalObjectsMessage, /) -> None:
        match message:
            case FilesNoticed() | LookDue() | Rescan() | WatchDue():
                self._look(message)
            case WatchLost():
                self._files.hear(message)  # no look is due
            case LocalReferencesAre():
                self._note_needs(message)
            case UnprovenUsed():
                self._note_use(message)
            case ListLocalObjects():
                self._tell_all()
            case DescribeSource(reply_to=reply_to):
                epoch = Epoch(self.incarnation, self._tellings)
                reply_to.tell(self._files.described(epoch))
            case _:
                assert_never(message)

    def _look_for(self, kind: ObjectKind, mark: Mark) -> None:
        """Look at the files as soon as a new pod is heard of: the pod starts with what that look finds.

        The message about the pod may be faster than the notification of a change that was made before it.
        """
        if self._memory.usage.note_reference(kind, mark):
            self._look(Rescan())

    def _note_needs(self, needs: LocalReferencesAre) -> None:
        wanted, memory = needs.object, self._memory
        if not needs.references:
            memory.needs.pop(wanted, None)
            memory.waited_for.discard(wanted)
            set_unheld(self._objects[wanted.kind], wanted, needs.wanted)
            return
        before = memory.needs.get(wanted)
        memory.needs[wanted] = needs
        if needs.wanted > (before.wanted if before is not None else 0):
            memory.waited_for.add(wanted)
        self._look_for(wanted.kind, needs.newest)
        self._show(wanted)

    def _note_use(self, used: UnprovenUsed) -> None:
        wanted, memory = used.taken.object, self._memory
        memory.usage.note_answer(wanted, used.mark, used.taken.verdict)
        held = memory.told.get(wanted)
        missed = change_after(used.taken, held.known.value if held is not None else None)
        if missed is not None:
            self._managers[wanted.kind].tell(missed)

    def _look(self, message: FilesNoticed | LookDue | Rescan | WatchDue) -> None:
        self._files.hear(message)
        while self._files.work():
            pass
        if self._memory.state.served is not None:
            self._tell_news()

    # What the managers are told.

    def _tell_news(self) -> None:
        """Tell what the last look changed; after the first look of this life, also what it did not change."""
        memory = self._memory
        after = known_objects(
            memory.state, self._outage(), memory.told, memory.highest_gone, self.clock.now()
        )
        unchanged = [each for each, held in after.items() if memory.told.get(each) is held]
        for fact in news(dict(memory.told), after, memory.gone, memory.usage.concerned):
            wanted = fact.described.object
            self._set(wanted, after)  # first: whoever hears of a change then knows the new value
            self._tell(fact)
            self._note_told(wanted, after.get(wanted))
            self._show(wanted)
        memory.is_told = True
        if memory.is_certain:
            memory.usage.note_look()
        if not self._has_looked:
            self._has_looked = True
            self._tell_objects(unchanged)
        self._tell_listed()

    def _show(self, wanted: ObjectId) -> None:
        """Tell the followers of an object what the managers were told, and note what pods may have used."""
        memory, needs = self._memory, self._memory.needs.get(wanted)
        if needs is None:
            return
        if not memory.is_told:
            self._objects[wanted.kind].set(wanted, unlisted(self._files.trouble))
            return
        held = self._set(wanted, memory.told)
        if wanted in memory.waited_for:
            memory.usage.note_answer(wanted, needs.newest, held.verdict)
            memory.waited_for.remove(wanted)
        if needs.wanted and held.verdict is ReadVerdict.NOT_FOUND and wanted in memory.gone:
            memory.gone[wanted] = None

    def _set(self, wanted: ObjectId, known: Mapping[ObjectId, KnownLocalObject]) -> HeldObject:
        """Set what is known of an object, if pods reference it. A look proves all that followers want."""
        memory = self._memory
        held = held_object(wanted, known, memory.state, self._outage(), self.clock.now())
        needs = memory.needs.get(wanted)
        if needs is not None:
            self._objects[wanted.kind].set(wanted, held, proven=needs.wanted)
        return held

    def _note_told(self, object_id: ObjectId, held: KnownLocalObject | None) -> None:
        # Noted after it was told: a crash in between repeats it and loses nothing.
        self._tellings += 1
        if held is None:
            self._memory.note_gone(object_id)
        else:
            self._memory.told[object_id] = held
            self._memory.gone.pop(object_id, None)

    def _tell_all(self) -> None:
        # Before the first listing nothing is known; after it everything is told anyway.
        if self._memory.is_told:
            self._tell_objects([*self._memory.told, *self._memory.gone])
            self._listed.clear()
            self._tell_listed()

    def _tell_objects(self, objects: list[ObjectId]) -> None:
        for object_id in objects:
            held = self._memory.told.get(object_id)
            self._tell(HolderIs(described=described(object_id, held)))

    def _tell_listed(self) -> None:
        for kind, manager in self._managers.items():
            present = listed(kind, self._memory.state, self._outage())
            if present != self._listed.get(kind):
                self._listed[kind] = present
                for wanted in [each for each in self._memory.needs if each.kind is kind]:
                    self._show(wanted)
                manager.tell(present)

    def _tell(self, fact: HolderIs) -> None:
        self._managers[fact.described.object.kind].tell(fact)

    # What is so now.

    def _outage(self) -> Outage | None:
        trouble = self._files.trouble
        return Outage(since=self._memory.lost_since, reason=trouble) if trouble else None
