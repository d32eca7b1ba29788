"""People hear of answers that are not as they should be, in a kubelet's words."""

from structlog.testing import capture_logs

from messages.events import EventType
from messages.probing import ProbeResult
from tests.support.probes.keeper_stage import LIVENESS, READINESS, ProbesStage, probed_pod

SUCCESS, FAILURE, UNKNOWN = ProbeResult.SUCCESS, ProbeResult.FAILURE, ProbeResult.UNKNOWN


def test_an_event_says_which_probe_failed_and_what_it_answered(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS)
    probes.wants(web)
    probes.answers(web, LIVENESS, FAILURE, SUCCESS, "HTTP probe failed with statuscode: 500")
    (event,) = probes.events.drain()
    assert (event.type, event.reason) == (EventType.WARNING, "Unhealthy")
    assert event.message == "Liveness probe failed: HTTP probe failed with statuscode: 500"
    assert event.regarding.field_path == "spec.containers{main}"
    assert (event.regarding.name, event.regarding.uid) == ("web", web.uid)


def test_a_warning_and_an_error_have_words_of_their_own_and_a_success_none(
    probes: ProbesStage,
) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS, text="fine")
    probes.answers(web, READINESS, ProbeResult.WARNING, SUCCESS, "a redirect to another host")
    probes.answers(web, READINESS, ProbeResult.UNKNOWN, SUCCESS, "no such command")
    assert [(event.reason, event.message) for event in probes.events.drain()] == [
        ("ProbeWarning", "Readiness probe warning: a redirect to another host"),
        ("Unhealthy", "Readiness probe errored: no such command"),
    ]


def test_the_log_says_once_that_a_probe_cannot_be_carried_out_and_once_that_it_counts_again(
    probes: ProbesStage,
) -> None:
    web = probed_pod(LIVENESS)
    probes.wants(web)
    with capture_logs() as lines:
        for text in ("no such command", "no such command", "no such file"):
            probes.answers(web, LIVENESS, UNKNOWN, SUCCESS, text)
        probes.prober_crashes(web, LIVENESS)
        probes.answers(web, LIVENESS, UNKNOWN, SUCCESS, "no such file")
        probes.answers(web, LIVENESS, FAILURE, SUCCESS, "no")
        probes.answers(web, LIVENESS, SUCCESS)
    said = [line for line in lines if "probe" in line and line["log_level"] != "debug"]
    about = {"pod": "default/web", "container": "main", "probe": "liveness"}
    assert said == [
        {
            "event": "a probe cannot be carried out, and counts neither way",
            "log_level": "warning",
            **about,
            "reason": "no such command",
        },
        {"event": "a probe counts again", "log_level": "info", **about},
    ]


def test_an_outage_of_the_runtime_is_no_line_for_each_probe(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS)
    probes.wants(web)
    with capture_logs() as lines:
        probes.answers(web, LIVENESS, UNKNOWN, SUCCESS, "connection refused", is_outage=True)
        probes.answers(web, LIVENESS, SUCCESS)
    assert not [line for line in lines if "probe" in line]


def test_what_is_said_again_is_no_event(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, FAILURE, text="no")
    probes.events.drain()
    probes.prober_crashes(web, READINESS)
    probes.runner_begins_anew()
    probes.wants(web)
    assert probes.events.drain() == []


def test_only_ten_kilobytes_of_an_answer_are_told(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, FAILURE, text="x" * 20_000)
    (event,) = probes.events.drain()
    assert len(event.message) == len("Readiness probe failed: ") + 10_240
