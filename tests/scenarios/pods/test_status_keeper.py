"""StatusKeeper between workers, PodManager and the API server: rules V1 to V13."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
from structlog.typing import EventDict

from actors.pods.status_keeper import STATUS_KEEPER
from actors.pods.status_writer import EXAMINED_AT_ONCE
from manifests.times import rfc3339_nano
from messages.api import FailureKind, Verb
from messages.pods import Pod
from messages.statuses import START_BOUNDS, PodFailure, PodStatusIs
from messages.units import Timestamp
from tests.support.apiserver.fake_api import ALWAYS, asks
from tests.support.builders import make_pod
from tests.support.pods.observations import backing_off, exited, running, waiting
from tests.support.pods.status_stage import StatusStage, status_stage

STATIC = make_pod("web", uid="web-1", config_hash="web-1", spec={"nodeName": "n1"})


@pytest.fixture
def stage() -> Iterator[StatusStage]:
    with status_stage() as stage:
        stage.watches()
        yield stage


# --- told and kept ---------------------------------------------------------------------------------


def test_a_status_is_written_at_once(stage: StatusStage) -> None:
    # Rule V5, without a batch.
    web = stage.binds()
    stage.tells(web, waiting())
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["containerStatuses"][0]["state"] == {
        "waiting": {"reason": "ContainerCreating"}
    }
    stage.tells(web, running())
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["phase"] == "Running"
    assert stage.conditions()["Ready"] == "True"
    assert (stage.described().written, stage.described().waiting) == (2, 0)


def test_an_equal_status_is_written_and_told_once(stage: StatusStage) -> None:
    # Rule V1.
    reader = stage.follows()
    web = stage.binds()
    stage.tells(web, running())
    stage.tells(web, running())
    assert stage.asked() == ["PATCH web"]
    assert reader.told == ["web Running"]


def test_a_standalone_agent_keeps_statuses_and_writes_none() -> None:
    # Rule V13.
    with status_stage(is_joined=False) as stage:
        reader = stage.follows()
        stage.tells(STATIC, running())
        assert stage.asked() == []
        assert reader.told == ["web Running"]
        described = stage.described()
        assert (list(described.statuses), described.waiting) == ([STATIC.uid], 0)


def test_of_statuses_that_come_during_a_write_only_the_newest_is_written(
    stage: StatusStage,
) -> None:
    web = stage.binds()
    stage.api.calls.hold()
    stage.tells(web, waiting())
    stage.tells(web, running())
    stage.tells(web, running(attempt=1))
    assert stage.asked() == ["PATCH web"]
    stage.api.calls.release()
    stage.settle()
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["containerStatuses"][0]["restartCount"] == 1


def test_a_pod_of_which_the_keeper_is_told_before_the_watch_shows_it_is_written_then() -> None:
    with status_stage() as stage:
        web = stage.binds()
        stage.tells(web, running())
        assert stage.asked() == []
        stage.watches()
        assert stage.asked() == ["PATCH web"]


def test_a_few_calls_are_in_flight(stage: StatusStage) -> None:
    pods = [stage.binds(f"web-{number}") for number in range(40)]
    stage.api.calls.hold()
    for pod in pods:
        stage.tells(pod, running())
    assert len(stage.asked()) == 16
    stage.api.calls.release()
    stage.settle()
    assert len(stage.asked()) == 24
    assert stage.described().waiting == 0


# --- static pods -------------------------------------------------------------------------------------


def test_the_status_of_a_static_pod_is_shown_by_its_mirror(stage: StatusStage) -> None:
    # Rule V6: without a mirror it waits.
    stage.serves(STATIC)
    stage.tells(STATIC, running())
    assert stage.asked() == []
    assert stage.described().waiting == 1
    stage.mirrors(STATIC)
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["phase"] == "Running"


def test_a_count_of_restarts_that_a_mirror_shows_falls_only_if_nobody_counts_on_from_it(
    stage: StatusStage,
) -> None:
    stage.serves(STATIC)
    stage.mirrors(STATIC)
    stage.tells(STATIC, running(attempt=2))
    stage.forgets(STATIC)
    stage.asked()
    stage.tells(STATIC, running())
    assert stage.asked() == []
    stage.tells(STATIC, running(attempt=3))
    assert stage.shown()["containerStatuses"][0]["restartCount"] == 3
    stage.forgets(STATIC)
    stage.tells(STATIC, running())
    stage.advance(1.0)
    assert stage.shown()["containerStatuses"][0]["restartCount"] == 0


def test_the_mirror_of_another_version_is_left_alone(stage: StatusStage) -> None:
    stage.serves(STATIC)
    stage.mirrors(STATIC, config_hash="an earlier version")
    stage.tells(STATIC, running())
    assert stage.asked() == []


def test_a_mirror_that_was_made_again_gets_the_status_again(stage: StatusStage) -> None:
    stage.serves(STATIC)
    stage.mirrors(STATIC)
    stage.tells(STATIC, running())
    stage.removes(grace=0)
    stage.mirrors(STATIC)
    assert stage.asked() == ["PATCH web", "PATCH web"]
    assert stage.shown()["phase"] == "Running"


def test_the_mirror_of_a_finished_static_pod_is_not_deleted(stage: StatusStage) -> None:
    # Rule V9: that is the business of who made it.
    stage.serves(STATIC)
    stage.mirrors(STATIC)
    stage.removes(grace=30)
    stage.tells(STATIC, exited(), is_finished=True)
    assert stage.asked() == ["PATCH web"]
    assert stage.names() == ["web"]


# --- others, and others' ------------------------------------------------------------------------------


def test_conditions_of_others_stay(stage: StatusStage) -> None:
    # Rule V8.
    web = stage.binds()
    gate = {"type": "example.com/ready", "status": "True"}
    stage.store.change("pods", "default", "web", status={"conditions": [gate]})
    stage.tells(web, running())
    conditions = stage.conditions()
    assert (conditions["example.com/ready"], conditions["Ready"]) == ("True", "True")


def test_what_somebody_writes_over_is_written_again(stage: StatusStage) -> None:
    # Rule V10: at once at first, and then with pauses.
    web = stage.binds()
    stage.tells(web, running())
    stage.asked()
    for writes in (1, 0, 0):
        stage.store.change("pods", "default", "web", status={"phase": "Unknown"})
        stage.settle()
        assert len(stage.asked()) == writes
    stage.advance(30.0)
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["phase"] == "Running"


def test_what_somebody_writes_over_while_another_part_is_being_written_is_written_again(
    stage: StatusStage,
) -> None:
    web = stage.binds()
    stage.tells(web, running())
    stage.api.calls.hold()
    stage.tells(web, running(attempt=1))
    stage.store.change("pods", "default", "web", status={"phase": "Unknown"})
    stage.settle()
    stage.api.calls.release()
    stage.settle()
    assert stage.shown()["phase"] == "Running"
    assert stage.shown()["containerStatuses"][0]["restartCount"] == 1


def test_a_pod_that_is_gone_is_dropped_silently(stage: StatusStage) -> None:
    # Rule V7.
    web = stage.binds()
    stage.removes(grace=0)
    stage.tells(web, running())
    stage.advance(600.0)
    assert stage.asked() == []
    assert not stage.described().troubles


def test_a_pod_that_was_created_again_is_not_given_the_old_one_s_status(
    stage: StatusStage,
) -> None:
    # Rule V7: the watch is late, and the name is another pod's by now.
    old = stage.binds()
    stage.api.watches.break_off(FailureKind.UNREACHABLE)
    stage.store.remove("pods", "default", "web")
    stage.binds()
    stage.tells(old, running())
    assert stage.asked() == ["PATCH web"]
    assert stage.shown()["phase"] == "Pending"
    stage.api.watches.mend()
    stage.advance(600.0)
    assert stage.asked() == []
    assert not stage.described().troubles


# --- outages and refusals ------------------------------------------------------------------------------


def test_statuses_wait_while_the_api_server_is_away(stage: StatusStage) -> None:
    pods = [stage.binds(f"web-{number}") for number in range(3)]
    stage.api.go_away()
    for pod in pods:
        stage.tells(pod, waiting())
        stage.tells(pod, running())
    assert len(stage.asked()) == 1
    assert stage.described().waiting == 3
    stage.advance(60.0)
    assert len(stage.asked()) < 20
    stage.api.come_back()
    stage.advance(10.0)
    assert {stage.shown(pod.name)["phase"] for pod in pods} == {"Running"}
    assert stage.described().waiting == 0


def test_after_a_success_the_pauses_of_an_outage_begin_anew(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.go_away()
    stage.tells(web, running())
    stage.advance(60.0)
    stage.api.come_back()
    stage.advance(10.0)
    assert stage.shown()["phase"] == "Running"
    stage.api.calls.fail(FailureKind.UNREACHABLE, when=asks(Verb.PATCH), times=1)
    stage.store.change("pods", "default", "web", status={"phase": "Unknown"})
    stage.settle()
    assert stage.shown()["phase"] == "Unknown"
    stage.advance(4.0)
    assert stage.shown()["phase"] == "Running"


def test_a_write_whose_answer_is_lost_is_made_again(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.calls.lose_answers()
    stage.tells(web, running())
    stage.advance(10.0)
    assert stage.shown()["phase"] == "Running"
    assert stage.described().waiting == 0


def test_a_status_that_is_refused_for_ever_is_told_once_and_holds_up_nobody(
    stage: StatusStage,
) -> None:
    web, shop = stage.binds("web"), stage.binds("shop")
    stage.api.calls.fail(FailureKind.INVALID, when=asks(Verb.PATCH, "/web"), times=ALWAYS)
    stage.tells(web, running())
    stage.tells(shop, running())
    assert stage.shown("shop")["phase"] == "Running"
    stage.advance(3600.0)
    assert 15 < len(stage.asked()) < 30
    assert len(stage.events.drain()) == 1
    described = stage.described()
    assert (list(described.troubles or ()), described.waiting) == ([web.uid], 1)
    assert (described.refused or {})["invalid"] > 10

    stage.api.calls.recover()
    stage.tells(web, running(attempt=1))
    assert stage.shown("web")["phase"] == "Running"
    assert not stage.described().troubles


def test_a_node_that_may_write_no_status_says_so_once_and_not_of_each_pod(
    stage: StatusStage, logs: list[EventDict]
) -> None:
    pods = [stage.binds(name) for name in ("web", "shop", "mail")]
    stage.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.PATCH), times=ALWAYS)
    for pod in pods:
        stage.tells(pod, running())
    stage.advance(60.0)
    assert [entry["log_level"] for entry in logs if "is not written" in entry["event"]] == [
        "warning",
        "debug",
        "debug",
    ]
    assert len(stage.described().troubles or ()) == 3

    stage.api.calls.recover()
    stage.advance(600.0)
    assert [entry["log_level"] for entry in logs if "written again" in entry["event"]].count(
        "info"
    ) == 1
    assert not stage.described().troubles


def test_a_new_status_is_tried_at_once_though_the_last_one_was_refused(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.calls.fail(FailureKind.INVALID)
    stage.tells(web, waiting())
    stage.tells(web, running())
    assert stage.shown()["phase"] == "Running"


def test_a_status_that_cannot_be_rendered_holds_up_nobody(stage: StatusStage) -> None:
    broken, shop = stage.binds("web"), stage.binds("shop")
    status = stage.tells(broken, running())
    stage.asked()
    poison = replace(status, host_ips=cast("tuple[str, ...]", 7))
    stage.play.tell(STATUS_KEEPER, PodStatusIs(pod=broken, status=poison))
    stage.tells(shop, running())
    assert stage.asked() == ["PATCH shop"]
    assert list(stage.described().troubles or ()) == [broken.uid]
    assert len(stage.events.drain()) == 1
    stage.tells(broken, running(attempt=1))
    assert stage.asked() == ["PATCH web"]


def test_thousands_of_statuses_are_examined_a_few_at_a_time() -> None:
    with status_stage() as stage:
        stage.watches()
        pods = [stage.binds(f"web-{number}") for number in range(3 * EXAMINED_AT_ONCE)]
        for pod in pods:
            stage.tells(pod, running())
        stage.asked()
        stage.crashes()
        assert stage.asked() == []
        assert stage.described().waiting == 0
        stage.tells(pods[-1], exited())
        assert stage.asked() == [f"PATCH {pods[-1].name}"]


def seen_before(stage: StatusStage, pod: Pod, seconds: float) -> Pod:
    seen = Timestamp(stage.play.clock.wall() - seconds)
    annotations = {**pod.annotations, "kubernetes.io/config.seen": rfc3339_nano(seen)}
    metadata = {**pod.document["metadata"], "annotations": annotations}
    return Pod.of({**pod.document, "metadata": metadata})


def test_a_pod_that_runs_at_once_is_counted_and_one_of_an_earlier_process_is_not(
    stage: StatusStage,
) -> None:
    for name, started in (("new", stage.play.clock.wall()), ("old", Timestamp(1.0))):
        pod = seen_before(stage, stage.binds(name), 0.2)
        stage.tells(pod, running(started_at=started))
    starts = stage.described().starts
    assert starts is not None
    assert sum(starts.buckets) == 1


def test_the_time_until_a_pod_runs_is_counted_once(stage: StatusStage) -> None:
    web = seen_before(stage, stage.binds(), 1.5)
    stage.tells(web, waiting())
    stage.tells(web, running())
    stage.tells(web, backing_off())
    stage.tells(web, running(attempt=1))
    starts = stage.described().starts
    assert starts is not None
    assert sum(starts.buckets) == 1
    assert 1.4 < starts.seconds < 1.6
    assert starts.buckets[START_BOUNDS.index(2.0)] == 1


def test_it_is_measured_how_long_a_status_takes_to_the_api_server(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=1)
    stage.tells(web, waiting())
    stage.tells(web, running())
    stage.advance(10.0)
    syncs = stage.described().syncs
    assert syncs is not None
    assert sum(syncs.buckets) == 1
    assert 0.1 < syncs.seconds < 10.0
    stage.tells(web, running(attempt=1))
    again = stage.described().syncs
    assert again is not None
    assert (sum(again.buckets), again.seconds) == (2, syncs.seconds)


def test_it_is_measured_how_long_a_pod_takes_from_its_creation_until_it_is_seen_to_run(
    stage: StatusStage,
) -> None:
    web = stage.binds()
    stage.tells(web, running())
    latencies = stage.described().latencies
    assert latencies is not None
    assert sum(latencies.total["true"].buckets) == 1


# --- deletion ------------------------------------------------------------------------------------------


def test_a_deleted_pod_goes_as_soon_as_it_is_finished_and_its_last_status_is_there(
    stage: StatusStage,
) -> None:
    # Rule V9, invariant 5.
    web = stage.binds()
    stage.tells(web, running())
    web = stage.removes(grace=30)
    stage.tells(web, running())
    stage.tells(web, exited(code=137), is_ended=True)
    assert stage.shown()["phase"] == "Failed"
    assert stage.names() == ["web"]
    stage.asked()
    stage.tells(web, exited(code=137), is_finished=True)
    assert stage.asked() == ["DELETE web"]
    assert stage.names() == []
    stage.forgets(web)
    assert stage.described().deleted == 1
    assert not stage.described().statuses


def test_the_last_status_is_written_before_the_pod_is_deleted(stage: StatusStage) -> None:
    web = stage.binds()
    web = stage.removes(grace=30)
    stage.tells(web, exited(), is_finished=True)
    assert stage.asked() == ["PATCH web", "DELETE web"]


def test_what_is_told_while_a_deleted_pod_ends_costs_no_write_of_its_own(
    stage: StatusStage,
) -> None:
    web = stage.binds()
    stage.tells(web, running())
    stage.asked()
    web = stage.removes(grace=30)
    stage.tells(web, exited(code=137))
    stage.advance(0.9)
    assert stage.asked() == []
    assert stage.described().waiting == 1
    stage.tells(web, exited(code=137), is_ended=True)
    stage.tells(web, exited(code=137), is_finished=True)
    assert stage.asked() == ["PATCH web", "DELETE web"]


def test_a_deleted_pod_that_takes_long_to_end_is_shown_meanwhile(stage: StatusStage) -> None:
    web = stage.binds()
    stage.tells(web, running())
    stage.asked()
    web = stage.removes(grace=30)
    stage.tells(web, exited(code=137))
    stage.advance(1.0)
    assert stage.asked() == ["PATCH web"]
    assert "terminated" in stage.shown()["containerStatuses"][0]["state"]


def test_a_deleted_pod_whose_containers_all_run_is_written_at_once(stage: StatusStage) -> None:
    web = stage.binds()
    web = stage.removes(grace=30)
    stage.tells(web, running())
    assert stage.asked() == ["PATCH web"]


def test_a_finished_pod_that_nobody_deleted_stays(stage: StatusStage) -> None:
    web = stage.binds()
    stage.tells(web, exited(), is_finished=True)
    assert stage.asked() == ["PATCH web"]
    stage.removes(grace=30)
    assert stage.names() == []  # the API server waits for no node if a pod has ended


def test_a_pod_that_is_finished_before_it_is_deleted_goes_with_its_deletion(
    stage: StatusStage,
) -> None:
    web = stage.binds()
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=1)
    stage.tells(web, exited(), is_finished=True)
    stage.removes(grace=30)
    stage.advance(5.0)
    assert stage.names() == []


def test_a_pod_whose_last_status_is_refused_goes_all_the_same(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.calls.fail(FailureKind.INVALID, when=asks(Verb.PATCH), times=ALWAYS)
    web = stage.removes(grace=30)
    stage.tells(web, exited(), is_finished=True)
    stage.advance(10.0)
    assert stage.names() == []


def test_a_pod_that_a_finalizer_keeps_is_deleted_once(stage: StatusStage) -> None:
    web = stage.binds()
    stage.store.change("pods", "default", "web", metadata={"finalizers": ["example.com/keep"]})
    web = stage.removes(grace=30)
    stage.tells(web, exited(), is_finished=True)
    stage.advance(600.0)
    assert stage.asked() == ["PATCH web", "DELETE web"]


def test_a_refused_pod_is_failed_with_a_reason_and_nothing_else(stage: StatusStage) -> None:
    web = stage.binds()
    stage.tells(web, failure=PodFailure(reason="OutOfcpu", message="not enough cpu"))
    shown = stage.shown()
    assert (shown["phase"], shown["reason"], shown["message"]) == (
        "Failed",
        "OutOfcpu",
        "not enough cpu",
    )
    assert "containerStatuses" not in shown


# --- crashes -------------------------------------------------------------------------------------------


def test_a_crash_writes_nothing_again(stage: StatusStage) -> None:
    web = stage.binds()
    stage.tells(web, running())
    stage.asked()
    stage.crashes()
    assert stage.asked() == []
    stage.tells(web, exited())
    assert stage.asked() == ["PATCH web"]


def test_a_crash_over_a_write_loses_nothing(stage: StatusStage) -> None:
    web = stage.binds()
    stage.api.calls.hold()
    stage.tells(web, running())
    stage.crashes()
    stage.api.calls.release()
    stage.advance(1.0)
    assert stage.shown()["phase"] == "Running"
    assert stage.described().waiting == 0


def test_an_agent_that_starts_again_writes_only_what_differs() -> None:
    # Rule V10.
    with status_stage() as first:
        first.watches()
        web: Pod = first.binds()
        first.tells(web, running())
        store = first.store
    with status_stage(store=store) as second:
        second.watches()
        second.tells(web, running())
        assert second.asked() == []
        second.tells(web, exited(code=1))
        assert second.asked() == ["PATCH web"]
