"""Classes that raise, hang, and tell nonsense: an event, a line of the log, and another try."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from actorlet import ContainerReport, NodeReport, PodReport
from messages.pod_runtime import ProbeVerdict, RunPod
from messages.pods import Pod, PodPhase, PodUid
from runtimes.provider.memory import ProviderRules
from tests.support.builders import edited, make_pod
from tests.support.provider.provider_stage import ProviderStage, provider_stage
from tests.support.provider.providers import AbleProvider

WEB, SHOP = make_pod("web"), make_pod("shop")
STRANGER = PodUid("nobody-knows")


@pytest.fixture
def stage() -> Iterator[ProviderStage]:
    with provider_stage() as stage:
        yield stage


def warnings(logs: list[MutableMapping[str, Any]]) -> list[str]:
    """Return the reasons of the warnings that were logged."""
    found = [line for line in logs if line["log_level"] == "warning"]
    return [str(line.get("error") or line.get("reason")) for line in found]


# --- it raises -------------------------------------------------------------------------------------


def test_a_run_that_raises_is_an_event_and_a_trouble_and_is_repeated_later_and_later(
    stage: ProviderStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.provider.fail("run", *(RuntimeError(f"no {number}") for number in range(3)))
    stage.runs(WEB)
    told = stage.last()
    assert [trouble.reason for trouble in told.troubles] == ["FailedSync"]
    assert "run raised RuntimeError: no 0 (providers.py:" in told.troubles[0].message
    assert told.phase is PodPhase.PENDING
    asked = []
    for _ in range(8):
        asked.append(len(stage.provider.drain()))
        stage.advance(1.0)
    # At once, then after 1 s, 2 s and 4 s.
    assert asked == [1, 1, 0, 1, 0, 0, 0, 1]
    assert (stage.last().troubles, stage.last().phase) == ((), PodPhase.RUNNING)
    assert len([one for one in stage.warnings() if one.startswith("FailedSync: run raised")]) == 3
    assert len(warnings(logs)) == 3


def test_a_new_command_is_tried_at_once(stage: ProviderStage) -> None:
    stage.provider.fail("run", *(LookupError("Secret default/db is not there") for _ in range(9)))
    stage.runs(WEB)
    stage.advance(40.0)
    stage.provider.drain()
    stage.provider.raises.clear()
    stage.runs(WEB)
    assert stage.provider.drain() == ["run web"]


def test_a_pod_in_trouble_holds_up_nobody_else(stage: ProviderStage) -> None:
    stage.provider.fail("run", RuntimeError("no"))
    stage.runs(WEB)
    stage.runs(SHOP)
    assert stage.last().uid == SHOP.uid
    assert stage.provider.drain() == ["run web", "run shop"]


def test_values_of_secrets_are_cut_out_of_what_an_exception_says(
    stage: ProviderStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.provider.fail("run", RuntimeError("POST https://api?key=hunter2: refused, aHVudGVyMg=="))
    stage.runs(WEB, secrets={"db": {"password": b"hunter2\n"}})
    said = f"{stage.last()} {stage.warnings()} {logs}"
    assert "key=[hidden]: refused" in said
    assert "hunter2" not in said


def test_values_of_secrets_are_cut_out_of_messages_of_reports(stage: ProviderStage) -> None:
    stage.provider.on_run = lambda _pod: PodReport("Pending", message="login as hunter2 failed")
    stage.runs(WEB, secrets={"db": {"password": b"hunter2"}})
    assert [trouble.message for trouble in stage.last().troubles] == ["login as [hidden] failed"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_exception_that_would_end_a_process_is_one_like_any_other(
    stage: ProviderStage, error: BaseException
) -> None:
    stage.provider.fail("run", error)
    stage.runs(WEB)
    stage.advance(1.0)
    assert stage.provider.drain() == ["run web", "run web"]


def test_a_stop_that_raises_is_repeated_until_the_pod_is_gone(stage: ProviderStage) -> None:
    stage.provider.fail("stop", RuntimeError("no"), RuntimeError("no"))
    stage.runs(WEB)
    mark = stage.stops(WEB.uid, grace=10.0)
    assert stage.last().mark < mark
    stage.advance(3.1)
    assert stage.last().mark == mark
    assert [one.split(":")[0] for one in stage.provider.drain()] == [
        "run web",
        "stop web 10",
        "stop web 9",
        "stop web 7",
    ]
    assert sum(one.startswith("FailedKillPod") for one in stage.warnings()) == 2


def test_a_stop_that_raises_for_a_pod_that_never_began_is_no_obstacle(stage: ProviderStage) -> None:
    stage.provider.fail("run", RuntimeError("no"))
    stage.provider.fail("stop", KeyError(WEB.uid))
    stage.runs(WEB)
    mark = stage.stops(WEB.uid)
    assert stage.last().mark == mark


def test_an_observation_that_raises_changes_nothing_and_is_said_once(
    stage: ProviderStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.runs(WEB)
    stage.worker.drain()
    stage.provider.fail("observe", *(ConnectionError("down") for _ in range(2)))
    stage.advance(1.5)
    assert stage.described().trouble.startswith("observe raised ConnectionError: down")
    assert (stage.lists(), stage.worker.drain()) == (None, [])
    stage.advance(5.0)
    assert stage.described().trouble == ""
    assert stage.worker.drain() == []
    assert len(warnings(logs)) == 1


def test_pods_are_told_that_nothing_can_be_seen_when_that_lasts(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.worker.drain()
    stage.provider.fail("observe", *(ConnectionError("down") for _ in range(5)))
    stage.advance(20.0)
    told = stage.last()
    assert [trouble.reason for trouble in told.troubles] == ["RuntimeIsAway"]
    assert told.phase is PodPhase.RUNNING
    stage.advance(20.0)
    assert stage.last().troubles == ()


# --- it hangs --------------------------------------------------------------------------------------


def test_a_run_that_hangs_is_given_up_and_never_doubled(stage: ProviderStage) -> None:
    stage.calls.hold("run")
    stage.runs(WEB)
    stage.advance(31.0)
    assert stage.calls.given_up == ["run"]
    told = stage.last()
    assert [trouble.message for trouble in told.troubles] == ["run has not returned in time"]
    stage.advance(300.0)
    assert len(stage.calls.held) == 1
    stage.calls.let_go()
    stage.advance(1.0)
    assert stage.provider.drain() == ["run web"]
    assert (stage.last().phase, told.phase) == (PodPhase.RUNNING, PodPhase.PENDING)


def test_a_pod_whose_run_hangs_does_not_count_as_stopped(stage: ProviderStage) -> None:
    stage.calls.hold("run")
    stage.runs(WEB)
    mark = stage.stops(WEB.uid)
    stage.advance(100.0)
    assert stage.provider.drain() == ["stop web 1"]
    assert stage.last().mark < mark
    stage.calls.let_go()
    stage.advance(20.0)
    assert stage.provider.drain() == ["run web", "stop web 1"]
    assert stage.last().mark == mark


def test_a_stop_has_its_grace_in_addition_before_it_is_given_up(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.calls.hold("stop")
    stage.stops(WEB.uid, grace=60.0)
    stage.advance(89.0)
    assert stage.calls.given_up == []
    stage.advance(2.0)
    assert stage.calls.given_up == ["stop"]


def test_an_observation_that_hangs_is_followed_by_another_one_and_then_by_none(
    stage: ProviderStage,
) -> None:
    stage.calls.hold("observe")
    stage.advance(200.0)
    assert len(stage.calls.held) == 2
    assert stage.described().trouble == "observe has not returned in time"
    stage.calls.let_go()
    stage.advance(2.0)
    assert stage.described().trouble == ""


def test_when_many_calls_hang_no_other_is_made_and_that_is_said(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with provider_stage(rules=ProviderRules(at_a_time=4, most_hanging=3)) as stage:
        stage.calls.hold("run")
        for number in range(10):
            stage.runs(make_pod(f"web-{number}"))
        stage.advance(100.0)
        # Four at first, and one in place of each of the first two that were given up.
        assert len(stage.calls.held) == 6
        sentence = "too many calls hang, so no other is made"
        assert stage.described().trouble == sentence
        assert warnings(logs).count(sentence) == 1
        stage.calls.let_go()
        stage.advance(5.0)
        assert len(stage.provider.drain()) == 10
        assert stage.described().trouble == ""


# --- it tells nonsense -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        (None, "its report is a NoneType, not a PodReport"),
        (17, "its report is a int, not a PodReport"),
        ("Jogging", "'Jogging' is no phase that a node can tell"),
        ("Unknown", "'Unknown' is no phase that a node can tell"),
        (PodReport(5), "phase is a int, not a str"),  # type: ignore[arg-type]
        (PodReport(ip="here"), "'here' is no IP address"),
        (PodReport(containers=[]), "its containers are a list, not a mapping"),  # type: ignore[arg-type]
        (
            PodReport(containers={"main": ContainerReport(restarts=-1)}),
            "container main: -1 is no number of restarts",
        ),
        (
            PodReport(containers={"main": ContainerReport(restarts=2**31)}),
            "container main: 2147483648 is no number of restarts",
        ),
        (
            PodReport(containers={"main": ContainerReport(exit_code=2**31)}),
            "container main: 2147483648 is no exit code",
        ),
        (PodReport(containers={"other": ContainerReport()}), "the pod has no container 'other'"),
    ],
)
def test_a_report_that_cannot_be_understood_is_said_once_and_not_followed(
    stage: ProviderStage, report: object, complaint: str
) -> None:
    stage.runs(WEB)
    stage.events.drain()
    stage.reports(WEB, report)
    stage.advance(10.0)
    assert stage.warnings() == [f"WrongStatus: my_node:MyNode: {complaint}"]
    assert stage.memory.pods[WEB.uid].lives
    stage.runs(WEB)
    assert stage.last().phase is PodPhase.RUNNING
    assert stage.provider.drain() == ["run web"]


def test_nothing_is_told_of_what_ran_before_the_agent_until_a_report_is_understood(
    stage: ProviderStage,
) -> None:
    stage.reports(WEB, 17)
    stage.runs(WEB)
    stage.advance(30.0)
    assert stage.heard() == []
    stage.reports(WEB, "Running")
    assert [each.phase for each in stage.heard()] == [PodPhase.RUNNING]
    assert stage.provider.drain() == []


@pytest.mark.parametrize(("is_running", "told"), [(True, []), (False, [PodPhase.PENDING])])
def test_what_is_shown_as_running_is_not_pending_for_an_agent_that_begins(
    stage: ProviderStage, *, is_running: bool, told: list[PodPhase]
) -> None:
    stage.reports(WEB, "Pending")
    stage.runs(WEB, is_running=is_running)
    assert [each.phase for each in stage.heard()] == told
    stage.reports(WEB, "Running")
    assert stage.last().phase is PodPhase.RUNNING
    assert stage.provider.drain() == []


def test_what_was_never_understood_is_told_once_it_is_stopped(stage: ProviderStage) -> None:
    stage.provider.on_stop = lambda _pod: 17
    stage.reports(WEB, 17)
    stage.runs(WEB)
    mark = stage.stops(WEB.uid, grace=1.0)
    stage.advance(30.0)
    assert [each.mark for each in stage.heard()] == [mark]
    assert stage.provider.drain() == ["stop web 1"]


@pytest.mark.parametrize(
    ("first", "then", "complaint"),
    [
        ("Succeeded", "Running", "its phase cannot go from Succeeded to Running"),
        ("Failed", "Succeeded", "its phase cannot go from Failed to Succeeded"),
        ("Running", "Pending", "its phase cannot go from Running to Pending"),
        (
            PodReport("Running", containers={"main": ContainerReport(restarts=2)}),
            PodReport("Running", containers={"main": ContainerReport(restarts=1)}),
            "container main had 2 restarts and is told with 1",
        ),
        (
            PodReport("Running", containers={"main": ContainerReport(exit_code=1)}),
            PodReport("Running", containers={"main": ContainerReport()}),
            "container main has ended, and is told to run again without another restart",
        ),
    ],
)
def test_what_goes_back_is_said_once_and_not_followed(
    stage: ProviderStage, first: object, then: object, complaint: str
) -> None:
    stage.provider.on_run = lambda _pod: first
    stage.runs(WEB)
    before = stage.last()
    stage.events.drain()
    stage.reports(WEB, then)
    stage.advance(10.0)
    assert stage.warnings() == [f"WrongStatus: my_node:MyNode: {complaint}"]
    assert [each.containers for each in stage.worker.drain() if each != before] == []


@pytest.mark.parametrize("answer", [None, [], "Running", {3: "Running"}])
def test_an_observation_that_is_no_mapping_of_uids_is_a_trouble_of_the_runtime(
    stage: ProviderStage, answer: object
) -> None:
    stage.runs(WEB)
    stage.provider.answer = lambda: answer
    stage.advance(2.0)
    assert stage.described().trouble.startswith("observe returned a")
    assert stage.memory.pods[WEB.uid].lives


def test_a_pod_that_nobody_knows_is_said_once_and_ignored(
    stage: ProviderStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.provider.reports[STRANGER] = "Running"
    stage.advance(50.0)
    assert warnings(logs) == []  # a source may have yet to list it
    stage.advance(100.0)
    assert warnings(logs) == ["nobody knows this pod"]
    listed = stage.lists()
    assert listed is not None
    assert listed.pods == ()


# --- it loses pods, and cannot do all -----------------------------------------------------------------


def test_a_pod_that_is_missing_for_a_moment_is_left_alone(stage: ProviderStage) -> None:
    stage.runs(WEB)
    stage.worker.drain()
    report = stage.provider.reports.pop(WEB.uid)
    stage.advance(9.0)
    stage.reports(WEB, report)
    stage.advance(30.0)
    assert stage.provider.drain() == ["run web"]
    assert stage.worker.drain() == []


def test_a_pod_that_got_lost_is_run_again_with_another_restart(stage: ProviderStage) -> None:
    stage.runs(WEB)
    del stage.provider.reports[WEB.uid]
    stage.advance(12.0)
    assert stage.provider.drain() == ["run web", "run web"]
    told = stage.last()
    main = told.containers["main"]
    assert main.current is not None
    assert main.last is not None
    assert (main.current.attempt, main.last.reason) == (1, "ContainerStatusUnknown")


def test_a_pod_that_is_never_restarted_and_got_lost_has_failed(stage: ProviderStage) -> None:
    once = make_pod("once", spec={"restartPolicy": "Never"})
    stage.runs(once)
    del stage.provider.reports[once.uid]
    stage.advance(30.0)
    assert stage.provider.drain() == ["run once"]
    told = stage.last()
    assert told.phase is PodPhase.FAILED
    assert [(each.reason, each.is_for_good) for each in told.troubles] == [
        ("ContainerStatusUnknown", True)
    ]


def test_a_changed_specification_is_passed_on_or_said_to_be_ignored(stage: ProviderStage) -> None:
    changed = edited(
        WEB, spec={"containers": [{"name": "main", "image": "registry.example/web:2"}]}
    )
    stage.runs(WEB)
    stage.events.drain()
    stage.runs(changed)
    assert [trouble.reason for trouble in stage.last().troubles] == ["NotSupported"]
    assert len(stage.warnings()) == 1
    with provider_stage(AbleProvider()) as able:
        able.runs(WEB)
        able.runs(changed)
        able.runs(changed)
        assert able.provider.drain() == ["run web", "update web"]
        assert able.last().troubles == ()


def test_a_pod_that_runs_on_as_it_was_is_shown_with_the_image_that_it_runs(
    stage: ProviderStage,
) -> None:
    stage.runs(make_pod("web", image="registry.example/web:1"))
    edited_pod = make_pod("web", image="registry.example/web:2")
    stage.runs(edited_pod)
    stage.reports(edited_pod, PodReport("Running", ip="10.8.0.3"))
    current = stage.last().containers["main"].current
    assert current is not None
    assert current.image == "registry.example/web:1"


def test_a_pod_whose_run_failed_and_began_it_all_the_same_is_updated_when_it_changes() -> None:
    with provider_stage(AbleProvider()) as able:
        pod = make_pod("web", image="registry.example/web:1")
        able.provider.fail("run", OSError("reset"))
        able.runs(pod)
        able.reports(pod, "Running")
        able.runs(make_pod("web", image="registry.example/web:2"))
        assert able.provider.drain() == ["run web", "update web"]


def test_a_liveness_probe_that_failed_is_said_to_have_no_effect(stage: ProviderStage) -> None:
    verdicts = {"main": ProbeVerdict(is_alive=False)}
    stage.tell(RunPod(pod=WEB, mark=stage.mark(), reply_to=stage.worker, verdicts=verdicts))
    assert [trouble.reason for trouble in stage.last().troubles] == ["NotSupported"]


def with_volumes(*names: str) -> Pod:
    """Return a pod with these volumes, and the one that API servers add."""
    token = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    volumes: list[dict[str, object]] = [{"name": name, "emptyDir": {}} for name in names]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names]
    main = {"name": "main", "volumeMounts": [token, *mounts]}
    return make_pod("web", spec={"containers": [main], "volumes": [{"name": "token"}, *volumes]})


def test_a_pod_that_runs_without_its_volumes_says_so(stage: ProviderStage) -> None:
    stage.runs(with_volumes("data", "config"))
    sentence = "volumes are not made, the pod runs without them: data, config"
    assert [trouble.message for trouble in stage.last().troubles] == [sentence]
    assert f"NotSupported: {sentence}" in stage.warnings()


def test_nothing_is_said_of_volumes_that_the_class_makes_or_that_nobody_asked_for(
    stage: ProviderStage,
) -> None:
    stage.runs(with_volumes())
    assert stage.last().troubles == ()

    class Maker(AbleProvider):
        makes_volumes = True

    with provider_stage(Maker()) as maker:
        maker.runs(with_volumes("data"))
        assert maker.last().troubles == ()


# --- what it says of the Node ---------------------------------------------------------------------------


def test_what_it_says_of_the_node_is_checked_and_asked_for_again() -> None:
    provider = AbleProvider()
    with provider_stage(provider) as stage:
        node = stage.described().node
        assert node is not None
        assert node.capacity == {"cpu": "64"}
        provider.said_of_node = NodeReport(capacity={"cpu": "many"})
        stage.advance(11.0)
        assert stage.described().trouble == "node: cpu: many is no resource with its quantity"
        assert stage.described().node == node
        provider.said_of_node = NodeReport(labels={"zone": "b"})
        stage.advance(11.0)
        described = stage.described()
        assert described.node is not None
        assert (described.node.labels, described.trouble) == ({"zone": "b"}, "")
