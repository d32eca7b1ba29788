"""What counts of a pod's probes outlives crashes, and a restart of the agent (rule Y13)."""

from messages.probing import ProbeResult, ProbesAgain
from tests.support.probes.keeper_stage import (
    LIVENESS,
    READINESS,
    STARTUP,
    ProbesStage,
    probed_pod,
    verdict,
)

SUCCESS, FAILURE, UNKNOWN = ProbeResult.SUCCESS, ProbeResult.FAILURE, ProbeResult.UNKNOWN


def test_what_was_ready_stays_ready_until_the_probe_says_otherwise(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web, known=verdict())
    assert probes.said() == verdict()
    probes.answers(web, READINESS, FAILURE, counts=SUCCESS)
    probes.play.advance(60.0)
    assert probes.said() is None
    probes.answers(web, READINESS, FAILURE)
    assert probes.said() == verdict(ready=False)


def test_what_was_ready_is_not_after_two_periods_without_an_answer(probes: ProbesStage) -> None:
    web = probed_pod(READINESS, probe={"httpGet": {"port": 80}, "periodSeconds": 5})
    probes.wants(web, known=verdict())
    probes.said()
    probes.answers(web, READINESS, UNKNOWN, counts=SUCCESS)
    probes.runner.counts.clear()  # to have tried is no answer
    probes.play.advance(9.5)
    assert probes.said() is None
    probes.play.advance(1.0)
    assert probes.said() == verdict(ready=False)
    probes.answers(web, READINESS, SUCCESS)
    assert probes.said() == verdict()


def test_a_startup_probe_that_passed_is_not_asked_again_for_the_same_instance(
    probes: ProbesStage,
) -> None:
    web = probed_pod(READINESS, STARTUP)
    probes.wants(web, known=verdict())
    assert probes.said() == verdict()
    assert {key.kind: wish.initial for key, wish in probes.runner.wishes.items()} == {
        STARTUP: SUCCESS,
        READINESS: SUCCESS,
    }
    probes.play.advance(60.0)
    assert probes.described()[0].verdicts["main"].is_started


def test_what_was_known_of_another_instance_counts_for_nothing(probes: ProbesStage) -> None:
    web = probed_pod(READINESS, STARTUP)
    probes.wants(web, running="c2", known=verdict("c1"))
    assert probes.said() == verdict("c2", started=False, ready=False)


def test_a_prober_that_crashes_loses_nothing_that_counts(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.answers(web, LIVENESS, FAILURE)
    probes.said()
    probes.prober_crashes(web, READINESS)
    probes.prober_crashes(web, LIVENESS)
    assert probes.said() is None
    assert probes.described()[0].verdicts == {"main": verdict(alive=False)}
    probes.answers(web, READINESS, FAILURE)
    assert probes.said() == verdict(alive=False, ready=False)


def test_a_keeper_that_crashes_loses_nothing_and_releases_pods_that_are_gone(
    probes: ProbesStage,
) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.worker.drain()
    probes.crashes("probe-keeper")
    probes.worker.expect(ProbesAgain())
    assert probes.described()[0].verdicts == {"main": verdict()}
    probes.wants(web)
    assert probes.said() == verdict()
    probes.play.advance(60.0)
    assert len(probes.described()) == 1
    probes.crashes("probe-keeper")
    probes.play.advance(60.0)
    assert probes.described() == ()
    assert probes.probers() == []


def test_what_is_known_of_probes_outlives_who_carries_them_out(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.said()
    probes.runner.wishes.clear()
    probes.runner.counts.clear()
    probes.runner_begins_anew()
    assert probes.said() is None
    assert [wish.initial for wish in probes.runner.wishes.values()] == [SUCCESS]
