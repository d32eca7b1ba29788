"""What the probes of a pod say is shown, obeyed and kept by its worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kernel import Runtime
from messages.objects import ObjectKind
from messages.pod_runtime import ProbeVerdict
from messages.pods import API, FILE, Pod
from messages.probing import WantProbes
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage
from tests.support.pod_lives.plain_probe_keeper import PlainProbeKeeper

PAGE = {"httpGet": {"port": 80}}


@pytest.fixture
def keeper() -> PlainProbeKeeper:
    return PlainProbeKeeper()


@pytest.fixture
def lives(runtime: Runtime, keeper: PlainProbeKeeper) -> Iterator[LivesStage]:
    with lives_stage(runtime, LivesWorld(probes=keeper)) as lives:
        yield lives


def probed(*kinds: str, **fields: Any) -> Pod:
    """Return a pod of the API server whose container has probes of these kinds."""
    container = {"name": "main", "image": "web:1", **{f"{kind}Probe": PAGE for kind in kinds}}
    return api_pod(spec={"containers": [container]}, **fields)


def ready(lives: LivesStage, pod: Pod) -> str:
    """Return the status of the pod's condition."""
    conditions = lives.status(pod).conditions
    return next(each.status for each in conditions if each.type == "Ready")


def instance(want: WantProbes) -> str:
    """Return the id of the instance that is to be probed."""
    return want.running["main"].id


def says(lives: LivesStage, keeper: PlainProbeKeeper, pod: Pod, **verdict: Any) -> None:
    """Have the probes say something of the instance that runs."""
    keeper.says(pod, ProbeVerdict(container_id=instance(keeper.wants[-1]), **verdict))
    lives.play.settle()


def test_a_pod_without_probes_asks_nobody(lives: LivesStage, keeper: PlainProbeKeeper) -> None:
    lives.lists(API, api_pod())
    lives.lists(API)
    assert (keeper.wants, keeper.released) == ([], [])


def test_a_pod_is_ready_when_its_probe_says_so(lives: LivesStage, keeper: PlainProbeKeeper) -> None:
    web = probed("readiness")
    lives.lists(API, web)
    (want,) = keeper.wants
    assert (want.pod.uid, want.ips, want.is_ending) == (web.uid, ("10.0.0.1",), False)
    assert ready(lives, web) == "False"
    lives.commanded()
    says(lives, keeper, web)
    assert ready(lives, web) == "True"
    says(lives, keeper, web, is_ready=False)
    assert ready(lives, web) == "False"
    assert lives.commanded() == []  # that is nothing to the runtime


def test_the_runtime_is_told_what_startup_and_liveness_say(
    lives: LivesStage, keeper: PlainProbeKeeper
) -> None:
    web = probed("startup", "liveness")
    lives.lists(API, web)
    assert lives.commanded() == ["run web"]
    says(lives, keeper, web, is_started=False, is_ready=False)
    assert lives.commanded() == []
    says(lives, keeper, web)
    assert lives.commanded() == ["run web"]
    says(lives, keeper, web)
    assert lives.commanded() == []
    says(lives, keeper, web, is_alive=False)
    assert lives.commanded() == ["run web"]


def test_a_new_instance_is_not_ready_whatever_was_said_of_the_old_one(
    lives: LivesStage, keeper: PlainProbeKeeper
) -> None:
    web = probed("readiness")
    lives.lists(API, web)
    says(lives, keeper, web)
    first = instance(keeper.wants[-1])
    lives.exits(web, code=1)
    lives.play.advance(30.0)
    assert instance(keeper.wants[-1]) != first
    assert ready(lives, web) == "False"


def test_a_pod_that_is_deleted_is_probed_until_it_has_stopped(
    lives: LivesStage, keeper: PlainProbeKeeper
) -> None:
    web = probed("readiness")
    lives.machine.stubborn.add(web.uid)
    lives.lists(API, web)
    says(lives, keeper, web)
    lives.lists(API, probed("readiness", deleting=True))
    assert keeper.wants[-1].is_ending
    assert ready(lives, web) == "True"
    assert keeper.released == []
    lives.play.advance(30.0)
    assert keeper.released == [web.uid]
    assert ready(lives, web) == "False"


def test_a_worker_that_crashes_says_again_what_it_wants_and_shows_what_counts(
    lives: LivesStage, keeper: PlainProbeKeeper
) -> None:
    web = probed("readiness")
    lives.lists(API, web)
    says(lives, keeper, web)
    before = len(keeper.wants)
    lives.worker_crashes(web)
    assert len(keeper.wants) == before + 1
    assert ready(lives, web) == "True"


def test_what_nobody_answers_is_asked_again(lives: LivesStage, keeper: PlainProbeKeeper) -> None:
    web = probed("readiness")
    lives.lists(API, web)
    lives.play.advance(21.0)
    assert len(keeper.wants) == 3
    says(lives, keeper, web)
    lives.play.advance(60.0)
    assert len(keeper.wants) == 3


def test_what_an_earlier_process_has_shown_is_told_and_counts(keeper: PlainProbeKeeper) -> None:
    shown = {
        "name": "main",
        "ready": True,
        "started": True,
        "containerID": "plain://earlier",
        "state": {"running": {}},
    }
    status = {"phase": "Running", "containerStatuses": [shown]}
    web = probed("startup", "readiness", status=status)
    world = LivesWorld(probes=keeper)
    world.machine.has_running(web)
    with lives_stage(world=world) as lives:
        lives.lists(API, web)
        assert keeper.wants[-1].known == {"main": ProbeVerdict(container_id="plain://earlier")}
        assert ready(lives, web) == "True"


def test_values_of_its_secrets_go_with_what_it_wants(
    lives: LivesStage, keeper: PlainProbeKeeper
) -> None:
    container = {
        "name": "main",
        "image": "web:1",
        "readinessProbe": PAGE,
        "envFrom": [{"secretRef": {"name": "token"}}],
    }
    lives.world.objects.put(ObjectKind.SECRET, "token", password="hunter22")
    lives.lists(FILE, make_pod(spec={"containers": [container]}))
    assert keeper.wants[-1].hidden == ("hunter22",)
    assert "hunter22" not in repr(keeper.wants[-1])
