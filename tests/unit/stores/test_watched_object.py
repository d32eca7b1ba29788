"""Decisions about one watched object that scenarios do not show: deadlines, what is told twice, numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from messages.api import ApiFailure, FailureKind, Retry
from messages.holders import HolderIs
from messages.objects import ObjectKind, ObjectState
from messages.units import Instant, Seconds, Timestamp
from messages.watches import ObjectOp, TargetListed, WatchFailed, WatchRecovered, WatchTarget
from stores.objects.paths import object_target
from stores.objects.watched import WatchedObject
from stores.objects.watcher_memory import (
    AskList,
    Inform,
    StartWatch,
    StopWatch,
    WatcherMemory,
    idle_limit_for,
)
from tests.support.canary import hidden
from tests.support.objects.watcher_stage import (
    RULES,
    TARGET,
    WANTED,
    listed,
    object_id,
    references,
    told,
    version,
)

AWAY = ApiFailure(kind=FailureKind.UNREACHABLE, retry=Retry.AFTER_DELAY, sentence="away")
FORBIDDEN = ApiFailure(kind=FailureKind.FORBIDDEN, retry=Retry.AFTER_DELAY, sentence="no")


def at(seconds: float) -> Instant:
    """Return a moment so long after the beginning."""
    return Instant(Seconds(seconds), Timestamp(1000.0 + seconds))


class Bench:
    """A watched object, and what it has to have carried out."""

    def __init__(self) -> None:
        self.memory = WatcherMemory(WANTED)
        self.watched = WatchedObject(self.memory, RULES)
        self._wanted = 0

    def refers(self, seconds: float, count: int = 1, mark: int = 1) -> Bench:
        self.watched.take_references(references(count, mark=mark), at(seconds))
        self.watched.settle(at(seconds))
        return self

    def watches(self, seconds: float, *facts: object) -> Bench:
        for fact in facts:
            self.watched.take_watched(fact, at(seconds))  # type: ignore[arg-type]  # literals
            self.watched.settle(at(seconds))
        return self

    def looks(self, seconds: float, mark: int = 1) -> Bench:
        """Have a follower want a look."""
        self._wanted += 1
        told = replace(references(mark=mark), wanted=self._wanted)
        self.watched.take_references(told, at(seconds))
        self.watched.settle(at(seconds))
        return self

    def leaves(self, seconds: float) -> Bench:
        """Have nobody follow it any more."""
        self.watched.take_references(references(), at(seconds))
        self.watched.settle(at(seconds))
        return self

    def done(self) -> list[object]:
        """Return what there was to carry out, and have it be carried out."""
        done = [e for e in self.memory.outgoing if not isinstance(e, Inform)]
        self.memory.outgoing.clear()
        return list(done)

    def due(self, seconds: float) -> float | None:
        return self.watched.due(at(seconds))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def synced(bench: Bench) -> Bench:
    bench.refers(0.0).watches(0.0, listed(version(10, a="1"), at=10))
    bench.done()
    return bench


@pytest.mark.parametrize(
    ("sync_frequency", "limit"), [(1.0, 60.0), (12.0, 60.0), (60.0, 300.0), (600.0, 3000.0)]
)
@pytest.mark.rule("W10")
def test_the_idle_limit_is_five_sync_frequencies_and_at_least_a_minute(
    sync_frequency: float, limit: float
) -> None:
    assert idle_limit_for(Seconds(sync_frequency)) == limit


@pytest.mark.parametrize(
    ("kind", "collection"),
    [(ObjectKind.SECRET, "secrets"), (ObjectKind.CONFIG_MAP, "configmaps")],
)
@pytest.mark.rule("W1", "W17")
def test_one_object_is_watched_by_its_name(kind: ObjectKind, collection: str) -> None:
    assert object_target(object_id(kind)) == WatchTarget(
        path=f"/api/v1/namespaces/shop/{collection}", field_selector="metadata.name=s1"
    )


def test_nothing_is_waited_for_before_the_first_list(bench: Bench) -> None:
    assert bench.due(0.0) is None
    bench.refers(0.0)
    assert bench.due(0.0) is None
    assert bench.done() == [StartWatch(references().newest)]


def test_an_unread_object_waits_for_its_idle_limit(synced: Bench) -> None:
    assert synced.due(0.0) == 60.0
    synced.looks(20.0).leaves(20.0)
    assert synced.due(20.0) == 80.0
    synced.watched.settle(at(80.0))
    assert synced.done()[-1] == StopWatch()
    assert synced.due(80.0) is None


def test_a_timer_that_fires_a_hair_early_is_not_set_again(synced: Bench) -> None:
    synced.watched.settle(at(59.9999))
    assert synced.memory.state is ObjectState.IDLE


def test_the_end_of_the_grace_is_waited_for_as_long_as_it_is_ahead(bench: Bench) -> None:
    bench.refers(0.0).watches(0.0, WatchFailed(target=TARGET, failure=FORBIDDEN))
    bench.looks(1.0)
    assert bench.due(1.0) == 5.0
    bench.watched.settle(at(5.0))
    assert bench.due(5.0) is None
    assert bench.memory.looked == 1


def test_a_list_that_is_under_way_and_one_that_failed_are_waited_for(synced: Bench) -> None:
    synced.refers(1.0, mark=2)
    assert synced.done() == [AskList(references(mark=2).newest)]
    assert synced.due(1.0) == 61.0  # idleness comes first
    synced.memory.is_followed = True
    assert synced.due(1.0) == 71.0

    lost = TargetListed(target=TARGET, mark=2, outcome=AWAY)
    synced.watched.take_listed(lost, at(2.0))
    synced.watched.settle(at(2.0))
    assert synced.due(2.0) == pytest.approx(2.1)
    synced.watched.settle(at(2.1))
    assert synced.done() == [AskList(references(mark=2).newest)]


@pytest.mark.parametrize(("wish", "delay"), [(None, 0.1), (0.01, 0.1), (30.0, 30.0), (60.0, 60.0)])
def test_a_list_that_fails_is_asked_for_again_when_the_server_wishes(
    synced: Bench, wish: float | None, delay: float
) -> None:
    synced.refers(1.0, mark=2).done()
    retry_after = None if wish is None else Seconds(wish)
    busy = replace(AWAY, kind=FailureKind.THROTTLED, retry_after=retry_after)
    synced.watched.take_listed(TargetListed(target=TARGET, mark=2, outcome=busy), at(2.0))
    synced.memory.is_followed = True
    synced.watched.settle(at(2.0))
    assert synced.due(2.0) == pytest.approx(2.0 + delay)
    synced.watched.settle(at(2.0 + delay - 0.01))
    assert synced.done() == []
    synced.watched.settle(at(2.0 + delay))
    assert synced.done() == [AskList(references(mark=2).newest)]


def test_what_was_watched_is_watched_again_after_a_stop_and_known_as_of_then(
    synced: Bench,
) -> None:
    synced.watched.give_up(at(3.0))
    assert synced.done() == [StopWatch()]
    WatchedObject(synced.memory, RULES).revive(at(5.0))
    assert synced.done() == [StartWatch(references().newest)]
    assert synced.memory.knowledge.known.current_until == at(3.0)


def test_a_stop_of_what_is_not_watched_asks_for_nothing(synced: Bench) -> None:
    synced.watched.settle(at(60.0))
    synced.done()
    synced.watched.give_up(at(61.0))
    assert synced.done() == []


def test_what_was_ignored_is_no_reason_why_there_is_none(bench: Bench) -> None:
    stranger = version(11, a="1")
    stranger["metadata"]["name"] = "s2"
    bench.refers(0.0).watches(0.0, listed(at=10), told(ObjectOp.ADDED, stranger))
    held = bench.looks(1.0).watched.held(at(1.0))
    assert held is not None
    assert held.reason == "there is no Secret shop/s1"


def test_nobody_is_asked_while_the_watch_fails(synced: Bench) -> None:
    synced.refers(1.0, mark=2)
    synced.done()
    synced.watched.take_listed(TargetListed(target=TARGET, mark=2, outcome=AWAY), at(1.0))
    synced.watches(1.0, WatchFailed(target=TARGET, failure=AWAY))
    # The watch is asked anew instead, once.
    assert synced.done() == [StartWatch(references(mark=2).newest)]
    synced.watched.settle(at(50.0))
    assert synced.done() == []

    # Its list proves the mark as well as the other would have.
    synced.watches(51.0, listed(at=12, mark=2), WatchRecovered(target=TARGET))
    assert synced.done() == []
    assert synced.memory.error == ""


def test_a_watch_that_lists_and_does_not_open_is_asked_for_anew(synced: Bench) -> None:
    """What says that it fails was perhaps of an earlier one, which nobody will say has recovered."""
    synced.watches(1.0, WatchFailed(target=TARGET, failure=AWAY), listed(version(10, a="1"), at=11))
    assert synced.due(1.0) == 31.0
    synced.watched.settle(at(30.0))
    assert synced.done() == []
    synced.watched.settle(at(31.0))
    assert synced.done() == [StartWatch(references().newest)]
    assert synced.memory.state is ObjectState.INITIALISING
    synced.watches(32.0, listed(version(10, a="1"), at=11))
    assert synced.memory.is_certain


def test_a_watch_that_opens_after_its_list_is_left_alone(synced: Bench) -> None:
    failed = WatchFailed(target=TARGET, failure=AWAY)
    synced.watches(1.0, failed, listed(at=11), WatchRecovered(target=TARGET))
    assert synced.due(1.0) == 60.0


def test_a_watch_that_lists_and_fails_all_the_same_is_left_alone_for_longer_and_longer(
    synced: Bench,
) -> None:
    """It may list and not watch; each attempt has the keeper try it quickly again."""
    lists_and_fails = (
        WatchFailed(target=TARGET, failure=AWAY),
        listed(version(10, a="1"), at=11),
    )
    # Somebody follows it, so that it is never idle.
    synced.watched.take_references(references(is_followed=True), at(0.0))
    due = []
    for seconds in (0.0, 1000.0, 2000.0):
        synced.watches(seconds, *lists_and_fails)
        due.append(synced.memory.late_at)
        synced.watched.settle(at(seconds + 500.0))
    assert due == [30.0, 1060.0, 2120.0]

    # Once it was followed, it begins with the shortest again.
    synced.watches(3000.0, WatchRecovered(target=TARGET), *lists_and_fails)
    assert synced.memory.late_at == 3030.0


def test_doubt_counts_from_when_the_watch_was_lost(synced: Bench) -> None:
    failed = WatchFailed(target=TARGET, failure=AWAY, since=Seconds(4.0))
    synced.watches(9.0, failed)
    assert synced.memory.knowledge.known.current_until == at(4.0)
    # It is told again, in other words, and is as old as it was.
    synced.watches(20.0, replace(failed, failure=FORBIDDEN, since=Seconds(6.0)))
    assert synced.memory.knowledge.known.current_until == at(4.0)


def test_doubt_counts_from_the_last_word_if_that_came_later(synced: Bench) -> None:
    """What stands is told to each who begins to watch: it may be older than what was heard since."""
    synced.watches(5.0, told(ObjectOp.MODIFIED, version(12, a="2")))
    synced.watches(9.0, WatchFailed(target=TARGET, failure=AWAY, since=Seconds(4.0)))
    assert synced.memory.knowledge.known.current_until == at(5.0)


def test_a_watch_that_was_never_followed_is_doubted_from_its_failure_on(synced: Bench) -> None:
    synced.watches(9.0, WatchFailed(target=TARGET, failure=AWAY))
    assert synced.memory.knowledge.known.current_until == at(9.0)


def test_what_was_not_carried_out_is_still_there_in_the_next_life(synced: Bench) -> None:
    synced.watches(1.0, told(ObjectOp.MODIFIED, version(12, a="2")))
    before = list(synced.memory.outgoing)
    WatchedObject(synced.memory, RULES).revive(at(2.0))
    assert synced.memory.outgoing[: len(before)] == before
    assert isinstance(before[0], Inform)
    assert isinstance(before[0].fact, HolderIs)
    assert before[0].fact.changed is not None


def test_a_change_that_was_noted_and_not_told_is_told_by_the_next_life(synced: Bench) -> None:
    """The crash came between taking a message in and drawing conclusions."""
    synced.watched.take_watched(told(ObjectOp.MODIFIED, version(12, a="2")), at(1.0))
    WatchedObject(synced.memory, RULES).revive(at(2.0))
    changes = [
        effect.fact.changed.keys
        for effect in synced.memory.outgoing
        if isinstance(effect, Inform)
        and isinstance(effect.fact, HolderIs)
        and effect.fact.changed is not None
    ]
    assert changes == [("a",)]


def test_a_version_that_comes_again_with_other_data_is_another(synced: Bench) -> None:
    """etcd was restored, and has given a version a second time."""
    synced.watches(1.0, listed(version(10, a="2"), at=10))
    assert synced.memory.knowledge.known.value is not None
    assert synced.memory.knowledge.known.value.data == {"a": hidden("2").encode()}
    assert synced.memory.knowledge.untold == []


def test_the_value_of_an_unchanged_object_is_kept_and_not_copied(synced: Bench) -> None:
    before = synced.memory.knowledge.known.value
    synced.watches(1.0, listed(version(10, a="1"), at=12))
    assert synced.memory.knowledge.known.value is before


def test_a_failure_of_a_watch_that_was_stopped_does_not_count(synced: Bench) -> None:
    synced.watched.settle(at(60.0))
    synced.watches(61.0, WatchFailed(target=TARGET, failure=AWAY))
    assert synced.memory.error == ""


def test_an_older_list_that_was_under_way_when_the_watch_was_stopped_is_ignored(
    synced: Bench,
) -> None:
    synced.watches(1.0, told(ObjectOp.MODIFIED, version(12, a="2")))
    synced.watched.settle(at(62.0))
    synced.watches(63.0, listed(version(10, a="1"), at=11))
    assert synced.memory.knowledge.known.value is not None
    assert synced.memory.knowledge.known.value.resource_version == "12"
    assert synced.memory.state is ObjectState.IDLE


def test_who_references_it_and_goes_again_leaves_no_mark_behind(synced: Bench) -> None:
    synced.refers(1.0, mark=2).refers(2.0, count=0, mark=2)
    assert synced.memory.asked is None
    synced.watched.take_listed(
        TargetListed(target=TARGET, mark=2, outcome=listed(at=20, mark=2)), at(3.0)
    )
    synced.watched.settle(at(3.0))
    assert not synced.memory.knowledge.known.is_known
    assert synced.due(3.0) is None
