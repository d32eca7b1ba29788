"""What the keeper of pods decides, without actors, with the corners of rule K27."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from actors.pods.admission import Admission
from actors.pods.launcher import LaunchWindow
from actors.pods.node_fit import NodeView
from actors.pods.pod_workers import PodWorkers
from actors.pods.pod_workers_state import (
    AnswerKiller,
    ForgetStatus,
    Launch,
    PodWorkersEffect,
    PodWorkersMemory,
    PostWarning,
    StartWorker,
    StaticNames,
    StopWorker,
    TellRefusal,
    TellWish,
    life_of,
)
from messages.pod_lives import KillPod, PodLife
from messages.pod_runtime import RuntimePod
from messages.pods import API, FILE, HTTP, FullName, Pod, PodUid
from messages.statuses import PodFailure
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.pod_lives.lives_stage import api_pod

ALL = frozenset({FILE, HTTP, API})
EVICTED = PodFailure(reason="Evicted", message="low on memory")
WEB = FullName("web_default")


class Rostering:
    """A roster whose workers do at once what they are told to."""

    def __init__(self, **allocatable: int) -> None:
        self.memory = PodWorkersMemory()
        node = NodeView(name="node", allocatable=allocatable)
        self.pod_workers = PodWorkers(Admission(node), ALL, self.memory)

    def effects(self) -> list[PodWorkersEffect]:
        """Return what is to be done since the last call, and begin the starts."""
        effects = list(self.pod_workers.effects)
        self.pod_workers.effects.clear()
        for effect in effects:
            if isinstance(effect, StartWorker):
                self.pod_workers.note_start(effect.uid)
        return effects

    def lives(self, uid: str, life: PodLife) -> None:
        """Have the worker of a pod tell where it is."""
        record = self.memory.records[PodUid(uid)]
        self.pod_workers.note_life(PodUid(uid), record.wish, life)


def of_name(uid: str, source: str = FILE) -> Pod:
    return make_pod("web", uid=uid, source=source)


def started(effects: list[PodWorkersEffect]) -> list[str]:
    return [effect.uid for effect in effects if isinstance(effect, StartWorker)]


def test_an_api_pod_and_a_static_pod_of_one_name_both_run() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("api", API))
    play.pod_workers.list_pod(of_name("static"))
    assert started(play.effects()) == ["api", "static"]


def test_api_pods_of_one_name_are_never_delayed() -> None:
    play = Rostering()
    for uid in ("one", "two"):
        play.pod_workers.list_pod(of_name(uid, API))
    assert started(play.effects()) == ["one", "two"]


def test_static_pods_of_one_name_start_in_order_when_the_one_before_has_finished() -> None:
    play = Rostering()
    for uid in ("2", "3", "4"):
        play.pod_workers.list_pod(of_name(uid))
    assert started(play.effects()) == ["2"]
    play.pod_workers.remove_pod(PodUid("3"), FILE)
    play.pod_workers.remove_pod(PodUid("2"), FILE)
    assert play.effects() == [ForgetStatus(PodUid("3")), TellWish(PodUid("2"))]
    play.lives("2", PodLife.TERMINATED)
    assert started(play.effects()) == []
    play.lives("2", PodLife.FINISHED)
    assert play.effects() == [
        StopWorker(PodUid("2")),
        ForgetStatus(PodUid("2")),
        StartWorker(PodUid("4")),
    ]


def test_a_uid_that_is_added_again_starts_as_soon_as_its_worker_has_finished() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("6"))
    play.effects()
    play.pod_workers.remove_pod(PodUid("6"), FILE)
    play.pod_workers.list_pod(of_name("6"))
    play.effects()
    play.lives("6", PodLife.FINISHED)
    assert play.effects() == [
        StopWorker(PodUid("6")),
        ForgetStatus(PodUid("6")),
        StartWorker(PodUid("6")),
    ]


def test_what_the_worker_of_an_earlier_pod_tells_late_says_nothing_of_the_next_one() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("6"))
    play.effects()
    play.pod_workers.remove_pod(PodUid("6"), FILE)
    play.pod_workers.list_pod(of_name("6"))
    before = play.memory.records[PodUid("6")].wish
    play.lives("6", PodLife.FINISHED)
    play.effects()
    play.pod_workers.note_life(PodUid("6"), before, PodLife.FINISHED)
    assert play.effects() == []


def test_a_wish_that_a_worker_missed_is_told_again() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("6"))
    play.effects()
    missed = play.memory.records[PodUid("6")].wish
    play.pod_workers.remove_pod(PodUid("6"), FILE)
    play.effects()
    play.pod_workers.note_life(PodUid("6"), missed, PodLife.SYNC)
    assert play.effects() == [TellWish(PodUid("6"))]


def test_a_pod_belongs_to_the_source_that_told_it_last() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("1"))
    play.pod_workers.list_pod(of_name("1", HTTP))
    play.effects()
    play.pod_workers.remove_pod(PodUid("1"), FILE)
    assert play.effects() == []
    assert play.pod_workers.missing_of(FILE, ()) == []
    assert play.pod_workers.missing_of(HTTP, ()) == [PodUid("1")]


def test_the_same_version_again_is_no_news() -> None:
    play = Rostering()
    pod = of_name("1")
    play.pod_workers.list_pod(pod)
    play.effects()
    play.pod_workers.list_pod(pod)
    assert play.effects() == []


def test_a_pod_that_is_removed_before_it_began_never_begins() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("1"))
    play.pod_workers.effects.clear()
    play.pod_workers.remove_pod(PodUid("1"), FILE)
    assert play.effects() == [ForgetStatus(PodUid("1"))]
    assert play.pod_workers.note_start(PodUid("1")) is None


def test_a_pod_in_line_that_is_deleted_or_has_ended_leaves_the_line() -> None:
    for ending in (
        make_pod("web", uid="2", deleting=True),
        make_pod("web", uid="2", phase="Failed"),
    ):
        play = Rostering()
        play.pod_workers.list_pod(of_name("1"))
        play.pod_workers.list_pod(of_name("2"))
        play.pod_workers.list_pod(ending)
        assert TellRefusal(ending, ending, PodFailure(reason="", message="")) in play.effects()
        assert life_of(play.memory.records[PodUid("2")]) is PodLife.FINISHED


def test_a_kill_is_answered_when_nothing_runs_any_more() -> None:
    play = Rostering()
    play.pod_workers.list_pod(of_name("1"))
    play.effects()
    order = KillPod(uid=PodUid("1"), failure=EVICTED, reply_to=Probe())
    play.pod_workers.kill(order)
    play.pod_workers.kill(order)
    assert play.effects() == [TellWish(PodUid("1"))] * 2
    play.lives("1", PodLife.TERMINATED)
    assert play.effects() == [AnswerKiller(PodUid("1"), order.reply_to)]
    play.pod_workers.kill(order)
    assert play.effects() == [AnswerKiller(PodUid("1"), order.reply_to)]


def test_a_victim_that_does_not_run_makes_room_at_once() -> None:
    play = Rostering(pods=1)
    play.pod_workers.list_pod(api_pod("low", priority=1))
    play.pod_workers.effects.clear()  # it is to be started, and was not yet
    play.pod_workers.list_pod(make_pod("static", priority=2_000_001_000))
    victim = play.memory.records[api_pod("low").uid]
    assert victim.failure is not None
    assert any(isinstance(effect, PostWarning) for effect in play.effects())
    play.pod_workers.note_start(victim.pod.uid)
    play.lives(str(victim.pod.uid), PodLife.TERMINATED)
    assert started(play.effects()) == ["uid-default-static"]


def test_an_orphan_is_stopped_only_when_its_own_source_has_listed() -> None:
    play = Rostering()
    found = RuntimePod(
        uid=PodUid("1"), namespace="default", name="web", source=FILE, is_running=True
    )
    play.pod_workers.note_runtime_pod(found)
    play.pod_workers.note_runtime_pod(found)
    assert list(play.pod_workers.orphans(frozenset({API, HTTP}))) == []
    assert list(play.pod_workers.orphans(frozenset({FILE}))) == [PodUid("1")]
    play.pod_workers.stop_orphan(PodUid("1"))
    play.pod_workers.stop_orphan(PodUid("1"))
    assert play.memory.counts.orphans == 1
    assert play.effects() == [StartWorker(PodUid("1"))]
    wish = play.memory.records[PodUid("1")].wished()
    assert (wish.is_removed, wish.grace, wish.has_no_document) == (True, 1.0, True)
    play.lives("1", PodLife.FINISHED)
    assert play.effects() == [StopWorker(PodUid("1"))]


def test_an_orphan_holds_the_name_of_its_static_pod() -> None:
    play = Rostering()
    found = RuntimePod(
        uid=PodUid("1"), namespace="default", name="web", source=FILE, is_running=True
    )
    play.pod_workers.note_runtime_pod(found)
    play.pod_workers.list_pod(of_name("2"))
    assert started(play.effects()) == []
    play.pod_workers.stop_orphan(PodUid("1"))
    play.effects()
    play.lives("1", PodLife.FINISHED)
    assert started(play.effects()) == ["2"]


def test_an_adopted_pod_that_is_another_by_name_lets_go_of_the_earlier_name() -> None:
    play = Rostering()
    found = RuntimePod(
        uid=PodUid("1"), namespace="default", name="old", source=FILE, is_running=True
    )
    play.pod_workers.note_runtime_pod(found)
    play.pod_workers.list_pod(of_name("1"))
    assert play.memory.names.holder(FullName("old_default")) is None
    assert play.memory.names.holder(WEB) == "1"


def test_of_everything_a_next_life_is_told_what_follows() -> None:
    play = Rostering(pods=1)
    play.pod_workers.list_pod(of_name("runs"))
    play.pod_workers.list_pod(api_pod("refused"))
    play.effects()
    for uid in (PodUid("runs"), api_pod("refused").uid, PodUid("nobody")):
        play.pod_workers.repeat(uid)
    told = play.effects()
    assert told[:2] == [StartWorker(PodUid("runs")), TellWish(PodUid("runs"))]
    assert isinstance(told[2], TellRefusal)
    assert len(told) == 3


def test_names_are_held_by_the_first_in_line() -> None:
    names = StaticNames()
    assert names.join(WEB, PodUid("1"))
    assert not names.join(WEB, PodUid("2"))
    assert not names.join(WEB, PodUid("3"))
    assert names.leave(WEB, PodUid("2")) is None
    assert names.leave(WEB, PodUid("1")) == "3"
    assert names.leave(WEB, PodUid("3")) is None
    assert names.leave(WEB, PodUid("3")) is None
    assert names.holder(WEB) is None


def test_no_more_launches_are_under_way_than_the_window_has_room_for() -> None:
    window = LaunchWindow(deque(), limit=2)
    launches = [StartWorker(PodUid(uid)) for uid in "abc"]
    for launch in launches:
        window.add(launch)
    take: Callable[[], list[Launch]] = lambda: list(window.take())  # noqa: E731
    assert take() == launches[:2]
    assert take() == []
    window.note(launches[0])
    window.note(launches[0])
    assert take() == launches[2:]
    window.give_up()
    assert not window.is_busy


def test_a_finished_pod_that_is_listed_still_is_stopped_again_in_a_next_life() -> None:
    play = Rostering()
    pod = api_pod(deleting=True)
    play.pod_workers.list_pod(pod)
    play.effects()
    play.lives(str(pod.uid), PodLife.FINISHED)
    play.effects()
    play.pod_workers.repeat(pod.uid)
    assert play.effects() == [StopWorker(pod.uid)]
    play.pod_workers.remove_pod(pod.uid, API)
    assert play.effects() == [ForgetStatus(pod.uid)]


def test_an_orphan_that_was_listed_and_is_not_any_more_does_not_come_back() -> None:
    play = Rostering()
    found = RuntimePod(
        uid=PodUid("1"), namespace="default", name="web", source=FILE, is_running=True
    )
    play.pod_workers.note_runtime_pod(found)
    play.pod_workers.stop_orphan(PodUid("1"))
    play.pod_workers.list_pod(of_name("1"))
    assert play.pod_workers.missing_of(FILE, ()) == [PodUid("1")]
    play.pod_workers.remove_pod(PodUid("1"), FILE)
    play.effects()
    play.lives("1", PodLife.FINISHED)
    assert play.effects() == [StopWorker(PodUid("1"))]


def test_a_status_that_says_the_end_is_news_and_another_one_is_not() -> None:
    play = Rostering()
    play.pod_workers.list_pod(api_pod())
    play.effects()
    play.pod_workers.list_pod(api_pod(phase="Running"), is_status_alone=True)
    assert play.effects() == []
    play.pod_workers.list_pod(api_pod(phase="Failed"), is_status_alone=True)
    assert play.effects() == [TellWish(api_pod().uid)]
