"""The world of the crash matrix in which objects are those of an API server.

The past of the API server is kept, so that each answer can be held against what is promised of it, whoever
crashed: what is told to be current is not older than the pod that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from math import inf
from random import Random
from typing import Any, ClassVar, NamedTuple

from typing_extensions import override

from actors.objects.manager import OBJECT_HOLDERS, ObjectManagerMemory
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from agent.object_tree import ApiPorts, ObjectEdges, ObjectTree
from kernel import ChildSpec, Key, Level, Port, SupervisorSpec, isolated
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules
from kube.streams.actor import WATCHES
from kube.streams.memory import WatchMemory
from messages.events import PostEvent
from messages.node import FollowNode, NodeIs, NodeUid
from messages.objects import (
    HeldObject,
    ObjectId,
    ObjectKind,
    Origin,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import API, JsonObject, Pod, PodUid
from settings.agent import Settings
from settings.cluster import ChangeDetection
from sources.apiserver.source import API_SOURCE, ApiMemory, ApiSource, ApiSourcePorts
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.history import Change as Step
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.store_edges import StoreSender, StoreWatches
from tests.support.crash_matrix import Observations, StoryRun
from tests.support.kernel.probe import Probe
from tests.support.objects.reader import Answer
from tests.support.objects.settings import cluster_settings
from tests.support.worlds.objects import GONE, NODE, ObjectsWorld, Wanted


class State(NamedTuple):
    """What became of an object at one moment."""

    version: int
    """The API server's."""
    at: float
    name: str
    """The object's version, or ``GONE``."""


class _NodeKeeper(Port[FollowNode]):
    """There is a Node, and nothing happens to it."""

    @override
    def tell(self, message: FollowNode, /) -> None:
        node = NodeIs(name=NODE, uid=NodeUid("node"), is_deleting=False, document={})
        message.subscriber.tell(node)


class ClusterObjectsWorld(ObjectsWorld):
    """Pods that the API server bound to this node, and their objects, by one of the strategies."""

    origin = Origin.API
    in_the_end: ClassVar[float] = 80.0  # longer than a list may be under way

    def __init__(self, run: StoryRun, detection: ChangeDetection = ChangeDetection.WATCH) -> None:
        self._node = _NodeKeeper()
        self.events = Probe[PostEvent]()
        self.past: dict[tuple[str, str], list[State]] = {}
        self.registered: dict[str, Pod] = {}
        self._hidden: list[tuple[float, float]] = []
        """From when to when the agent was not told what changes."""
        self._floors: dict[PodUid, int] = {}
        """The API server's version when a pod came."""
        super().__init__(run, cluster_settings(detection, node_name=NODE))
        self.store = ApiStore(now=self.play.clock.wall)
        self.store.follow("0", self._remember)
        self.api = FakeApi(self.store, as_node=NODE)
        self.sender = StoreSender(self.store, NODE, lambda _pod: False)

    # What happens to the agent.

    def bind(self, document: JsonObject) -> None:
        """Have a pod be bound to this node."""
        added = self.store.add(document)
        self.came(added["metadata"]["name"], PodUid(added["metadata"]["uid"]))

    def register(self, pod: Pod) -> None:
        """Have somebody hold a pod, whatever the API server says of it."""
        self.came(pod.name, pod.uid)
        self.registered[pod.name] = pod
        self._tell_managers(RegisterPod(pod=pod))

    def unregister(self, name: str) -> None:
        """Have the pod be held by nobody."""
        self._tell_managers(UnregisterPod(pod=self.registered.pop(name).uid))

    def came(self, name: str, uid: PodUid) -> None:
        """Note that there is a pod, whose first read must not be older than this."""
        self.pods[name] = uid
        self._floors.setdefault(uid, self.version)

    def api_goes_away(self) -> None:
        """Have the API server be unreachable. Administrators still reach it."""
        self.sender.is_away = True
        self.api.watches.break_off()
        self._hides()

    def api_comes_back(self) -> None:
        """Have it answer again."""
        self.sender.is_away = False
        self.api.watches.mend()
        self._shows()

    def watches_lag(self) -> None:
        """Have the agent be told nothing of what changes."""
        self.api.watches.pause()
        self._hides()

    def watches_catch_up(self) -> None:
        """Have it be told all of it."""
        self.api.watches.resume()
        self._shows()

    def lists_take_long(self) -> None:
        """Have lists of Secrets find what there is, and be under way until later."""
        watches = self.api.watches
        watches.hold_lists(lambda target: target.path.endswith("/secrets"), are_carried_out=True)
        self._hides()

    def lists_arrive(self) -> None:
        """Have them arrive, and those that follow take no time."""
        self.api.watches.release_lists()
        self._shows()

    def _hides(self) -> None:
        self._hidden.append((self.play.clock.wall(), inf))

    def _shows(self) -> None:
        since, _ = self._hidden.pop()
        self._hidden.append((since, self.play.clock.wall()))

    # What it is made of.

    @override
    def _tree(self, run: StoryRun, settings: Settings) -> SupervisorSpec:
        edges = ObjectEdges(api=self._api_ports, chance=Random(run.seed))
        self._objects = ObjectTree(settings, self._address, edges)
        pods, calls, watches, api = PodMemory(), CallMemory(), WatchMemory(), ApiMemory()
        self._wanted_watches = watches

        def pod_manager() -> PodManager:
            source = self._address(API_SOURCE)
            return PodManager({API: source}, pods)

        def api_calls() -> ApiCalls:
            return ApiCalls(self.sender, calls, CallRules(qps=0.0))

        def api_source() -> ApiSource:
            ports = ApiSourcePorts(
                pod_manager=self._address(POD_MANAGER),
                watches=self._address(WATCHES),
                node=self._node,
                me=self._address(API_SOURCE),
            )
            return ApiSource(NODE, ports, api)

        return SupervisorSpec(
            name="actorlet",
            children=(
                ChildSpec(key=POD_MANAGER, factory=pod_manager),
                isolated(API_CALLS, api_calls),
                isolated(WATCHES, lambda: StoreWatches(self.api.watches, watches)),
                *self._objects.specs(),
                isolated(API_SOURCE, api_source),
            ),
        )

    @override
    def _levels(self) -> Mapping[ObjectKind, Level[ObjectId, HeldObject]]:
        return self._objects.levels

    @override
    def _managers_memories(self) -> Iterable[ObjectManagerMemory]:
        return self._objects.memory.managers.values()

    def _api_ports(self) -> ApiPorts:
        calls, watches = self._address(API_CALLS), self._address(WATCHES)
        return ApiPorts(calls=calls, watches=watches, node=self._node, events=self.events)

    def _address(self, key: Key[Any], /) -> Port[Any]:
        # Whoever is told to start holders starts victims.
        if key == OBJECT_HOLDERS:
            return self._port_of_victims(key)
        return self.play.port(key)

    # What is compared.

    @property
    def version(self) -> int:
        """The API server's version."""
        return self.store.history.version

    def _remember(self, step: Step) -> None:
        metadata = step.after["metadata"]
        past = self.past.setdefault((step.kind.name, metadata["name"]), [])
        name = GONE if step.is_gone else metadata["resourceVersion"]
        past.append(State(step.version, self.play.clock.wall(), name))

    @override
    def _may_be_skipped(self, state: str) -> bool:
        (past,) = [each for each in self.past.values() if any(s.name == state for s in each)]
        (since, until) = next(
            (one.at, other.at if other else inf)
            for one, other in zip_longest(past, past[1:])
            if one.name == state
        )
        hidden = sum(max(0.0, min(until, end) - max(since, begin)) for begin, end in self._hidden)
        return until - since - hidden < self.pause

    @override
    def _check_answer(self, wanted: Wanted, answer: Answer) -> None:
        super()._check_answer(wanted, answer)
        is_absent = answer.verdict is ReadVerdict.NOT_FOUND and answer.age is None
        if not answer.is_fresh or not (answer.verdict is ReadVerdict.FOUND or is_absent):
            return
        told = answer.value.resource_version if answer.value else GONE
        floor = self._floors[self.pods[wanted.pod]]
        if told not in self._states_since(wanted, floor):
            self.broken.append(
                f"{wanted} is answered {told} as current, which is older than {floor}"
            )

    def _states_since(self, wanted: Wanted, floor: int) -> set[str]:
        """Return every state that an object was in at ``floor`` or later."""
        past = [State(0, 0.0, GONE), *self.past.get((wanted.kind, wanted.name), ())]
        ends = [*(state.version for state in past[1:]), self.version + 1]
        return {state.name for state, end in zip(past, ends, strict=True) if end > floor}

    @override
    def _references(self) -> Iterator[Wanted]:
        registered = [pod.document for pod in self.registered.values()]
        for document in (*self.store.pods(), *registered):
            for volume in document["spec"].get("volumes", ()):
                name = document["metadata"]["name"]
                if "secret" in volume:
                    yield Wanted(name, ObjectKind.SECRET, volume["secret"]["secretName"])
                elif "configMap" in volume:
                    yield Wanted(name, ObjectKind.CONFIG_MAP, volume["configMap"]["name"])

    @override
    def _observed(self) -> Observations:
        targets = self.api.watches.targets
        assert set(targets) == self._wanted_watches.subscribers.keys()
        watched = [(each.path, each.field_selector) for each in targets]
        return {"watches": sorted(watched)}
