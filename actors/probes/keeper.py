"""ProbeKeeper: has a prober for each probe, and tells the workers of pods what their probes say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, assert_never

from typing_extensions import override

from actors.probes.pod_probes import PodProbes
from actors.probes.prober import Prober, ProberMemory, ProberPorts
from actors.probes.watching import (
    DropProbe,
    FollowProbes,
    OnlyProbes,
    ProbeKeeperMessage,
    ProberIsUp,
    ProberSays,
    ProbesBegan,
    ProbesToRun,
    ProbeWanted,
    prober_key,
)
from kernel import Address, DynamicMessage, PooledActor, Port, StartChild, StopChild, isolated
from messages.events import PostEvent
from messages.pods import PodUid
from messages.probing import (
    DescribeProbes,
    ProbeKey,
    ProbeResultIs,
    ProbesAgain,
    ProbesDescribed,
    ProbesSay,
    ReleaseProbes,
    WantProbes,
)
from messages.units import Seconds

CONFIRMED_WITHIN: Final = Seconds(30.0)
"""How long after a crash workers have to say that their pods still want probes. Who is gone does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeKeeperPorts:
    """Whom the keeper of probes talks to."""

    runner: Port[ProbesToRun]
    """Who carries probes out."""
    probers: Port[DynamicMessage]
    """The supervisor of the probers."""
    events: Callable[[], Port[PostEvent] | None]
    """Returns who posts events; None if the agent belongs to no cluster."""
    people: Port[ProbeResultIs] | None = None
    """Who tells people what counts."""
    logs_changes: bool = True
    """Whether each change of what counts is logged at level info. Otherwise at debug."""
    address: Address
    me: Port[ProbeKeeperMessage]
    """Its own address, which outlives it."""


@dataclass(slots=True)
class ProbeKeeperMemory:
    """What outlives a life of the keeper of probes. One life at a time uses it."""

    pods: dict[PodUid, PodProbes] = field(default_factory=dict)


class ProbeKeeper(PooledActor[ProbeKeeperMessage]):
    """Has the probes of pods run, one prober for each, and puts together what they say of a pod.

    Owns: which pods want probes, and what counts of each.
    Hears: ``WantProbes``, ``ReleaseProbes`` of workers; ``ProberIsUp``, ``ProberSays``; ``ProbesBegan``;
    ``DescribeProbes``.
    Tells: the supervisor of probers ``StartChild`` and ``StopChild``; probers ``ProbeWanted``; workers
    ``ProbesSay``, once for each ``WantProbes`` and whenever it changes, and ``ProbesAgain``; who carries
    probes out ``DropProbe``, and ``OnlyProbes`` when something may have been lost.
    Fails when: it has a bug. What counts outlives it. The next life asks workers and probers to say
    everything again, and releases the pods whose workers do not answer.

    Order: the newest ``WantProbes`` of a pod counts. What is said of an instance that does not run any more
    is dropped. Repetition: every message may repeat. A pod without probes is never heard of here.
    """

    def __init__(self, ports: ProbeKeeperPorts, memory: ProbeKeeperMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._prober_ports = ProberPorts(
            keeper=ports.me,
            runner=ports.runner,
            events=ports.events,
            logs_changes=ports.logs_changes,
        )

    @override
    def started(self) -> None:
        self._ports.runner.tell(FollowProbes(subscriber=self._ports.me))
        if not self._memory.pods:
            return
        for pod in self._memory.pods.values():
            pod.is_confirmed = False
            pod.want.reply_to.tell(ProbesAgain())
        self._say_everything()
        self.later(CONFIRMED_WITHIN, self._release_unconfirmed)

    @override
    def receive(self, message: ProbeKeeperMessage, /) -> None:
        match message:
            case WantProbes():
                self._take(message)
            case ProberSays():
                self._note(message)
            case ProberIsUp(key=key):
                self._tell_prober(key)
            case ReleaseProbes(uid=uid):
                self._release(uid)
            case ProbesBegan():
                self._say_everything()
            case DescribeProbes(reply_to=reply_to):
                pods = tuple(pod.described() for pod in self._memory.pods.values())
                reply_to.tell(ProbesDescribed(pods=pods))
            case _:
                assert_never(message)

    def _take(self, want: WantProbes) -> None:
        uid = want.pod.uid
        pod = self._memory.pods.get(uid)
        if pod is None:
            pod = self._memory.pods[uid] = PodProbes.of(want)
        hidden, pod.told = pod.want.hidden, None
        pod.take(want)
        self._settle(pod, tells_all=hidden != want.hidden)

    def _note(self, said: ProberSays) -> None:
        pod = self._memory.pods.get(said.key.uid)
        if pod is not None:
            if pod.note(said.key, said.container_id, said.result):
                self._tell_people(pod, said)
            self._settle(pod)

    def _tell_people(self, pod: PodProbes, said: ProberSays) -> None:
        if self._ports.people is not None:
            told = ProbeResultIs(
                pod=pod.want.pod,
                key=said.key,
                container_id=said.container_id,
                result=said.result,
            )
            self._ports.people.tell(told)

    def _release_unconfirmed(self) -> None:
        for uid, pod in tuple(self._memory.pods.items()):
            if not pod.is_confirmed:
                self._release(uid)

    def _settle(self, pod: PodProbes, *, tells_all: bool = False) -> None:
        """Tell probers and worker what follows from what is known now."""
        wanted = pod.wanted()
        uid = pod.want.pod.uid
        for which in [each for each in pod.orders if each not in wanted]:
            self._end_prober(ProbeKey(uid, *which))
            del pod.orders[which]
        for which, order in wanted.items():
            key = ProbeKey(uid, *which)
            if which not in pod.orders:
                if order is None:
                    continue  # it begins with its first order
                self._start_prober(key)  # first: what the next life finds has been started
                pod.orders[which] = order
            elif pod.orders[which] != order or tells_all:
                pod.orders[which] = order
                self._tell_prober(key)
        verdicts = pod.verdicts()
        if verdicts != pod.told:
            pod.told = verdicts
            pod.want.reply_to.tell(ProbesSay(uid=uid, verdicts=verdicts))

    def _release(self, uid: PodUid) -> None:
        pod = self._memory.pods.pop(uid, None)
        if pod is not None:
            for which in pod.orders:
                self._end_prober(ProbeKey(uid, *which))

    # --- probers ---------------------------------------------------------------------------------------

    def _start_prober(self, key: ProbeKey) -> None:
        name = prober_key(key)
        me = self._ports.address(name)
        make = partial(Prober, key, self._prober_ports, ProberMemory(), me)
        spec = isolated(name, make)
        self._ports.probers.tell(StartChild(spec=spec))

    def _end_prober(self, key: ProbeKey) -> None:
        self._ports.probers.tell(StopChild(path=prober_key(key).path))
        self._ports.runner.tell(DropProbe(key=key))

    def _tell_prober(self, key: ProbeKey) -> None:
        pod = self._memory.pods.get(key.uid)
        which = (key.container, key.kind)
        if pod is not None and which in pod.orders:
            want, order = pod.want, pod.orders[which]
            wanted = ProbeWanted(pod=want.pod, order=order, hidden=want.hidden)
            self._ports.address(prober_key(key)).tell(wanted)

    def _say_everything(self) -> None:
        """Have everything said again: some of it may have been lost in a crash."""
        keys = [
            ProbeKey(uid, *which) for uid, pod in self._memory.pods.items() for which in pod.orders
        ]
        self._ports.runner.tell(OnlyProbes(keys=frozenset(keys)))
        for key in keys:
            self._tell_prober(key)
        for pod in tuple(self._memory.pods.values()):
            self._settle(pod)
