"""The part of the agent that keeps Secrets, without the rest: a manager, its watchers, the watch streams."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Self

from typing_extensions import override

from actors.objects.api_holders import HolderFactory
from actors.objects.manager import (
    OBJECT_HOLDERS,
    SECRET_MANAGER,
    ObjectManager,
    ObjectManagerMemory,
    ObjectManagerPorts,
)
from actors.objects.watcher import (
    ObjectWatcher,
    WatcherMemory,
    WatcherPorts,
    watcher_key,
    watcher_rules,
)
from benchmarks.agent import GIVE_UP_AFTER
from kernel import ActorSystem, ChildSpec, DynamicSpec, Port, SupervisorSpec
from kube.credentials.access import Credentials
from kube.streams.actor import WATCHES, Watches
from kube.streams.memory import WatchMemory
from kube.streams.rules import WatchRules
from messages.objects import (
    DescribeObjects,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
    ObjectsDescribed,
)
from messages.pod_manager import Subscribe
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed

_DEADLINE = Seconds(GIVE_UP_AFTER)


class _NoPods(Port[Subscribe]):
    """Stands for a PodManager whom nobody lists any pods."""

    @override
    def tell(self, message: Subscribe, /) -> None:
        """Have nothing to tell."""


class Watchers:
    """A context: runs from entry to exit."""

    def __init__(self, credentials: Credentials, idle_limit: Seconds) -> None:
        self._credentials = credentials
        self._rules = replace(watcher_rules(Seconds(0.0)), idle_limit=idle_limit)
        self._manager_memory = ObjectManagerMemory()
        self._watch_memory = WatchMemory()
        self._system = ActorSystem(
            SupervisorSpec(
                name="root",
                children=(
                    ChildSpec(key=WATCHES, factory=self._make_watches),
                    DynamicSpec(key=OBJECT_HOLDERS),
                    ChildSpec(key=SECRET_MANAGER, factory=self._make_manager),
                ),
            )
        )
        self._manager = self._system.address(SECRET_MANAGER)
        self._watches = self._system.address(WATCHES)
        self.manager: Port[ObjectManagerMessage] = self._manager

    def __enter__(self) -> Self:
        self._system.start()
        assert self._system.wait_started(_DEADLINE)
        return self

    def __exit__(self, *_: object) -> None:
        self._system.stop()
        assert self._system.wait(_DEADLINE) == 0

    def living(self) -> int:
        """Return how many watchers there are."""
        tree = self._system.describe(_DEADLINE)
        return sum(each.parent == OBJECT_HOLDERS.path for each in tree)

    def objects(self) -> tuple[ObjectDescribed, ...]:
        """Return how all objects are held, once the manager has handled what it was told before."""
        return self._system.ask(self._manager, _objects, _DEADLINE).objects

    def watches(self) -> WatchesDescribed:
        """Return how all watches are."""
        return self._system.ask(self._watches, _watches, _DEADLINE)

    def _make_watches(self) -> Watches:
        rules = WatchRules(user_agent="actorlet-benchmarks")
        return Watches(self._credentials, self._watch_memory, rules)

    def _make_manager(self) -> ObjectManager:
        ports = ObjectManagerPorts(
            pod_manager=_NoPods(),
            holders=self._system.address(OBJECT_HOLDERS),
            local=None,
            node=None,
            me=self._manager,
        )
        holders = HolderFactory(make_spec=self._spec, address=self._system.address)
        return ObjectManager(ObjectKind.SECRET, ports, holders, self._manager_memory, Random())

    def _spec(self, wanted: ObjectId) -> ChildSpec[Any]:
        key, memory = watcher_key(wanted), WatcherMemory(wanted)
        me = self._system.address(key)
        ports = WatcherPorts(watches=self._watches, manager=self._manager, me=me)
        return ChildSpec(key=key, factory=lambda: ObjectWatcher(ports, self._rules, memory))


def _objects(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
    return DescribeObjects(reply_to=reply_to)


def _watches(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
    return DescribeWatches(reply_to=reply_to)
