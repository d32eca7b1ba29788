"""What whoever carries out probes promises: the owner of the loop, and a hollow runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from actors.probes.watching import DropProbe, OnlyProbes, ProbesBegan, RestProbe
from kernel import Runtime
from messages.probing import AnswersCounted, ProbeResult
from tests.support.probes.loop_stage import (
    KEY,
    HollowWorld,
    LoopWorld,
    ProbedWorld,
    answer_of,
    readiness,
    wish,
)

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
SAID, REPEATED = True, False
WORLDS: dict[str, Callable[[Runtime], ProbedWorld]] = {"loop": LoopWorld, "hollow": HollowWorld}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[ProbedWorld]:
    world = WORLDS[request.param](runtime)
    world.play.start()
    world.follows()
    yield world
    world.stop()


def test_a_wish_is_answered_with_what_counts_and_so_is_its_repetition(world: ProbedWorld) -> None:
    target = world.start_container()
    world.tells(wish(world, target), wish(world, target))
    found = world.results()
    assert [result for result, _ in found] == [FAILURE] * len(found)
    assert [said for _, said in found].count(REPEATED) == 2


def test_what_counts_is_told_when_it_changes_and_not_otherwise(world: ProbedWorld) -> None:
    world.tells(wish(world, world.start_container()))
    world.passes(4.0)
    # People hear of the first answer, which was no success.
    assert world.results() == [(FAILURE, REPEATED), (FAILURE, SAID)]
    world.passes(2.5)
    assert world.results() == [(SUCCESS, SAID)]
    world.passes(12.0)
    assert world.results() == []
    world.passes(1.7)
    # The threshold is two, and people hear of the first failure.
    assert world.results()[-1:] in ([], [(SUCCESS, SAID)])
    world.passes(2.0)
    assert world.results()[-1:] == [(FAILURE, SAID)]


def test_what_was_known_of_an_instance_counts_until_it_answers(world: ProbedWorld) -> None:
    world.tells(wish(world, world.start_container(), initial=SUCCESS))
    assert world.results()[0] == (SUCCESS, REPEATED)
    world.passes(3.0)
    assert world.results()[-1] == (FAILURE, SAID)


def test_another_instance_begins_anew(world: ProbedWorld) -> None:
    world.tells(wish(world, world.start_container()))
    world.passes(8.0)
    assert world.results()[-1] == (SUCCESS, SAID)
    target = world.start_container()
    world.tells(wish(world, target))
    assert world.results()[0] == (FAILURE, REPEATED)
    world.passes(8.0)
    assert world.results()[-1] == (SUCCESS, SAID)
    assert answer_of(world).container_id == target.container_id


def test_a_probe_that_rests_tells_nothing_and_keeps_its_counts(world: ProbedWorld) -> None:
    target = world.start_container()
    world.tells(wish(world, target))
    world.passes(8.0)
    world.tells(RestProbe(key=KEY), RestProbe(key=KEY))
    world.passes(1.0)
    world.results()
    before = answer_of(world)
    assert before.successes > 0
    world.passes(20.0)
    assert world.results() == []
    world.tells(wish(world, target))
    world.passes(3.0)
    after = answer_of(world)
    assert after.successes >= before.successes
    assert after.failures > before.failures


def test_a_probe_that_is_not_there_any_more_leaves_nothing(world: ProbedWorld) -> None:
    world.tells(wish(world, world.start_container()))
    world.passes(8.0)
    world.tells(DropProbe(key=KEY), DropProbe(key=KEY))
    world.passes(1.0)
    assert world.answers() == {}
    world.tells(wish(world, world.start_container()))
    world.passes(1.0)
    world.tells(OnlyProbes(keys=frozenset({KEY})))
    world.passes(1.0)
    assert list(world.answers()) == [KEY]
    world.tells(OnlyProbes(keys=frozenset()))
    world.passes(1.0)
    assert world.answers() == {}


def test_a_crash_is_told_and_changes_nothing_that_counts(world: ProbedWorld) -> None:
    target = world.start_container()
    world.tells(wish(world, target))
    world.passes(8.0)
    assert world.results()[-1] == (SUCCESS, SAID)
    world.began.drain()
    world.crashes()
    assert world.began.drain() == [ProbesBegan()]
    world.tells(wish(world, target, initial=FAILURE))
    assert world.results() == [(SUCCESS, REPEATED)]
    world.passes(15.0)
    assert world.results()[-1] == (FAILURE, SAID)


def test_answers_are_counted_by_what_they_said_and_how_long_they_took(world: ProbedWorld) -> None:
    world.tells(wish(world, world.start_container()))
    world.passes(15.0)
    counted = world.answers()[KEY]
    assert isinstance(counted, AnswersCounted)
    answer = counted.answer
    assert (answer.last.result, answer.result, answer.unknowns) == (SUCCESS, SUCCESS, 0)
    assert answer.failures in {4, 5, 6}
    assert answer.successes in {9, 10, 11}
    assert sum(counted.buckets) == answer.successes + answer.failures
    assert world.play.clock.wall() - answer.at <= 1.2


def test_a_probe_whose_specification_changes_keeps_what_counts(world: ProbedWorld) -> None:
    target = world.start_container()
    world.tells(wish(world, target))
    world.passes(8.0)
    world.results()
    world.tells(wish(world, target, spec=readiness(periodSeconds=3)))
    world.passes(7.0)
    assert world.results() == [(SUCCESS, REPEATED)]
