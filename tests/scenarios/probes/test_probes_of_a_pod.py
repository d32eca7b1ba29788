"""Probes of a pod are carried out, and what they say is told (rules B1 to B9)."""

from actors.probes.watching import PROBE_KEEPER, ProberSays
from messages.probing import ProbeResult, ProbesSay
from tests.support.probes.keeper_stage import (
    LIVENESS,
    READINESS,
    STARTUP,
    ProbesStage,
    key_of,
    probed_pod,
    verdict,
)

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE


def test_each_probe_of_a_container_that_runs_has_a_prober(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS)
    probes.wants(web, running=None)
    assert probes.probers() == []
    probes.wants(web)
    assert probes.probers() == [
        "probers/uid-default-web/main/liveness",
        "probers/uid-default-web/main/readiness",
    ]
    assert sorted(probes.ran()) == ["run liveness of c1", "run readiness of c1"]


def test_a_new_container_is_alive_and_not_ready_until_its_probe_passes(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS)
    probes.wants(web)
    assert probes.said() == verdict(ready=False)
    probes.answers(web, READINESS, SUCCESS)
    assert probes.said() == verdict()
    probes.answers(web, READINESS, FAILURE)
    assert probes.said() == verdict(ready=False)


def test_a_failure_below_the_threshold_changes_nothing(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    assert probes.said() == verdict()
    probes.answers(web, READINESS, FAILURE, counts=SUCCESS)
    assert probes.said() is None


def test_a_startup_probe_holds_up_the_others(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS, STARTUP)
    probes.wants(web)
    assert probes.ran() == ["run startup of c1"]
    assert probes.said() == verdict(started=False, ready=False)
    probes.answers(web, STARTUP, SUCCESS)
    assert probes.said() == verdict(ready=False)
    assert sorted(probes.ran()) == ["run liveness of c1", "run readiness of c1"]


def test_a_startup_probe_that_fails_ends_the_container_and_never_begins_the_others(
    probes: ProbesStage,
) -> None:
    web = probed_pod(LIVENESS, STARTUP)
    probes.wants(web)
    probes.answers(web, STARTUP, FAILURE)
    assert probes.said() == verdict(alive=False, started=False, ready=False)
    assert probes.ran() == ["run startup of c1"]


def test_another_instance_begins_anew_and_what_is_said_of_the_old_one_is_dropped(
    probes: ProbesStage,
) -> None:
    web = probed_pod(LIVENESS, READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.answers(web, LIVENESS, FAILURE)
    assert probes.said() == verdict(alive=False)
    probes.wants(web, running=None)
    assert probes.said() is None
    probes.wants(web, running="c2")
    assert probes.said() == verdict("c2", ready=False)
    late = ProberSays(key=key_of(web, LIVENESS), container_id="c1", result=FAILURE)
    probes.play.tell(PROBE_KEEPER, late)
    assert probes.said() is None
    assert probes.described()[0].verdicts == {"main": verdict("c2", ready=False)}


def test_another_address_is_probed_and_what_counts_stays(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.said()
    probes.wants(web, ip="10.0.0.2")
    assert [wish.target.ip for wish in probes.runner.wishes.values()] == ["10.0.0.2"]
    assert probes.said() == verdict()


def test_of_a_pod_that_is_being_stopped_readiness_alone_goes_on(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.ran()
    probes.wants(web, is_ending=True)
    assert probes.ran() == ["rest liveness"]
    probes.answers(web, READINESS, FAILURE)
    assert probes.said() == verdict(ready=False)
    probes.wants(web, running=None, is_ending=True)
    assert probes.ran() == ["rest readiness"]
    probes.releases(web)
    assert probes.probers() == []


def test_what_repeats_is_answered_and_changes_nothing(probes: ProbesStage) -> None:
    web = probed_pod(READINESS)
    probes.wants(web)
    probes.answers(web, READINESS, SUCCESS)
    probes.worker.drain()
    probes.wants(web)
    probes.worker.expect(ProbesSay(uid=web.uid, verdicts={"main": verdict()}))
    probes.releases(web)
    probes.releases(web)
    assert probes.described() == ()


def test_probes_of_sidecars_are_carried_out_too(probes: ProbesStage) -> None:
    page = {"httpGet": {"port": 80}}
    sidecar = {"name": "main", "restartPolicy": "Always", "startupProbe": page}
    web = probed_pod()
    web = web.of({**web.document, "spec": {"initContainers": [sidecar], "containers": []}})
    probes.wants(web)
    assert probes.said() == verdict(started=False, ready=False)
    probes.answers(web, STARTUP, SUCCESS)
    assert probes.said() == verdict()


def test_people_read_why_a_probe_is_not_carried_out(probes: ProbesStage) -> None:
    web = probed_pod(LIVENESS, READINESS, STARTUP)
    probes.wants(web)
    (pod,) = probes.described()
    assert {each.key.kind: each.waits_for for each in pod.probes} == {
        LIVENESS: "the startup probe has not passed yet",
        READINESS: "the startup probe has not passed yet",
        STARTUP: "",
    }
    probes.answers(web, STARTUP, SUCCESS)
    (pod,) = probes.described()
    assert {each.key.kind: each.waits_for for each in pod.probes} == {
        LIVENESS: "",
        READINESS: "",
        STARTUP: "it is decided for this instance",
    }
    probes.wants(web, is_ending=True)
    (pod,) = probes.described()
    assert {each.key.kind: each.waits_for for each in pod.probes} == {
        LIVENESS: "the pod is being stopped",
        READINESS: "",
        STARTUP: "the pod is being stopped",
    }
