"""How a runtime is, as the Node says it, and what is counted of it."""

from __future__ import annotations

import pytest

from files.cgroups.kernel_trees import V1Tree
from files.cgroups.limits import CgroupLimits
from files.cgroups.trees import TimedTree
from kernel import carried_out
from messages.units import Seconds, Timestamp
from runtimes.cri.configs.node import RuntimeFeatures
from runtimes.cri.figures import CallFigures, CallMade, CgroupFigures, PlegFigures
from runtimes.cri.health import node_of, pleg_trouble, trouble_of
from runtimes.cri.messages import CriMemory
from runtimes.cri.operations.looking import Greeting, greet
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.runtimes.cgroup_model import CgroupModel

NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:cni plugin not initialized"
)


def greeting(trouble: str = "", network_trouble: str = "") -> Greeting:
    return Greeting(
        name="containerd",
        version="1.6.20",
        trouble=trouble,
        network_trouble=network_trouble,
        features=RuntimeFeatures(),
    )


def memory(
    away: str, known: Greeting | None = None, pleg: str = "", *, is_down: bool = False
) -> CriMemory:
    return CriMemory(away=away, greeting=known, pleg_trouble=pleg, is_down=is_down)


# What the Node says.


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (CriMemory(), "container runtime status check may not have completed yet"),
        (memory("refused"), "container runtime is down: refused"),
        (memory("refused", greeting()), ""),
        (memory("refused", greeting(), is_down=True), "container runtime is down: refused"),
        (memory("", greeting()), ""),
        (memory("", greeting(network_trouble=NETWORK)), NETWORK),
        (memory("", greeting("not ready", NETWORK)), f"[not ready, {NETWORK}]"),
        (memory("hung", greeting(), "late"), "late"),
        (
            memory("hung", greeting(), "late", is_down=True),
            "[container runtime is down: hung, late]",
        ),
        (memory("", greeting(), "PLEG is not healthy: late"), "PLEG is not healthy: late"),
    ],
)
def test_the_node_is_not_ready_for_what_a_kubelet_says_in_its_place(
    known: CriMemory, expected: str
) -> None:
    assert trouble_of(known) == expected
    told = node_of(known)
    assert told.troubles == ({"Ready": expected} if expected else {})
    assert told.trouble_reason == "KubeletNotReady"


def test_the_node_has_the_version_of_the_runtime_as_soon_as_it_is_known() -> None:
    assert node_of(CriMemory()).version == ""
    assert node_of(memory("down", greeting())).version == "containerd://1.6.20"


def test_rule_g8_what_was_not_seen_for_three_minutes_is_not_healthy() -> None:
    assert pleg_trouble(Seconds(180.0), has_looked=True) == ""
    late = "PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s"
    assert pleg_trouble(Seconds(185.0), has_looked=True) == late
    never = "PLEG is not healthy: pleg has yet to be successful; threshold is 3m0s"
    assert pleg_trouble(Seconds(185.0), has_looked=False) == never


# What a runtime says of itself.


def greeted(*conditions: cri.RuntimeCondition) -> Greeting:
    """Return what is learnt from a runtime with these conditions."""
    version = cri.VersionResponse(runtime_name="containerd", runtime_api_version="v1")
    status = cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions))
    found = carried_out(greet(), lambda rpc: version if rpc.method.endswith("Version") else status)
    assert isinstance(found, Greeting)
    return found


def test_conditions_that_are_false_are_said_in_a_kubelets_words() -> None:
    ready = cri.RuntimeCondition(type="RuntimeReady", status=True)
    network = cri.RuntimeCondition(
        type="NetworkReady", reason="NetworkPluginNotReady", message="cni plugin not\ninitialized"
    )
    assert greeted(ready, network).network_trouble == NETWORK
    assert greeted(ready, network).trouble == ""


def test_conditions_that_are_missing_are_said() -> None:
    silent = greeted()
    assert silent.trouble == "container runtime did not report RuntimeReady"
    assert silent.network_trouble == "container runtime network did not report NetworkReady"


# What is counted.


def test_looks_are_counted_with_their_times_and_the_pauses_between_them() -> None:
    pleg = PlegFigures(since=Seconds(100.0))
    assert pleg.described(Seconds(104.0)).silence == 4.0
    assert pleg.described(Seconds(104.0)).last_seen is None
    pleg.note_look(Seconds(110.0), Seconds(110.02), Timestamp(1_000.02))
    pleg.note_look(Seconds(120.0), Seconds(120.03), Timestamp(1_010.03))
    told = pleg.described(Seconds(125.0))
    assert (told.silence, told.last_seen) == (5.0, 1_010.0)
    assert (sum(told.relists.buckets), round(told.relists.seconds, 6)) == (2, 0.05)
    assert (sum(told.intervals.buckets), told.intervals.seconds) == (1, 10.0)


def test_a_stream_that_stands_is_counted_once() -> None:
    pleg = PlegFigures()
    for number in (1, 1, 3, 3):
        pleg.note_stream(number)
    assert pleg.described(Seconds(0.0)).streams == 2


def test_events_are_counted_by_their_age_where_they_say_it() -> None:
    pleg = PlegFigures()
    pleg.note_event(0, Timestamp(50.0))
    pleg.note_event(49_500_000_000, Timestamp(50.0))
    pleg.note_event(51_000_000_000, Timestamp(50.0))  # clocks may differ
    told = pleg.described(Seconds(0.0)).latencies
    assert (sum(told.buckets), told.seconds) == (2, 0.5)


def test_calls_are_counted_by_a_kubelets_names() -> None:
    calls = CallFigures()
    for method, has_failed in (("RunPodSandbox", True), ("RunPodSandbox", False), ("Own", False)):
        made = CallMade(f"/runtime.v1.RuntimeService/{method}", Seconds(0.06), has_failed)
        calls.noted.append(made)
    (name,) = calls.described()
    counted = calls.described()[name]
    assert (name, counted.errors, sum(counted.times.buckets)) == ("run_podsandbox", 1, 2)
    assert counted.times.bounds[:3] == (0.005, 0.0125, 0.03125)
    assert counted.times.buckets[:5] == (0, 0, 0, 2, 0)


def test_work_on_cgroups_is_counted_by_a_kubelets_names_also_if_it_fails() -> None:
    figures, times = CgroupFigures(), iter((0.0, 0.2, 1.0, 1.002))
    model = CgroupModel()
    model.mount_v1("cpu")
    tree = TimedTree(V1Tree(model, model.mounts), figures.noted.append, lambda: next(times))
    tree.make(("kubepods",))
    model.read_only.add("/cg")
    with pytest.raises(OSError, match="/cg/cpu/kubepods"):
        tree.limit(("kubepods",), CgroupLimits(cpu_shares=2))
    described = figures.described()
    assert {name: sum(each.buckets) for name, each in described.items()} == {
        "create": 1,
        "update": 1,
    }
    assert described["create"].seconds == pytest.approx(0.2)
