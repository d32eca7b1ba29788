"""Reports of somebody's class: what is sound, and what of it is followed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorlet import ContainerReport, NodeReport, PodReport
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import ContainerState, RuntimeNode
from messages.pods import TERMINAL_PHASES, PodPhase
from messages.units import Timestamp
from runtimes.provider.following import FollowedPod, ended_unseen, followed, phase_of_report
from runtimes.provider.reports import (
    HIDDEN,
    UNTOLD,
    Nonsense,
    cut,
    sound_node,
    sound_report,
    sound_reports,
    without_values,
)
from tests.support.builders import make_pod

NOW = Timestamp(1000.0)
POD = make_pod(
    spec={
        "initContainers": [
            {"name": "setup", "image": "i"},
            {"name": "proxy", "image": "i", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "main", "image": "registry.example/web:1"}],
    }
)


def one(**fields: Any) -> PodReport:
    """Return a report with one container."""
    return PodReport(containers={"main": ContainerReport(**fields)})


def seen(report: PodReport, before: FollowedPod | None = None, at: float = NOW) -> FollowedPod:
    """Return what is followed of a sound report."""
    result = followed(POD, report, before, Timestamp(at))
    assert result.complaints == ()
    return result.pod


# --- what is sound -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (one(state="resting"), "container main: 'resting' is no state of a container"),
        (one(ready="yes"), "container main: ready is a str, not a bool"),
        (one(restarts=True), "container main: True is no number of restarts"),
        (one(exit_code="1"), "container main: '1' is no exit code"),
        (one(exit_code=-(2**31) - 1), "container main: -2147483649 is no exit code"),
        (one(message=None), "container main: message is a NoneType, not a str"),
        (one(started_at="now"), "container main: started_at is not in seconds since 1970"),
        (one(finished_at=math.inf), "container main: finished_at is not in seconds since 1970"),
        (one(started_at=-1.0), "container main: started_at is not in seconds since 1970"),
        (one(started_at=True), "container main: started_at is not in seconds since 1970"),
        (
            PodReport(containers={"main": "Running"}),  # type: ignore[dict-item]
            "the report of container 'main' is a str",
        ),
        (
            PodReport(containers={3: ContainerReport()}),  # type: ignore[dict-item]
            "the report of container 3 is a ContainerReport",
        ),
        (PodReport(source=None), "source is a NoneType, not a str"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_named(report: PodReport, sentence: str) -> None:
    assert sound_report(report) == Nonsense(sentence)


def test_long_texts_are_cut() -> None:
    report = sound_report(
        PodReport(message="m" * 9000, containers={"main": ContainerReport(reason="r" * 9000)})
    )
    assert isinstance(report, PodReport)
    assert len(report.message) == 4096
    assert len(report.containers["main"].reason) == 128


def test_a_report_is_a_copy_that_its_maker_cannot_change() -> None:
    containers = {"main": ContainerReport()}
    readings = sound_reports({"a": PodReport(containers=containers)})
    assert isinstance(readings, dict)
    containers["main"] = ContainerReport(exit_code=1)
    assert list(readings.values()) == [PodReport(containers={"main": ContainerReport()})]


# --- phases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "phase"),
    [
        (PodReport(), PodPhase.RUNNING),
        (PodReport("Pending", containers={"main": ContainerReport()}), PodPhase.PENDING),
        (one(state="waiting"), PodPhase.PENDING),
        (one(state="waiting", restarts=1), PodPhase.RUNNING),
        (one(exit_code=0), PodPhase.SUCCEEDED),
        (one(exit_code=1), PodPhase.FAILED),
        (one(state="terminated"), PodPhase.SUCCEEDED),
        (
            PodReport(containers={"a": ContainerReport(exit_code=0), "b": ContainerReport()}),
            PodPhase.RUNNING,
        ),
        (
            PodReport(
                containers={
                    "a": ContainerReport(exit_code=0),
                    "b": ContainerReport(state="waiting"),
                }
            ),
            PodPhase.RUNNING,
        ),
    ],
)
def test_a_phase_that_is_not_told_follows_from_the_containers(
    report: PodReport, phase: PodPhase
) -> None:
    assert phase_of_report(report) is phase


# --- what is followed --------------------------------------------------------------------------------


def states(pod: FollowedPod) -> dict[str, tuple[ContainerState, int | None] | None]:
    return {
        name: (each.current.state, each.current.exit_code) if each.current else None
        for name, each in pod.containers.items()
    }


RUNNING, EXITED = ContainerState.RUNNING, ContainerState.EXITED


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("Pending", {"setup": None, "proxy": None, "main": None}),
        ("Running", {"setup": (EXITED, 0), "proxy": (RUNNING, None), "main": (RUNNING, None)}),
        ("Succeeded", {"setup": (EXITED, 0), "proxy": (EXITED, 0), "main": (EXITED, 0)}),
        ("Failed", {"setup": (EXITED, 0), "proxy": (EXITED, 1), "main": (EXITED, 1)}),
    ],
)
def test_containers_that_are_not_told_are_as_the_phase_says(
    phase: str, expected: dict[str, Any]
) -> None:
    assert states(seen(PodReport(phase))) == expected


def test_times_are_those_told_else_those_of_the_first_sight() -> None:
    first = seen(one())
    again = seen(one(ready=False), first, at=1005.0)
    main = again.containers["main"].current
    assert main is not None
    assert (main.started_at, main.is_ready, again.since) == (NOW, False, NOW)
    ended = seen(one(exit_code=0, finished_at=1007.5), again, at=1010.0)
    main = ended.containers["main"].current
    assert main is not None
    assert (main.started_at, main.finished_at) == (NOW, 1007.5)
    told = seen(one(started_at=990)).containers["main"].current
    assert told is not None
    assert told.started_at == 990.0


def test_a_restart_keeps_the_instance_before_as_the_last_one() -> None:
    first = seen(one())
    failed = seen(one(state="waiting", exit_code=3, reason="CrashLoopBackOff"), first)
    main = failed.containers["main"]
    assert main.current is not None
    assert main.wait is not None
    assert (main.current.exit_code, main.wait.reason) == (3, "CrashLoopBackOff")
    again = seen(one(restarts=1), failed).containers["main"]
    assert again.current is not None
    assert again.last is not None
    assert (again.current.attempt, again.wait, again.last.exit_code) == (1, None, 3)
    assert again.current.id != again.last.id


def test_an_instance_whose_end_was_not_seen_has_ended_unknown() -> None:
    waiting = seen(one(state="waiting"), seen(PodReport("Running", containers=one().containers)))
    main = waiting.containers["main"].current
    assert main is not None
    assert (main.exit_code, main.reason) == (137, "ContainerStatusUnknown")
    lost = ended_unseen(seen(PodReport("Pending")), NOW, PodPhase.FAILED)
    assert states(lost) == {"setup": None, "proxy": None, "main": None}


def test_reason_and_message_are_a_trouble_and_of_a_failed_pod_for_good() -> None:
    queued = seen(PodReport("Pending", reason="Queued", message="17 before it")).trouble
    assert queued is not None
    assert (queued.reason, queued.is_for_good) == ("Queued", False)
    failed = seen(PodReport("Failed", message="the machine is gone")).trouble
    assert failed is not None
    assert (failed.reason, failed.is_for_good) == ("ProviderSays", True)


REPORTS = st.builds(
    PodReport,
    st.sampled_from(["", "Pending", "Running", "Succeeded", "Failed"]),
    containers=st.dictionaries(
        st.sampled_from(["main", "setup", "proxy", "other"]),
        st.builds(
            ContainerReport,
            state=st.sampled_from(["", "waiting", "running", "terminated"]),
            exit_code=st.none() | st.integers(0, 2),
            restarts=st.integers(0, 2),
        ),
    ),
)


@given(st.lists(REPORTS, max_size=6))
def test_whatever_is_told_nothing_that_is_followed_goes_back(reports: list[PodReport]) -> None:
    before: FollowedPod | None = None
    order = list(PodPhase)
    for number, report in enumerate(reports):
        after = followed(POD, report, before, Timestamp(NOW + number)).pod
        if before is not None:
            assert order.index(after.phase) >= order.index(before.phase)
            assert before.phase not in TERMINAL_PHASES or after.phase is before.phase
            assert after.since == before.since
            for name, history in before.containers.items():
                then, now = history.current, after.containers[name].current
                assert then is None or now is not None
                if then is not None and now is not None:
                    assert now.attempt >= then.attempt
                    is_same = now.id == then.id
                    assert not (is_same and then.state is EXITED and now.state is RUNNING)
        before = after


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    )
)
def test_no_answer_is_too_strange(answer: object) -> None:
    readings = sound_reports(answer)
    each = readings.values() if isinstance(readings, dict) else [readings]
    assert all(isinstance(found, PodReport | Nonsense) for found in each)
    assert isinstance(sound_node(answer), Nonsense)


# --- the Node ----------------------------------------------------------------------------------------


def test_a_sound_node_is_passed_on() -> None:
    node = NodeReport(
        capacity={"cpu": "64", "example.com/gpu": "2"},
        labels={"zone": "b"},
        taints=[{"key": "gpu", "value": "", "effect": "NoExecute"}],
        addresses=["10.0.0.1", "2001:db8::1"],
        conditions={"Ready": "the service does not answer"},
    )
    assert sound_node(node) == RuntimeNode(
        capacity={"cpu": "64", "example.com/gpu": "2"},
        labels={"zone": "b"},
        taints=({"key": "gpu", "effect": "NoExecute"},),
        has_own_machines=True,
        addresses=("10.0.0.1", "2001:db8::1"),
        troubles={"Ready": "the service does not answer"},
    )


def test_a_node_of_which_nothing_is_said_has_a_taint_and_one_of_which_none_is_said_has_none() -> (
    None
):
    assert sound_node(NodeReport()) == UNTOLD
    assert UNTOLD.taints == ({"key": "actorlet/virtual", "effect": "NoSchedule"},)
    none = sound_node(NodeReport(taints=[]))
    assert isinstance(none, RuntimeNode)
    assert none.taints == ()


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ({}, "node returned a dict, not a NodeReport"),
        (NodeReport(taints="gpu:NoSchedule"), "node: taints is not a sequence of mappings"),  # type: ignore[arg-type]
        (NodeReport(taints=["gpu"]), "node: taints is not a sequence of mappings of str to str"),  # type: ignore[list-item]
        (
            NodeReport(taints=[{"key": "gpu"}]),
            "node: {'key': 'gpu'} is no taint: it has key, effect and perhaps value",
        ),
        (
            NodeReport(taints=[{"key": "a b", "effect": "NoSchedule"}]),
            "node: has the taint 'a b', whose key or value",
        ),
        (
            NodeReport(taints=[{"key": "gpu", "effect": "Never"}]),
            "node: has the taint 'gpu' with the effect 'Never', which should be",
        ),
        (NodeReport(capacity=[]), "node: capacity is not a mapping of str to str"),  # type: ignore[arg-type]
        (NodeReport(labels={"a": 1}), "node: labels is not a mapping of str to str"),  # type: ignore[dict-item]
        (NodeReport(capacity={"cpu": "-1"}), "node: cpu: -1 is no resource with its quantity"),
        (NodeReport(capacity={"a b": "1"}), "node: a b: 1 is no resource with its quantity"),
        (NodeReport(labels={"a b": "1"}), "node: a b=1 is no label"),
        (NodeReport(addresses="10.0.0.1"), "node: addresses is not a sequence of str"),
        (NodeReport(addresses=["home"]), "node: 'home' is no IP address"),
        (NodeReport(conditions={"Tired": "yes"}), "node: Tired is no condition of the Node"),
    ],
)
def test_what_is_wrong_with_a_node_is_named(node: object, sentence: str) -> None:
    found = sound_node(node)
    assert isinstance(found, Nonsense)
    assert found.sentence.startswith(sentence)


# --- texts --------------------------------------------------------------------------------------------


def objects_with(kind: ObjectKind, **data: bytes) -> dict[ObjectId, ObjectValue]:
    of = ObjectId(kind=kind, namespace="default", name="db")
    return {of: ObjectValue(uid="1", resource_version="1", data=data)}


def test_a_long_text_is_cut_between_characters() -> None:
    assert cut("short", 5) == "short"
    assert cut("häßlich", 8) == "häß..."
    assert len(cut("ß" * 100, 50).encode()) <= 50


def test_what_is_no_unicode_is_replaced() -> None:
    assert cut("a\udcff", 10) == "a?"


def test_each_form_of_a_value_is_hidden() -> None:
    secrets = objects_with(
        ObjectKind.SECRET, key=b"first line\n  second 'line'\n", empty=b"", one=b"x"
    )
    for text in ("first line", "second 'line'", "Zmlyc3QgbGluZQogIHNlY29uZCAnbGluZScK"):
        assert without_values(f"<{text}> x", secrets) == f"<{HIDDEN}> x"


def test_the_longest_value_is_hidden_first() -> None:
    secrets = objects_with(ObjectKind.SECRET, a=b"abc", b=b"abcdef")
    assert without_values("abcdef", secrets) == HIDDEN


def test_values_of_config_maps_are_no_secret() -> None:
    assert without_values("debug", objects_with(ObjectKind.CONFIG_MAP, level=b"debug")) == "debug"
