"""Managers of Secrets and ConfigMaps that hold what the test puts into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import override

from kernel import Level, Port
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ChangeMissed,
    FollowObjects,
    HeldObject,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectValue,
    ReadVerdict,
    RegisterPod,
    UnfollowObjects,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pods import PodUid
from messages.units import Seconds

ManagerMessage: TypeAlias = (
    RegisterPod | UnregisterPod | FollowObjects | UnfollowObjects | UnprovenTaken | ChangeMissed
)


class _SeenLevel(Level[ObjectId, HeldObject]):
    """A level that has an object looked at as soon as somebody follows it."""

    def __init__(self, objects: PlainObjects) -> None:
        super().__init__()
        self._plain = objects

    @override
    def follow(self, key: ObjectId, follower: Port[Any], *, fresh: bool = False) -> None:
        self._plain.asked += 1
        self._plain.reads += fresh
        super().follow(key, follower, fresh=fresh)
        self._plain.look(key)

    @property
    def wanted(self) -> int:
        """The number of the last look that anybody wants."""
        return self._looks


@dataclass
class PlainObjects:
    """All objects, who follows them, and which pods are registered."""

    values: dict[tuple[ObjectKind, str], ObjectValue] = field(default_factory=dict)
    followers: dict[ObjectId, dict[Port[ObjectFact], None]] = field(default_factory=dict)
    registered: set[PodUid] = field(default_factory=set)
    missed: list[ChangeMissed] = field(default_factory=list)
    taken: list[UnprovenTaken] = field(default_factory=list)
    unread: dict[tuple[ObjectKind, str], ReadVerdict] = field(default_factory=dict)
    """What is said instead of the object."""
    decides: ChangeAction | None = None
    """What every pod wants done about changes."""
    when_set: Callable[[str], None] = lambda _version: None
    """Called with each version between its value and the news of the change: decisions come there."""
    is_silent: bool = False
    """It looks at nothing."""
    is_untold: bool = False
    """It hears of no change."""
    reads: int = 0
    asked: int = 0
    """Messages of any kind."""
    levels: dict[ObjectKind, _SeenLevel] = field(init=False)

    def __post_init__(self) -> None:
        self.levels = {kind: _SeenLevel(self) for kind in ObjectKind}

    def manager(self, _kind: ObjectKind) -> Port[ManagerMessage]:
        """Return the manager of one kind."""
        return _Manager(self)

    def look(self, wanted: ObjectId) -> None:
        """Have an object looked at, for all who follow it."""
        if not self.is_silent:
            self._set(wanted, proven=self.levels[wanted.kind].wanted)

    def _set(self, wanted: ObjectId, *, proven: int = 0) -> None:
        held = self.held(wanted.kind, wanted.name)
        self.levels[wanted.kind].set(wanted, held, proven=proven)

    def held(self, kind: ObjectKind, name: str) -> HeldObject:
        """Return what followers are told of an object."""
        value, trouble = self.values.get((kind, name)), self.unread.get((kind, name))
        if trouble is not None:
            return HeldObject(verdict=trouble)
        found = ReadVerdict.FOUND if value is not None else ReadVerdict.NOT_FOUND
        return HeldObject(verdict=found, value=value)

    def _tell(self, kind: ObjectKind, name: str, change: Change, value: ObjectValue) -> None:
        for wanted in self.levels[kind].followed():
            if wanted.name == name and not self.is_untold:
                self._set(wanted)
        self.when_set(value.resource_version)
        for wanted, followers in self.followers.items():
            if (wanted.kind, wanted.name) == (kind, name):
                fact = ObjectChanged(
                    object=wanted,
                    change=change,
                    uid=name,
                    resource_version=value.resource_version,
                    keys=tuple(value.data),
                )
                if change is not Change.DELETED:
                    self.decide(fact, self.registered)
                for follower in followers:
                    follower.tell(fact)

    def put(self, kind: ObjectKind, name: str, **data: str) -> None:
        """Create or change an object, and tell who follows it."""
        version = str(len(self.values) + self.reads + self.asked)
        values = {key: text.encode() for key, text in data.items()}
        value = ObjectValue(uid=name, resource_version=version, data=values)
        self.values[kind, name] = value
        self._tell(kind, name, Change.ADDED, value)

    def decide(self, changed: ObjectChanged, uids: Iterable[PodUid]) -> None:
        """Tell everybody who follows an object what these pods want done about it."""
        for follower in self.followers.get(changed.object, {}):
            for uid in sorted(uids):
                if self.decides is not None:
                    follower.tell(
                        ChangeDecided(
                            pod=uid,
                            pod_name=uid,
                            action=self.decides,
                            signal="",
                            delay=Seconds(2.0),
                            changed=changed,
                        )
                    )

    def remove(self, kind: ObjectKind, name: str) -> None:
        """Delete an object, and tell who follows it."""
        value = self.values.pop((kind, name))
        self._tell(kind, name, Change.DELETED, value)


class _Manager(Port[ManagerMessage]):
    def __init__(self, objects: PlainObjects) -> None:
        self._objects = objects

    @override
    def tell(self, message: ManagerMessage, /) -> None:
        objects = self._objects
        objects.asked += 1
        match message:
            case RegisterPod(pod=pod):
                objects.registered.add(pod.uid)
            case UnregisterPod(pod=uid):
                objects.registered.discard(uid)
            case FollowObjects(subscriber=subscriber, object=wanted) if wanted is not None:
                objects.followers.setdefault(wanted, {})[subscriber] = None
            case UnfollowObjects(subscriber=subscriber, object=wanted) if wanted is not None:
                objects.followers.get(wanted, {}).pop(subscriber, None)
            case UnprovenTaken():
                objects.taken.append(message)
            case ChangeMissed():
                objects.missed.append(message)
                objects.decide(message.changed, (message.pod,))
            case _:
                raise AssertionError(f"nobody of these tests follows all objects: {message}")
