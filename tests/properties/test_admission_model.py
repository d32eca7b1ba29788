"""The sums of admission against sums made anew, over any history of taking and releasing pods."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.pods.admission import Admission, Admitted, Preempt, Rejected
from actors.pods.node_fit import NodeView
from manifests.qos import is_critical
from manifests.requests import pod_requests
from messages.pods import Pod, PodUid
from tests.support.builders import make_pod, uid_of

CAPACITY = {"cpu": 1000, "memory": 100, "pods": 4}
NAMES = st.sampled_from("abcdef")


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    amounts = {"cpu": f"{draw(st.integers(0, 6)) * 100}m", "memory": str(draw(st.integers(0, 60)))}
    port = draw(st.sampled_from((None, 80, 81)))
    address = draw(st.sampled_from(("", "10.0.0.1", "10.0.0.2")))
    ports = [] if port is None else [{"hostPort": port, "hostIP": address}]
    priority = draw(st.sampled_from((None, 0, 5, 2_000_000_000)))
    spec = {"containers": [{"resources": {"requests": amounts}, "ports": ports}]}
    source = draw(st.sampled_from(("api", "file")))
    ranked = spec if priority is None else {**spec, "priority": priority}
    return make_pod(draw(NAMES), source=source, spec=ranked)


def ports_of(pod: Pod) -> list[tuple[int, str]]:
    (container,) = pod.document["spec"]["containers"]
    return [(each["hostPort"], each["hostIP"] or "0.0.0.0") for each in container["ports"]]


def collide(one: Pod, other: Pod) -> bool:
    return any(
        port == another and (ip == address or "0.0.0.0" in {ip, address})
        for port, ip in ports_of(one)
        for another, address in ports_of(other)
    )


class AdmissionModel(RuleBasedStateMachine):
    """A node that keeps to the verdicts, beside a plain list of its pods."""

    def __init__(self) -> None:
        super().__init__()
        self.admission = Admission(NodeView(name="edge-1", allocatable=CAPACITY))
        self.pods: dict[PodUid, Pod] = {}
        self.leaving: set[PodUid] = set()

    def sums(self, *, without: PodUid | None = None) -> Counter[str]:
        total: Counter[str] = Counter()
        for uid, pod in self.pods.items():
            if uid not in self.leaving | {without}:
                total.update({"pods": 1, **pod_requests(pod.document["spec"])})
        return total

    @rule(pod=pods())
    def a_pod_comes(self, pod: Pod) -> None:
        verdict = self.admission.admit(pod)
        wanted = {"pods": 1, **pod_requests(pod.document["spec"])}
        used = self.sums(without=pod.uid)
        fits = all(used[name] + wanted.get(name, 0) <= CAPACITY[name] for name in wanted)
        free = not any(collide(pod, each) for uid, each in self.pods.items() if uid != pod.uid)
        match verdict:
            case Admitted():
                assert fits
                assert free
            case Rejected(reason=reason):
                assert not (fits and free)
                assert reason.startswith("OutOf") or (free is False and reason == "NodePorts")
            case Preempt(victims=victims):
                assert not fits
                assert free
                self.make_room(pod, victims)
        if not isinstance(verdict, Rejected):
            self.admission.take(pod)
            self.pods[pod.uid] = pod
            self.leaving.discard(pod.uid)

    def make_room(self, pod: Pod, victims: tuple[PodUid, ...]) -> None:
        assert len(set(victims)) == len(victims)
        assert pod.uid not in victims
        assert not self.leaving & set(victims)
        for uid in victims:
            victim = self.pods[uid].document["spec"].get("priority")
            higher = victim is not None and pod.document["spec"].get("priority", -1) > victim
            assert higher or (is_critical(pod) and not is_critical(self.pods[uid]))
            self.admission.vacate(uid)
        self.leaving.update(victims)

    @rule(name=NAMES)
    def a_pod_goes(self, name: str) -> None:
        self.admission.release(uid_of(name))
        self.pods.pop(uid_of(name), None)
        self.leaving.discard(uid_of(name))

    @invariant()
    def sums_never_drift(self) -> None:
        assert self.admission.used == {
            name: amount for name, amount in self.sums().items() if amount
        }

    @invariant()
    def nothing_is_promised_twice(self) -> None:
        assert all(amount <= CAPACITY[name] for name, amount in self.sums().items())


TestAdmissionModel = AdmissionModel.TestCase
