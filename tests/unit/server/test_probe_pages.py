"""Probes, as people and scrapers read them."""

from __future__ import annotations

import json
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from messages.pod_runtime import ProbeVerdict
from messages.pods import PodPhase
from messages.probing import (
    AnswersCounted,
    AnswersDescribed,
    AttemptsBegun,
    CommandsWaiting,
    ProbeAnswer,
    ProbedPod,
    ProbeKey,
    ProbeKind,
    ProbeOutcome,
    ProbeResult,
    ProbesDescribed,
    ProbeStage,
)
from messages.statuses import PodCondition, PodStatus
from messages.units import Seconds, Timestamp
from server.probe_pages import PIECE, ProbeState, probe_exposition, probez
from tests.support.builders import make_pod

WEB: Final = make_pod("web", uid="u1")
READINESS: Final = ProbeKey(WEB.uid, "main", ProbeKind.READINESS)
LIVENESS: Final = ProbeKey(WEB.uid, "main", ProbeKind.LIVENESS)
FAILED: Final = ProbeAnswer(
    key=READINESS,
    container_id="c1",
    result=ProbeResult.FAILURE,
    in_a_row=4,
    is_held=False,
    last=ProbeOutcome(ProbeResult.FAILURE, "HTTP probe failed with statuscode: 503"),
    at=Timestamp(1_000.0),
    took=Seconds(0.25),
    successes=7,
    failures=4,
    unknowns=0,
)
STATE: Final = ProbeState(
    probes=ProbesDescribed(
        pods=(
            ProbedPod(
                WEB,
                {"main": ProbeVerdict(is_ready=False, container_id="c1")},
                (
                    ProbeStage(READINESS, "c1", ProbeResult.FAILURE, ""),
                    ProbeStage(LIVENESS, "c1", ProbeResult.SUCCESS, ""),
                ),
            ),
        )
    ),
    answers=AnswersDescribed(
        answers={READINESS: AnswersCounted(FAILED, (3, 8, 0), 2.5)},
        bounds=(0.1, 1.0),
        commands=CommandsWaiting(running=2, waiting=5, longest=Seconds(1.5), ended=9),
        begun=AttemptsBegun(
            begun=90,
            seconds=1.25,
            longest=0.5,
            late=3,
            skipped=2,
            stalls=1,
            told_again=4,
            late_notes=5,
        ),
    ),
    statuses={
        WEB.uid: PodStatus(
            phase=PodPhase.RUNNING,
            conditions=(
                PodCondition(
                    type="Ready",
                    status="False",
                    since=Timestamp(0.0),
                    reason="ContainersNotReady",
                    message="containers with unready status: [main]",
                ),
            ),
            observed=None,
        )
    },
)


def page(state: ProbeState) -> Any:
    return json.loads("".join(probez(state)))


def test_each_probe_is_shown_with_its_last_answer_and_why_its_pod_is_not_ready() -> None:
    (pod,) = page(STATE)["pods"]
    probes = pod.pop("probes")
    assert pod == {
        "namespace": "default",
        "name": "web",
        "uid": "u1",
        "ready": False,
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [main]",
    }
    assert probes[0] == {
        "container": "main",
        "probe": "readiness",
        "containerID": "c1",
        "result": "failure",
        "waitsFor": "",
        "inARow": 4,
        "lastAnswer": {
            "result": "failure",
            "text": "HTTP probe failed with statuscode: 503",
            "at": "1970-01-01T00:16:40Z",
            "tookSeconds": 0.25,
            "containerID": "c1",
        },
        "successes": 7,
        "failures": 4,
        "unknowns": 0,
    }
    assert (probes[1]["result"], probes[1]["lastAnswer"], probes[1]["inARow"]) == (
        "success",
        None,
        0,
    )


def test_the_page_says_how_commands_of_probes_get_on() -> None:
    assert page(STATE)["commands"] == {
        "running": 2,
        "waiting": 5,
        "longestWaitSeconds": 1.5,
        "ended": 9,
    }
    assert page(ProbeState()) == {"pods": [], "commands": None, "attempts": None}


def test_the_page_says_how_late_attempts_began_and_what_was_left_out() -> None:
    assert page(STATE)["attempts"] == {
        "begun": 90,
        "late": 3,
        "lateSeconds": 1.25,
        "longestLateSeconds": 0.5,
        "skipped": 2,
        "stalls": 1,
        "commandsToldAgain": 4,
        "unawaitedAnswers": 5,
    }


def test_an_answer_about_another_instance_is_shown_as_such() -> None:
    assert STATE.probes is not None
    stage = ProbeStage(READINESS, "c2", ProbeResult.FAILURE, "")
    pods = (STATE.probes.pods[0]._replace(probes=(stage,)),)
    state = STATE._replace(probes=ProbesDescribed(pods=pods), statuses=None)
    (pod,) = page(state)["pods"]
    assert (pod["ready"], pod["probes"][0]["inARow"]) == (None, 0)
    assert pod["probes"][0]["lastAnswer"]["containerID"] == "c1"


def test_thousands_of_pods_are_written_in_pieces() -> None:
    pods = tuple(ProbedPod(make_pod(f"web-{number:03}"), {}, ()) for number in range(2 * PIECE + 1))
    state = ProbeState(probes=ProbesDescribed(pods=pods))
    assert len(list(probez(state))) == 5
    assert [each["name"] for each in page(state)["pods"]] == [each.pod.name for each in pods]


def test_metrics_have_a_kubelets_names() -> None:
    text = probe_exposition(STATE).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    pod = {"probe_type": "Readiness", "container": "main", "pod": "web", "namespace": "default"}
    total = families["prober_probe"].samples
    assert {sample.labels.pop("result"): sample.value for sample in total} == {
        "successful": 7.0,
        "failed": 4.0,
    }
    assert [sample.labels for sample in total] == [{**pod, "pod_uid": "u1"}] * 2
    times = families["prober_probe_duration_seconds"].samples
    assert {sample.labels.pop("le", sample.name[-5:]): sample.value for sample in times} == {
        "0.1": 3.0,
        "1": 11.0,
        "+Inf": 11.0,
        "count": 11.0,
        "s_sum": 2.5,
    }
    assert all(sample.labels == pod for sample in times)


def test_metrics_say_how_late_attempts_and_commands_are() -> None:
    text = probe_exposition(STATE).decode()
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("actorlet_probe_")
    }
    assert values == {
        ("actorlet_probe_attempts_total",): 90.0,
        ("actorlet_probe_attempts_late_total",): 3.0,
        ("actorlet_probe_lateness_seconds_total",): 1.25,
        ("actorlet_probe_attempts_skipped_total",): 2.0,
        ("actorlet_probe_stalls_total",): 1.0,
        ("actorlet_probe_commands_told_again_total",): 4.0,
        ("actorlet_probe_unawaited_answers_total",): 5.0,
        ("actorlet_probe_longest_lateness_seconds",): 0.5,
        ("actorlet_probe_commands", "running"): 2.0,
        ("actorlet_probe_commands", "waiting"): 5.0,
        ("actorlet_probe_command_longest_wait_seconds",): 1.5,
    }


def test_nobody_who_answers_means_no_series() -> None:
    assert probe_exposition(ProbeState()) == b""
