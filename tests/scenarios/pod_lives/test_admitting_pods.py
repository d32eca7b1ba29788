"""Which pods get a worker, and what is said of the others (rules L8, L9, L14, Y12)."""

from collections.abc import Iterator, Mapping

import pytest
from structlog.typing import EventDict

from actors.pods.keeper_parts import POD_KEEPER
from actors.pods.node_fit import NodeView
from kernel import Runtime
from messages.node import FollowNode, NodeIs, NodeIsGone, NodeUid
from messages.pod_lives import PodLife
from messages.pods import API, FILE, Pod, PodPhase
from tests.support.builders import edited, make_pod
from tests.support.kernel.probe import Probe
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage

TWO_PODS = NodeView(name="node", allocatable={"pods": 2})


@pytest.fixture
def small(runtime: Runtime) -> Iterator[LivesStage]:
    with lives_stage(runtime, LivesWorld(node=TWO_PODS)) as lives:
        yield lives


def created(name: str, moment: str) -> Pod:
    """Return a pod of the API with this time of creation."""
    return api_pod(name, metadata={"creationTimestamp": f"2026-01-01T00:00:{moment}Z"})


def test_the_oldest_pods_are_admitted_first_and_the_others_fail_with_a_reason(
    small: LivesStage,
) -> None:
    youngest = created("youngest", "30")
    small.lists(API, youngest, created("oldest", "10"), created("older", "20"))
    assert sorted(small.ran()) == ["start older/main#0", "start oldest/main#0"]
    status = small.status(youngest)
    assert (status.phase, status.reason) == (PodPhase.FAILED, "OutOfpods")
    assert [event.reason for event in small.world.events.drain()] == ["OutOfpods"]
    assert small.described().refused == {"OutOfpods": 1}
    assert small.lives()[youngest.uid] is PodLife.FINISHED


def test_a_refused_pod_may_be_deleted_at_once_and_is_then_forgotten(small: LivesStage) -> None:
    pods = [created("a", "10"), created("b", "20")]
    small.lists(API, *pods, created("c", "30"))
    refused = api_pod("c", deleting=True)
    small.lists(API, *pods, refused)
    assert small.statuses.finished == {refused.uid}
    small.lists(API, *pods)
    assert refused.uid not in small.statuses.newest


def test_a_pod_that_has_ended_makes_room_and_a_refused_one_stays_refused(
    small: LivesStage,
) -> None:
    job = api_pod("job", spec={"restartPolicy": "Never"})
    small.lists(API, job, api_pod("b"))
    small.lists(API, job, api_pod("b"), api_pod("c"))
    small.exits(job)
    small.lists(API, job, api_pod("b"), api_pod("c"), api_pod("d"))
    assert small.machine.running() == ["b/main", "d/main"]


def test_pods_that_ran_before_the_agent_are_not_refused() -> None:
    world = LivesWorld(node=TWO_PODS)
    pods = [api_pod(name) for name in "abc"]
    for pod in pods:
        world.machine.has_running(pod)
    with lives_stage(world=world) as lives:
        lives.lists(API, *pods)
        assert set(lives.lives().values()) == {PodLife.SYNC}
        lives.lists(API, *pods, api_pod("d"))
        assert lives.status(api_pod("d")).reason == "OutOfpods"


def test_a_static_pod_starts_when_the_pods_that_go_for_it_have_ended(
    small: LivesStage, logs: list[EventDict]
) -> None:
    low, other = api_pod("low", priority=1), api_pod("other", priority=5)
    small.machine.stubborn.add(low.uid)
    small.lists(API, low, other)
    small.lists(FILE, make_pod("static", priority=2_000_001_000))
    assert small.lives()["uid-default-static"] is PodLife.WAITING
    assert sorted(small.commanded()) == ["run low", "run other", "stop low 30"]
    small.play.advance(30.0)
    assert small.status(low).reason == "Preempting"
    assert small.machine.running() == ["other/main", "static/main"]
    assert small.described().preempted == 1
    warnings = [each for each in logs if each["log_level"] == "warning"]
    assert [(each["event"], each["pod"]) for each in warnings] == [
        ("a pod makes room for another one", "default/low")
    ]


def test_a_static_pod_that_is_removed_while_it_waits_for_room_never_starts(
    small: LivesStage,
) -> None:
    low = api_pod("low", priority=1)
    small.machine.stubborn.add(low.uid)
    small.lists(API, low, api_pod("other", priority=5))
    small.lists(FILE, make_pod("static", priority=2_000_001_000))
    small.lists(FILE)
    small.play.advance(30.0)
    assert small.machine.running() == ["other/main"]


def node_with(labels: Mapping[str, str]) -> NodeIs:
    """Return the Node as the cluster shows it with these labels."""
    document = {"metadata": {"name": "node", "labels": labels}}
    return NodeIs(name="node", uid=NodeUid("1"), is_deleting=False, document=document)


@pytest.fixture
def joined() -> Iterator[LivesStage]:
    """Return a node of a cluster that has not shown the Node yet."""
    with lives_stage(world=LivesWorld(cluster=Probe[FollowNode]())) as lives:
        yield lives


FAST = make_pod("fast", spec={"nodeSelector": {"disk": "fast"}})


def test_a_static_pod_waits_for_labels_that_the_cluster_has_to_tell(joined: LivesStage) -> None:
    joined.lists(FILE, FAST, make_pod("plain"))
    assert joined.machine.running() == ["plain/main"]
    assert joined.lives()[FAST.uid] is PodLife.WAITING
    joined.crashes(POD_KEEPER.path)
    assert joined.described().refused == {}
    joined.play.tell(POD_KEEPER, node_with({"disk": "fast"}))
    assert joined.machine.running() == ["fast/main", "plain/main"]


def test_a_static_pod_is_refused_when_the_node_has_other_labels(joined: LivesStage) -> None:
    joined.lists(FILE, FAST)
    joined.play.tell(POD_KEEPER, node_with({"disk": "slow"}))
    assert joined.status(FAST).reason == "NodeAffinity"


def test_the_status_of_a_refused_pod_does_not_follow_of_what_later_versions_show_of_it(
    joined: LivesStage,
) -> None:
    # Or it would be written again and again: each write is a version that follows of the one before.
    joined.play.tell(POD_KEEPER, node_with({"disk": "slow"}))
    ran = api_pod(
        "fast", spec=FAST.document["spec"], status={"phase": "Running", "podIP": "10.0.0.7"}
    )
    joined.lists(API, ran)
    refused = joined.status(ran)
    assert refused.reason == "NodeAffinity"
    for fields in ({"podIP": "10.0.0.8"}, {"phase": "Failed", "podIP": ""}):
        joined.lists(API, edited(ran, status=fields))
        assert joined.status(ran) == refused


def test_labels_of_the_node_are_waited_for_no_longer_than_a_minute(joined: LivesStage) -> None:
    joined.lists(FILE, FAST)
    joined.play.advance(59.0)
    assert FAST.uid not in joined.statuses.newest
    joined.play.advance(1.0)
    assert joined.status(FAST).reason == "NodeAffinity"


def test_a_static_pod_that_was_refused_before_the_node_was_known_runs_when_it_fits(
    joined: LivesStage,
) -> None:
    slow = make_pod("slow", spec={"nodeSelector": {"disk": "slow"}})
    joined.lists(FILE, FAST, slow)
    joined.play.advance(60.0)
    joined.crashes(POD_KEEPER.path)
    late = make_pod("late", spec={"nodeSelector": {"disk": "fast"}})
    joined.lists(FILE, FAST, slow, late)
    assert joined.status(late).reason == "NodeAffinity"
    joined.play.tell(POD_KEEPER, node_with({"disk": "fast"}))
    assert joined.machine.running() == ["fast/main", "late/main"]
    assert joined.status(FAST).phase is PodPhase.RUNNING
    assert joined.status(slow).phase is PodPhase.FAILED
    # What is refused by a Node that is known stays refused.
    joined.play.tell(POD_KEEPER, node_with({"disk": "slow"}))
    assert joined.machine.running() == ["fast/main", "late/main"]


def test_a_pod_that_was_refused_too_early_and_is_not_listed_any_more_does_not_run(
    joined: LivesStage,
) -> None:
    joined.lists(FILE, FAST)
    joined.play.advance(60.0)
    joined.lists(FILE)
    joined.play.tell(POD_KEEPER, node_with({"disk": "fast"}))
    assert joined.ran() == []


def test_a_static_pod_that_is_removed_while_the_node_is_not_known_never_runs(
    joined: LivesStage,
) -> None:
    joined.lists(FILE, FAST)
    joined.lists(FILE)
    joined.play.tell(POD_KEEPER, node_with({"disk": "fast"}))
    assert joined.ran() == []


def test_pods_are_compared_with_the_node_as_the_cluster_shows_it(lives: LivesStage) -> None:
    labels = {"disk": "fast"}
    lives.lists(API, api_pod("early", spec={"nodeSelector": labels}))
    lives.play.tell(POD_KEEPER, node_with(labels))
    lives.lists(API, api_pod("late", spec={"nodeSelector": labels}))
    assert lives.machine.running() == ["late/main"]


def test_a_node_that_is_gone_changes_nothing_about_pods_that_run(lives: LivesStage) -> None:
    lives.lists(API, api_pod())
    lives.play.tell(POD_KEEPER, NodeIsGone(name="node"))
    assert lives.machine.running() == ["web/main"]
