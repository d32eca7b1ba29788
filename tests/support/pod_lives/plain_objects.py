"""Managers of Secrets and ConfigMaps that hold what the test puts into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from typing_extensions import override

from kernel import Port
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ChangeMissed,
    FollowObjects,
    GetObject,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectRead,
    ObjectValue,
    ReadVerdict,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from messages.pods import PodUid
from messages.units import Seconds

ManagerMessage: TypeAlias = (
    RegisterPod | UnregisterPod | GetObject | FollowObjects | UnfollowObjects | ChangeMissed
)


@dataclass
class PlainObjects:
    """All objects, who follows them, and which pods are registered."""

    values: dict[tuple[ObjectKind, str], ObjectValue] = field(default_factory=dict)
    followers: dict[ObjectId, dict[Port[ObjectFact], None]] = field(default_factory=dict)
    registered: set[PodUid] = field(default_factory=set)
    missed: list[ChangeMissed] = field(default_factory=list)
    unread: dict[tuple[ObjectKind, str], ReadVerdict] = field(default_factory=dict)
    """What is answered instead of the object."""
    decides: ChangeAction | None = None
    """What every pod wants done about changes."""
    is_silent: bool = False
    """It answers no read."""
    reads: int = 0
    asked: int = 0
    """Messages of any kind."""

    def manager(self, kind: ObjectKind) -> Port[ManagerMessage]:
        """Return the manager of one kind."""
        return _Manager(self, kind)

    def put(self, kind: ObjectKind, name: str, **data: str) -> None:
        """Create or change an object, and tell who follows it."""
        version = str(len(self.values) + self.reads + self.asked)
        values = {key: text.encode() for key, text in data.items()}
        self.values[kind, name] = ObjectValue(uid=name, resource_version=version, data=values)
        for wanted, followers in self.followers.items():
            if (wanted.kind, wanted.name) == (kind, name):
                fact = ObjectChanged(
                    object=wanted,
                    change=Change.ADDED,
                    uid=name,
                    resource_version=version,
                    keys=tuple(data),
                )
                for follower in followers:
                    follower.tell(fact)
                self.decide(fact, self.registered)

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
        for wanted, followers in self.followers.items():
            if (wanted.kind, wanted.name) == (kind, name):
                fact = ObjectChanged(
                    object=wanted,
                    change=Change.DELETED,
                    uid=name,
                    resource_version=value.resource_version,
                    keys=tuple(value.data),
                )
                for follower in followers:
                    follower.tell(fact)


class _Manager(Port[ManagerMessage]):
    def __init__(self, objects: PlainObjects, kind: ObjectKind) -> None:
        self._objects = objects
        self._kind = kind

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
            case GetObject():
                self._read(message)
            case ChangeMissed():
                objects.missed.append(message)
                objects.decide(message.changed, (message.pod,))
            case _:
                raise AssertionError(f"nobody of these tests follows all objects: {message}")

    def _read(self, question: GetObject) -> None:
        objects = self._objects
        objects.reads += 1
        if objects.is_silent:
            return
        value = objects.values.get((self._kind, question.name))
        is_known = question.pod in objects.registered
        found = ReadVerdict.FOUND if value is not None else ReadVerdict.NOT_FOUND
        trouble = objects.unread.get((self._kind, question.name))
        if trouble is not None:
            found, value = trouble, None
        question.reply_to.tell(
            ObjectRead(
                kind=self._kind,
                pod=question.pod,
                name=question.name,
                ref=question.ref,
                verdict=found if is_known else ReadVerdict.NOT_REGISTERED,
                value=value if is_known else None,
            )
        )
