"""People hear of answers that are not as they should be, in a kubelet's words."""

from messages.events import EventType
from messages.probes import ProbeResult
from tests.support.probes.keeper_stage import LIVENESS, READINESS, ProbesStage, probed_pod

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE


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
