"""Which pods this node takes: what they request against what it has (rules L8, L14, Y12).

Reasons and messages are a kubelet's. One differs: a static pod for which nothing can make room is refused
with the resource that lacks, as any other pod, and not with ``UnexpectedAdmissionError``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from actors.pods.node_fit import (
    Candidate,
    NodeView,
    affinity_misfit,
    is_ever_preemptable,
    os_misfit,
    predicate_failure,
    size_misfit,
    taint_misfit,
    victims,
)
from manifests.qos import is_critical
from manifests.requests import (
    ANY_ADDRESS,
    CPU,
    MEMORY,
    PODS,
    STORAGE,
    Amounts,
    HostPort,
    host_ports,
    is_extended,
    pod_requests,
)
from messages.pod_runtime import PodTrouble
from messages.pods import Pod, PodUid
from messages.statuses import PodFailure

_MAIN: Final = (PODS, CPU, MEMORY, STORAGE)
"""The resources of every node, in the order in which they are looked at."""
_ONE_POD: Final[Amounts] = {PODS: 1}
"""What a pod without requests takes; one value for thousands of them."""
_NO_PORTS: Final[frozenset[HostPort]] = frozenset()
_PORTS_TAKEN: Final = predicate_failure(
    "NodePorts", "node(s) didn't have free ports for the requested pod ports"
)

DEFERRED: Final = "ResizeDeferred"
"""The trouble of a pod that may have what it requests once others have less."""
INFEASIBLE: Final = "ResizeRefused"
"""The trouble of a pod that requests more than the node has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The pod may run. Whoever starts it says ``take``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The pod must not run here. It fails for good, and is not looked at again."""

    reason: str
    """One word: ``OutOfcpu``, ``NodeAffinity``, ..."""
    message: str
    """For people: the message of the pod's event."""

    @property
    def failure(self) -> PodFailure:
        """What the pod's status says."""
        return PodFailure(reason=self.reason, message=self.message).as_rejection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempt:
    """The pod may run once ``victims`` are gone.

    Whoever stops these says ``vacate`` of each and ``take`` of the pod, both at once, so that nobody else is
    promised the same room. The pod starts when all of them were released. What the victims' status and event
    say is ``node_fit.PREEMPTED``.
    """

    victims: tuple[PodUid, ...]


AdmissionVerdict: TypeAlias = Admitted | Rejected | Preempt

_ADMITTED: Final = Admitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A pod that was taken."""

    pod: Pod
    requests: Amounts
    ports: frozenset[HostPort]
    is_leaving: bool = False
    """Its room is promised to somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shortage:
    """A resource of which the node has too little for a pod."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def lacking(self) -> int:
        return self.requested - (self.capacity - self.used)

    def rejection(self) -> Rejected:
        return Rejected(
            reason=f"OutOf{self.resource}",
            message=f"Node didn't have enough resource: {self.resource}, requested: {self.requested}, "
            f"used: {self.used}, capacity: {self.capacity}",
        )

    def trouble(self) -> PodTrouble:
        """Return why a pod that runs may not have so much: not now, or not on this node."""
        if self.requested <= self.capacity:
            return PodTrouble(reason=DEFERRED, message=self.rejection().message)
        return PodTrouble(
            reason=INFEASIBLE,
            message=f"Node didn't have enough capacity: {self.resource}, requested: {self.requested}, "
            f"capacity: {self.capacity}",
        )


class Admission:
    """Sums of what was taken, and the decision on one more pod.

    The sums run along, so each call costs the same however many pods there are. Only to choose victims it
    goes over pods, and over none that cannot be one.

    Who replaces a static pod by another one of its name releases the earlier one first.
    """

    def __init__(self, node: NodeView) -> None:
        self._node = node
        self._held: dict[PodUid, _Held] = {}
        self._preemptable: dict[PodUid, Candidate] = {}
        self._used: Counter[str] = Counter()
        self._ports: Counter[HostPort] = Counter()
        self._addresses: Counter[tuple[str, int]] = Counter()
        """How often each port is taken, at whatever address."""

    @property
    def node(self) -> NodeView:
        """The node that pods are compared with."""
        return self._node

    @property
    def used(self) -> Amounts:
        """What the pods that were taken request together, without those that are leaving."""
        return {name: amount for name, amount in self._used.items() if amount}

    def note_node(self, node: NodeView) -> None:
        """Compare with this node from now on. Pods that were taken stay, whatever it says."""
        self._node = node

    def admit(self, pod: Pod) -> AdmissionVerdict:
        """Decide on a pod, beside all that were taken but itself. Changes nothing."""
        node = self._node
        if failure := size_misfit(pod) or os_misfit(pod, node):
            return _rejection(failure)
        held = self._held.get(pod.uid)
        shortages = list(self._shortages(_requests_of(pod), held))
        critical = bool(shortages) and is_critical(pod)
        if shortages and not critical:
            return shortages[0].rejection()
        misfit = (
            affinity_misfit(pod, node) or self._taken_port(pod, held) or taint_misfit(pod, node)
        )
        if misfit:
            return _rejection(misfit)
        return self._make_room(pod, shortages) if shortages else _ADMITTED

    def resize(self, pod: Pod) -> PodTrouble | None:
        """Return why a pod that was taken may not have what this version of it requests; None if it may.

        Only resources count of which it requests more than it has. Changes nothing.
        """
        held = self._held.get(pod.uid)
        if held is None or held.is_leaving:
            return None
        requests = _requests_of(pod)
        more = {name: each for name, each in requests.items() if each > held.requests.get(name, 0)}
        return next((each.trouble() for each in self._shortages(more, held)), None)

    def taken(self, uid: PodUid) -> Pod | None:
        """Return the version of a pod that is counted; None if none is."""
        held = self._held.get(uid)
        return held.pod if held is not None and not held.is_leaving else None

    def take(self, pod: Pod) -> None:
        """Count a pod from now on, in place of what counted for its UID."""
        self.release(pod.uid)
        requests, ports = _requests_of(pod), host_ports(pod.document["spec"]) or _NO_PORTS
        self._held[pod.uid] = _Held(pod=pod, requests=requests, ports=ports)
        self._used.update(requests)
        self._note_ports(ports, 1)
        if is_ever_preemptable(pod):
            self._preemptable[pod.uid] = Candidate(pod=pod, requests=requests)

    def vacate(self, uid: PodUid) -> None:
        """Note that a pod is stopped for another one: what it requests is free, its ports are not yet."""
        held = self._held.get(uid)
        if held is None or held.is_leaving:
            return
        self._used.subtract(held.requests)
        self._preemptable.pop(uid, None)
        self._held[uid] = _Held(
            pod=held.pod, requests=held.requests, ports=held.ports, is_leaving=True
        )

    def release(self, uid: PodUid) -> None:
        """Count a pod no more: nothing of it runs, or it failed. One that was not taken changes nothing."""
        held = self._held.get(uid)
        if held is None:
            return
        self.vacate(uid)
        self._note_ports(held.ports, -1)
        del self._held[uid]

    def _shortages(self, requests: Amounts, held: _Held | None) -> Iterator[_Shortage]:
        own = held.requests if held is not None and not held.is_leaving else {}
        others = sorted(requests.keys() - set(_MAIN)) if len(requests) > 1 else ()
        for name in (*_MAIN, *others):
            requested, capacity = requests.get(name, 0), self._capacity(name)
            used = self._used[name] - own.get(name, 0)
            if requested and capacity is not None and requested > capacity - used:
                yield _Shortage(resource=name, requested=requested, used=used, capacity=capacity)

    def _capacity(self, resource: str) -> int | None:
        """Return how much there is of a resource; None if it is not counted here."""
        counted = self._node.allocatable.get(resource)
        if counted is not None:
            return counted
        # Extended resources may be counted for the cluster as a whole, so nodes do not know them.
        return None if resource in _MAIN or is_extended(resource) else 0

    def _make_room(self, pod: Pod, shortages: list[_Shortage]) -> AdmissionVerdict:
        lacking = {shortage.resource: shortage.lacking for shortage in shortages}
        others = (each for uid, each in self._preemptable.items() if uid != pod.uid)
        chosen = victims(pod, lacking, others)
        if not chosen:
            return shortages[0].rejection()
        return Preempt(victims=tuple(each.pod.uid for each in chosen))

    def _taken_port(self, pod: Pod, held: _Held | None) -> PodFailure | None:
        own = held.ports if held is not None else _NO_PORTS
        wanted = host_ports(pod.document["spec"]) - own
        return _PORTS_TAKEN if any(self._is_taken(port, own) for port in wanted) else None

    def _is_taken(self, wanted: HostPort, own: frozenset[HostPort]) -> bool:
        def others_with(address: str) -> int:
            port = HostPort(wanted.protocol, wanted.port, address)
            return self._ports[port] - (port in own)

        if wanted.address != ANY_ADDRESS:
            return others_with(wanted.address) + others_with(ANY_ADDRESS) > 0
        ours = sum(each[:2] == wanted[:2] for each in own)
        return self._addresses[wanted[:2]] > ours

    def _note_ports(self, ports: frozenset[HostPort], by: int) -> None:
        for port in ports:
            self._ports[port] += by
            self._addresses[port[:2]] += by
            if not self._ports[port]:
                del self._ports[port]
            if not self._addresses[port[:2]]:
                del self._addresses[port[:2]]


def _requests_of(pod: Pod) -> Amounts:
    requests = pod_requests(pod.document["spec"])
    return {**_ONE_POD, **requests} if requests else _ONE_POD


def _rejection(failure: PodFailure) -> Rejected:
    return Rejected(reason=failure.reason, message=failure.message)
