"""After a crash of the keeper of statuses every status is told again, whatever became of its pod."""

from actors.pods.keeper_parts import POD_KEEPER
from actors.pods.node_fit import NodeView
from messages.pod_lives import RepeatPodStatuses
from messages.pods import API
from tests.support.pod_lives.lives_stage import LivesWorld, api_pod, lives_stage


def test_pods_that_run_that_are_refused_and_that_are_finished_are_told_again() -> None:
    world = LivesWorld(node=NodeView(name="node", allocatable={"pods": 2}))
    with lives_stage(world=world) as lives:
        runs, goes, refused = api_pod("runs"), api_pod("goes"), api_pod("refused")
        lives.lists(API, runs, goes)
        lives.lists(API, runs, goes, refused)
        lives.lists(API, runs, api_pod("goes", deleting=True), refused)
        told = dict(lives.statuses.newest)
        assert set(told) == {runs.uid, goes.uid, refused.uid}
        lives.statuses.newest.clear()
        lives.play.tell(POD_KEEPER, RepeatPodStatuses())
        assert lives.statuses.newest == told
        assert lives.statuses.finished == {goes.uid, refused.uid}
