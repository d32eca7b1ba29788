"""The part of the agent that keeps Secrets, without the rest: a manager, its watchers, the watch streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from typing_extensions import override

from actors.events.recorder import EVENT_RECORDER
from actors.node.registrar import NODE_REGISTRAR
from actors.objects.manager_parts import OBJECT_HOLDERS, SECRET_MANAGER
from actors.objects.watcher import watcher_rules
from actors.pod_manager import POD_MANAGER
from agent import objects
from benchmarks.agent import GIVE_UP_AFTER
from benchmarks.clusters import NAMESPACE, secret_name
from kernel import ActorSystem, ChildSpec, Key, Port, SupervisorSpec
from kube.api_connections import ApiConnections
from kube.calls.actor import API_CALLS
from kube.credentials.access import Credentials
from kube.streams.actor import WATCHES, Watches
from kube.streams.rules import WatchRules
from kube.streams.shared import WatchMemory
from messages.api import CallApi
from messages.events import PostEvent
from messages.node import FollowNode
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
from settings.command_line import parse
from settings.load import settings_of
from tests.support.agent.composed import composed, specs_named
from tests.support.objects.reader import READER, Answer, Read, Reader, ReadMemory

_DEADLINE = Seconds(GIVE_UP_AFTER)


class _Nobody(Port[Subscribe | CallApi | FollowNode | PostEvent]):
    """Stands for those who have nothing to tell: PodManager lists no pods, nobody calls or has a Node."""

    @override
    def tell(self, message: Subscribe | CallApi | FollowNode | PostEvent, /) -> None:
        """Do nothing."""


class Watchers:
    """A context: runs from entry to exit."""

    def __init__(self, credentials: Credentials, idle_limit: Seconds) -> None:
        self._connections = ApiConnections(WatchRules(user_agent="actorlet-benchmarks"))
        self._credentials = self._connections.shared(credentials)
        self._watch_memory = WatchMemory()
        flags = parse(["--kubeconfig=none", "--runtime=hollow"])
        settings = settings_of(flags, (), hostname="benchmarks")
        others: dict[Key[Any], Port[Any]] = dict.fromkeys(
            (POD_MANAGER, API_CALLS, NODE_REGISTRAR, EVENT_RECORDER), _Nobody()
        )
        agent = composed(settings, self._address, others)
        rules = replace(watcher_rules(settings.sync_frequency), idle_limit=idle_limit)
        agent.share(objects.watcher_rules, rules)
        watches = ChildSpec(key=WATCHES, factory=self._make_watches)
        self._reads = ReadMemory()
        self._levels = agent.objects
        reader = ChildSpec(key=READER, factory=self._make_reader)
        managers = specs_named(agent, OBJECT_HOLDERS.path, "object-managers")
        tree = SupervisorSpec(name="root", children=(watches, *managers, reader))
        self._system = ActorSystem(tree)
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
        self._connections.close()

    def read(self, number: int, within: Seconds) -> None:
        """Have somebody read a Secret by its number, as a new pod does."""
        wanted = ObjectId(kind=ObjectKind.SECRET, namespace=NAMESPACE, name=secret_name(number))
        self._system.address(READER).tell(Read(wanted, within))

    def answers(self) -> list[Answer]:
        """Return what was answered since the last call."""
        return self._reads.take_answers()

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

    def _make_reader(self) -> Reader:
        return Reader(self._levels, self._system.address(READER), self._reads)

    def _make_watches(self) -> Watches:
        return Watches(self._credentials, self._watch_memory, self._connections.streams)

    def _address(self, key: Key[Any], /) -> Port[Any]:
        return self._system.address(key)


def _objects(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
    return DescribeObjects(reply_to=reply_to)


def _watches(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
    return DescribeWatches(reply_to=reply_to)
