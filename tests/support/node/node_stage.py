"""A stage for the node's actors, with the API server of the tests and a machine that is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from actors.node.conditions import Availability, PressureSignals, by_type
from actors.node.lease_keeper import LEASE_KEEPER, LeaseKeeper, LeasePorts
from actors.node.machine import Machine, MachineFacts
from actors.node.registrar import NODE_REGISTRAR, NodeMemory, NodePorts, NodeRegistrar
from actors.node.rules import NodeRules
from kernel import Key, OnExhausted
from messages.api import FailureKind
from messages.node import FollowNode, FollowRegistrar, LoopsAre, NodeFact, NodeIs, RuntimeHasNews
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, StagedActor, stage_for

GIB = 2**30
HEALTHY = PressureSignals(
    memory_free=4 * GIB,
    storage=Availability(free=60 * GIB, total=100 * GIB),
    inodes=Availability(free=600, total=1000),
    pids=Availability(free=30_000, total=32_768),
)
FACTS = MachineFacts(
    cpus=4,
    memory=8 * GIB,
    storage=100 * GIB,
    addresses=("10.0.0.7",),
    machine_id="1234",
    boot_id="b00t",
    kernel="6.1.0",
    os_image="Debian GNU/Linux 12 (bookworm)",
    architecture="amd64",
    signals=HEALTHY,
)
RULES = NodeRules(name="n1", version="0.1.0")

FATES_OF_A_CALL = pytest.mark.parametrize(
    "fate",
    [
        lambda calls: calls.recover(),
        lambda calls: calls.lose_answers(),
        lambda calls: calls.fail(FailureKind.LOST),
    ],
    ids=["carried out", "carried out and not answered", "not carried out"],
)
"""What may become of a call whose sender crashed."""


class MadeUpMachine(Machine):
    """A machine whose facts the test sets."""

    def __init__(self) -> None:
        self.facts = FACTS
        self.looks = 0
        self.is_broken = False
        """Whether a look crashes who looks, which a real one never does."""

    @override
    def read(self) -> MachineFacts:
        self.looks += 1
        if self.is_broken:
            raise RuntimeError("the machine is broken")
        return self.facts

    @override
    def addresses(self) -> tuple[str, ...]:
        return self.facts.addresses

    def feels(self, **signals: Any) -> None:
        """Have some signals from here on; the rest is as it was."""
        self.facts = replace(self.facts, signals=replace(self.facts.signals, **signals))


class Follower(Probe[NodeFact]):
    """Somebody who follows the Node."""

    def heard(self) -> list[str]:
        """Return what was told since the last call, in words: ``is <uid>``, ``gone``."""
        return [f"is {fact.uid}" if isinstance(fact, NodeIs) else "gone" for fact in self.drain()]


class NodeStage:
    """Changes the Node and its surroundings, and shows the result."""

    def __init__(self, play: Stage, api: FakeApi, machine: MadeUpMachine) -> None:
        self.play = play
        self.api = api
        self.store = api.store
        self.machine = machine
        self.follower = Follower()
        self.wishes: Probe[FollowNode | FollowRegistrar] = Probe()
        """What the registrar is told, on a stage without one."""

    @property
    def node(self) -> JsonObject:
        """The Node as the API server has it."""
        return self.store.get("nodes", "n1")

    @property
    def uid(self) -> str:
        return str(self.node["metadata"]["uid"])

    @property
    def lease(self) -> JsonObject:
        """The Lease as the API server has it."""
        return self.store.get("leases", "kube-node-lease", "n1")

    def condition(self, kind: str) -> JsonObject:
        """Return one condition of the Node."""
        return by_type(self.node["status"]["conditions"])[kind]

    def resources(self) -> tuple[JsonObject, JsonObject]:
        """Return capacity and allocatable of the Node."""
        status = self.node["status"]
        return status["capacity"], status["allocatable"]

    def states(self) -> dict[str, str]:
        """Return the status of each condition, in their order."""
        return {each["type"]: each["status"] for each in self.node["status"]["conditions"]}

    def asked(self) -> list[str]:
        """Return what the API server was asked since the last look, in words."""
        return self.api.calls.asked()

    def asked_within(self, seconds: float) -> list[str]:
        """Return what it is asked while time passes."""
        self.asked()
        self.play.advance(seconds)
        return self.asked()

    def follows(self) -> Follower:
        """Return somebody who has begun to follow the Node."""
        self.play.tell(NODE_REGISTRAR, FollowNode(subscriber=self.follower))
        return self.follower

    def loops_fail(self, *names: str) -> None:
        """Tell the registrar which loops of the agent fail."""
        self.play.tell(NODE_REGISTRAR, LoopsAre(failed=names))

    def runtime_says(self, **facts: Any) -> None:
        """Let the runtime of pods say this of the Node from here on, and tell the registrar so."""
        self.machine.facts = replace(FACTS, **facts)
        self.play.tell(NODE_REGISTRAR, RuntimeHasNews())

    def is_marked_unknown(self) -> None:
        """Have every condition be Unknown, as the cluster does when nobody renews the Lease."""
        unknown = [{**each, "status": "Unknown"} for each in self.node["status"]["conditions"]]
        self.store.change("nodes", "n1", status={"conditions": unknown})
        self.play.settle()

    def goes_down(self, key: Key[Any]) -> None:
        """Crash an actor; its next life begins when time passes."""
        self.play.system.crash(key.path)
        self.play.settle()

    def crashes(self, key: Key[Any]) -> None:
        """Crash an actor, and let time pass until its next life is up."""
        self.goes_down(key)
        self.play.advance(1.0)

    def keeps_crashing(self, key: Key[Any], *, every: float, times: int) -> None:
        """Crash an actor time after time; more than 10 s apart, it has begun again each time."""
        for _ in range(times):
            self.goes_down(key)
            self.play.advance(every)


@contextmanager
def node_stage(
    rules: NodeRules = RULES,
    *,
    prepare: Callable[[NodeStage], object] = lambda _node: None,
    lease: bool = True,
    registrar: bool = True,
) -> Iterator[NodeStage]:
    """Start the actors, or one of them, once ``prepare`` has set the stage."""
    memory, machine = NodeMemory(), MadeUpMachine()

    def make_registrar(play: Stage) -> NodeRegistrar:
        me = play.port(NODE_REGISTRAR)
        ports = NodePorts(calls=api.calls, watches=api.watches, me=me)
        return NodeRegistrar(rules, ports, machine, memory)

    def make_keeper(play: Stage) -> LeaseKeeper:
        asked = play.port(NODE_REGISTRAR) if registrar else node.wishes
        me = play.port(LEASE_KEEPER)
        ports = LeasePorts(calls=api.calls, registrar=asked, watches=api.watches, me=me)
        waits = rules.own_label is not None
        return LeaseKeeper(rules.name, Seconds(40.0), ports, waits_for_node=waits)

    actors: list[StagedActor] = [
        *([(NODE_REGISTRAR, make_registrar)] if registrar else []),
        *([(LEASE_KEEPER, make_keeper)] if lease else []),
    ]
    play = stage_for(*actors, on_exhausted=OnExhausted.ISOLATE)
    api = FakeApi(ApiStore(now=play.clock.wall), as_node=rules.name)
    node = NodeStage(play, api, machine)
    prepare(node)
    play.start()
    try:
        yield node
    finally:
        play.system.stop()
        play.system.wait(Seconds(0.0))
