"""How long operations of pods took."""

from __future__ import annotations

from actors.pods.times import Operation, WorkTimes
from messages.pod_lives import PodLife
from messages.pods import PodUid
from messages.units import Seconds

WEB = PodUid("web")


def seconds_of(times: WorkTimes) -> dict[str, float]:
    """Return the times of the operations that there were."""
    described = times.described().items()
    return {name: each.seconds for name, each in described if any(each.buckets)}


def test_a_pod_is_created_when_its_worker_is_up() -> None:
    times = WorkTimes()
    times.note_wish(WEB, Operation.CREATE, 7, Seconds(10.0))
    times.note_life(WEB, 6, PodLife.SYNC, Seconds(11.0))  # of an earlier pod of this UID
    times.note_life(WEB, 7, PodLife.SYNC, Seconds(12.0))
    times.note_life(WEB, 7, PodLife.SYNC, Seconds(30.0))
    assert seconds_of(times) == {"create": 2.0}


def test_a_kill_lasts_until_nothing_runs_and_counts_from_the_first_wish() -> None:
    times = WorkTimes()
    times.note_wish(WEB, Operation.UPDATE, 7, Seconds(1.0))
    times.note_wish(WEB, Operation.KILL, 8, Seconds(2.0))
    times.note_life(WEB, 8, PodLife.TERMINATING, Seconds(3.0))
    times.note_wish(WEB, Operation.KILL, 9, Seconds(10.0))
    times.note_life(WEB, 9, PodLife.TERMINATED, Seconds(32.0))
    assert seconds_of(times) == {"kill": 30.0}
    assert times.described()["kill"].buckets[-1] == 1


def test_a_pod_that_is_no_more_is_not_counted() -> None:
    times = WorkTimes()
    times.note_wish(WEB, Operation.CREATE, 1, Seconds(1.0))
    times.forget(WEB)
    times.note_life(WEB, 1, PodLife.SYNC, Seconds(2.0))
    assert seconds_of(times) == {}
