"""Operations: a model with crashes, late, lost and double answers, and each row of the engine's table."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pytest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs
from typing_extensions import override

from kernel import (
    Backoff,
    CallLane,
    Failure,
    GivenUpError,
    Key,
    LateError,
    OnExhausted,
    Operation,
    Operations,
    OperationsMemory,
    PooledActor,
    Port,
    StepError,
    SupervisorSpec,
    Through,
    call,
    delay,
    gather,
    job,
    wait_for,
)
from kernel.steps import AskStep
from messages.units import Seconds
from tests.support.canary import CANARY
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.stage import Stage, stage_for

ENGINE: Final = Key[Any]("engine")
SERVER: Final = Key[Any]("server")
ROOT: Final = SupervisorSpec(
    name="root",
    children=(),
    backoff=Backoff(
        initial=Seconds(0.01), cap=Seconds(0.1), jitter=Seconds(0.0), reset_after=Seconds(0.5)
    ),
    intensity=50,
    period=Seconds(10.0),
)


@dataclass(frozen=True, slots=True, eq=False)
class Purpose:
    """What an operation is for."""

    number: int


@dataclass(slots=True, eq=False)
class World:
    """What outlives the actors, and what they did."""

    chance: random.Random = field(default_factory=lambda: random.Random(0))
    crashes: float = 0.0
    memory: OperationsMemory[Purpose] = field(default_factory=OperationsMemory)
    lane: CallLane = field(default_factory=lambda: CallLane(3))
    ends: dict[int, list[Any]] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    asked: list[tuple[Any, Port[Any]]] = field(default_factory=list)
    most: int = 0
    """In flight in the lane at the same time."""
    at_end: Callable[[Engine, Purpose], object] = lambda *_: None

    def may_crash(self) -> None:
        if self.chance.random() < self.crashes:
            raise SystemExit("injected")


class Server(PooledActor[Any]):
    """Is asked, and answers when the test says so."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    @override
    def receive(self, message: Any, /) -> None:
        self.world.most = max(self.world.most, len(self.world.lane))
        self.world.asked.append(message)


class Engine(PooledActor[Any]):
    """Does what it is told, with its operations."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    @override
    def started(self) -> None:
        self.work: Operations[Purpose] = self.operations(self.world.memory, self.take)
        self.world.lost += [each.number for each in self.work.recover()]

    def take(self, purpose: Purpose, result: Any) -> None:
        self.world.may_crash()
        self.world.ends.setdefault(purpose.number, []).append(result)
        self.world.at_end(self, purpose)
        self.world.may_crash()

    @override
    def receive(self, message: Any, /) -> None:
        message(self)


class Play:
    """An engine, and who answers it."""

    def __init__(self, seed: int = 0, crashes: float = 0.0) -> None:
        self.world = World(random.Random(seed), crashes)
        self.stage: Stage = stage_for(
            (ENGINE, lambda _: Engine(self.world)),
            (SERVER, lambda _: Server(self.world)),
            root=ROOT,
            on_exhausted=OnExhausted.ISOLATE,
        )
        self.stage.start()
        self.server: Port[Any] = self.stage.port(SERVER)
        self.purposes: list[Purpose] = []

    def begin(
        self, flow: Operation[Any], within: float | None = None, grace: float = 5.0
    ) -> Purpose:
        """Have an operation begun. Return its purpose."""
        purpose = Purpose(len(self.purposes))
        self.purposes.append(purpose)
        limit = None if within is None else Seconds(within)
        self.does(lambda engine: engine.work.begin(purpose, flow, limit, Seconds(grace)))
        return purpose

    def does(self, action: Callable[[Engine], object]) -> None:
        """Have the engine's actor do something in a turn."""
        self.stage.port(ENGINE).tell(action)
        if not self.world.crashes:
            self.stage.settle()

    def gives_up(self, purpose: Purpose) -> list[bool]:
        """Have an operation given up. Return whether it was there, once that is known."""
        said: list[bool] = []
        self.does(lambda engine: said.append(engine.work.give_up(purpose)))
        return said

    def question(
        self, what: object, within: float = 4.0, lane: CallLane | None = None
    ) -> Operation[Any]:
        """Return an operation that asks the server."""
        return call(self.server, lambda reply: (what, reply), object, Seconds(within), lane)

    def asks(self, what: object) -> AskStep[Any, Any]:
        """Return the step of that."""
        return AskStep(self.server, lambda reply: (what, reply))

    def answers(self, answer: object = "yes", times: int = 1, place: int = 0) -> None:
        """Have the server answer one of the questions that it has."""
        _, reply = self.world.asked.pop(place)
        for _ in range(times):
            reply.tell(answer)
        if not self.world.crashes:
            self.stage.settle()

    @property
    def asked(self) -> list[Any]:
        """What the server was asked, and has not answered."""
        return [what for what, _ in self.world.asked]

    @property
    def ends(self) -> list[Any]:
        """How operations ended, in the order of their beginning."""
        return [end for _, ends in sorted(self.world.ends.items()) for end in ends]


@pytest.fixture
def play() -> Iterator[Play]:
    """Return an engine without operations."""
    play = Play()
    yield play
    assert not play.world.memory.in_hand
    play.stage.stop()


# --- the model ----------------------------------------------------------------------------------------


def busy(play: Play, number: int) -> Operation[str]:
    """Ask, wait, and ask three at once, two of them at a time."""
    world = play.world
    try:
        got = yield from call(
            play.server, lambda reply: (number, reply), int, Seconds(4.0), world.lane
        )
        world.may_crash()
        assert got == number
        yield from delay(Seconds(1.0))
        steps = [Through(world.lane, play.asks(each)) for each in range(3)]
        many = yield from gather([*map(within_9, steps)], window=2)
        world.may_crash()
        assert [each for each in many if not isinstance(each, Failure)] == [
            each for each, outcome in enumerate(many) if not isinstance(outcome, Failure)
        ]
    except GivenUpError:
        yield from delay(Seconds(0.5))
        world.may_crash()
        raise
    return "done"


def within_9(step: object) -> object:
    """Return the step, to be waited for 9 s."""
    return next(wait_for(step, Seconds(9.0)))


@pytest.mark.parametrize("crashes", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(25))
def test_every_operation_has_one_end_or_is_named_as_lost(seed: int, crashes: float) -> None:
    play, chance = Play(seed, crashes), random.Random(seed + 1)
    world, steps = play.world, play.stage.runtime
    for _ in range(150):
        match chance.choices(("begin", "answer", "give up", "drop", "wait"), (25, 35, 4, 1, 35))[0]:
            case "begin":
                play.begin(busy(play, len(play.purposes)), within=20.0, grace=3.0)
            case "answer" if world.asked:
                place = chance.randrange(len(world.asked))
                play.answers(play.asked[place], chance.choice((0, 1, 1, 1, 2)), place)
            case "give up" if play.purposes:
                purpose = chance.choice(play.purposes)
                play.gives_up(purpose)
            case _:
                play.stage.pass_time(0.3)
        for _ in range(chance.choice((0, 1, 5))):
            steps.step()  # type: ignore[attr-defined]
    world.crashes = 0.0
    play.stage.advance(60.0)
    begun = len(play.purposes)
    assert world.memory.running == {}
    assert sorted({*world.ends, *world.lost} - set(range(begun))) == []
    if not crashes:
        assert world.lost == []
        assert sorted(world.ends) == list(range(begun))
    for ends in world.ends.values():
        assert len(ends) == 1
        assert ends == ["done"] or isinstance(ends[0].error, StepError | GivenUpError)
    assert world.most <= 3
    assert (len(world.lane), world.lane.waiting) == (0, 0)
    play.stage.stop()


# --- outcomes -----------------------------------------------------------------------------------------


def test_an_operation_reads_as_if_it_waited(play: Play) -> None:
    def asks_twice() -> Operation[tuple[Any, Any]]:
        first = yield from play.question("first")
        second = yield from play.question("second")
        return first, second

    play.begin(asks_twice())
    assert play.asked == ["first"]
    play.answers(1)
    assert play.asked == ["second"]
    play.answers(2)
    assert play.ends == [(1, 2)]


def test_an_answer_that_comes_twice_or_late_changes_nothing(play: Play) -> None:
    def asks_twice() -> Operation[tuple[Any, Any]]:
        first = yield from play.question("first")
        second = yield from play.question("second")
        return first, second

    play.begin(asks_twice())
    play.answers(1, times=2)
    play.answers(2, times=2)
    assert play.ends == [(1, 2)]


def test_a_step_that_is_late_raises_and_its_answer_changes_nothing(play: Play) -> None:
    def asks() -> Operation[Any]:
        try:
            yield from play.question("first", within=4.0)
        except LateError as error:
            return (yield from play.question(f"instead: {error}"))

    play.begin(asks())
    play.stage.advance(3.9)
    assert play.asked == ["first"]
    play.stage.advance(0.1)
    assert play.asked == ["first", "instead: nothing came of it within 4 s"]
    play.answers("late")
    play.answers("in time")
    assert play.ends == ["in time"]


def test_what_is_no_answer_is_a_failure(play: Play) -> None:
    play.begin(call(play.server, lambda reply: ("x", reply), int, Seconds(1.0)))
    play.answers("a word")
    assert [type(each.error) for each in play.ends] == [TypeError]


def test_steps_at_once_have_their_outcomes_in_order_so_many_at_a_time(play: Play) -> None:
    play.begin(gather([play.asks(each) for each in "abc"], window=2))
    assert play.asked == ["a", "b"]
    play.answers("B", place=1)
    play.answers("A")
    assert play.asked == ["c"]
    play.answers("C")
    assert play.ends == [["A", "B", "C"]]


def test_a_double_answer_is_not_that_of_another_step(play: Play) -> None:
    play.begin(gather([play.asks(each) for each in "ab"]))
    _, reply = play.world.asked[0]
    play.answers("A")
    reply.tell("and another one")
    play.stage.settle()
    assert play.ends == []
    play.answers("B")
    assert play.ends == [["A", "B"]]


def test_one_of_several_steps_may_fail(play: Play) -> None:
    play.begin(gather([within_9(play.asks("a")), play.asks("b")]))
    play.answers("B", place=1)
    play.stage.advance(9.0)
    [[late, fine]] = play.ends
    assert isinstance(late.error, LateError)
    assert fine == "B"


def test_no_steps_are_done_at_once(play: Play) -> None:
    play.begin(gather([]))
    assert play.ends == [[]]


# --- ends ---------------------------------------------------------------------------------------------


def test_past_its_deadline_an_operation_is_given_up_and_cleans_up(play: Play) -> None:
    def tidy() -> Operation[str]:
        try:
            yield from play.question("work", within=99.0)
        except GivenUpError:
            yield from play.question("tidy")
        return "tidied"

    play.begin(tidy(), within=10.0, grace=3.0)
    play.stage.advance(10.0)
    assert play.asked == ["work", "tidy"]
    play.answers(place=1)
    assert play.ends == ["tidied"]


def test_what_does_not_clean_up_in_its_grace_is_closed(play: Play) -> None:
    def stubborn() -> Operation[Any]:
        while True:
            try:
                yield from play.question("work", within=99.0)
            except GivenUpError:
                continue

    play.begin(stubborn(), within=10.0, grace=3.0)
    play.stage.advance(12.9)
    assert play.ends == []
    play.stage.advance(0.1)
    assert [type(each.error) for each in play.ends] == [GivenUpError]


@pytest.mark.parametrize(("seconds", "end"), [(5.0, type(None)), (5.1, Failure)])
def test_a_delay_as_long_as_the_deadline_ends_in_time(
    play: Play, seconds: float, end: type
) -> None:
    play.begin(delay(Seconds(seconds)), within=5.0)
    play.stage.advance(5.0)
    assert [type(each) for each in play.ends] == [end]


def test_past_its_deadline_one_is_given_up_at_the_step_after_a_delay_that_ended_with_it(
    play: Play,
) -> None:
    def goes_on() -> Operation[None]:
        yield from delay(Seconds(5.0))
        yield from play.question("work", within=99.0)

    play.begin(goes_on(), within=5.0)
    play.stage.advance(5.0)
    assert [type(each.error) for each in play.ends] == [GivenUpError]


@pytest.mark.parametrize("before", [None, 10.0])
def test_an_operation_may_get_less_time_and_never_more(play: Play, before: float | None) -> None:
    def shortens(engine: Engine) -> None:
        given.extend(engine.work.shorten(purpose, Seconds(each)) for each in (3.0, 2.0, 4.0))

    given: list[bool] = []
    purpose = play.begin(play.question("work", within=99.0), within=before)
    play.does(lambda engine: given.append(engine.work.shorten(Purpose(0), Seconds(1.0))))
    play.does(shortens)
    assert given == [False, True, True, False]
    play.stage.advance(1.9)
    assert play.ends == []
    play.stage.advance(0.1)
    assert [type(each.error) for each in play.ends] == [GivenUpError]


def test_one_that_cleans_up_has_its_grace_also_if_it_is_to_have_less_time(play: Play) -> None:
    def tidies() -> Operation[str]:
        try:
            yield from delay(Seconds(99.0))
        except GivenUpError:
            yield from delay(Seconds(2.0))
        return "tidied"

    purpose = play.begin(tidies())
    play.gives_up(purpose)
    play.does(lambda engine: engine.work.shorten(purpose, Seconds(1.0)))
    play.stage.advance(2.0)
    assert play.ends == ["tidied"]


def test_one_is_given_up_once_and_by_its_own_purpose(play: Play) -> None:
    def stays() -> Operation[Any]:
        try:
            yield from delay(Seconds(99.0))
        except GivenUpError:
            yield from delay(Seconds(1.0))

    purpose, other = play.begin(stays()), Purpose(0)
    given = [play.gives_up(each) for each in (other, purpose, purpose)]
    assert given == [[False], [True], [False]]
    play.stage.advance(1.0)
    assert play.ends == [None]


def test_one_that_is_dropped_has_no_end_and_a_step_in_its_finally_breaks_nobody(play: Play) -> None:
    def stubborn() -> Operation[None]:
        try:
            yield from delay(Seconds(1.0))
        finally:
            yield from delay(Seconds(1.0))

    purpose, other = play.begin(stubborn()), play.begin(delay(Seconds(2.0)))
    with capture_logs() as logs:
        play.does(lambda engine: engine.work.drop(purpose))
    assert [each["error"] for each in logs if each["log_level"] == "error"] == ["RuntimeError"]
    play.stage.advance(9.0)
    assert list(play.world.ends) == [other.number]


def test_a_bug_in_one_ends_that_one_alone_and_says_where(play: Play) -> None:
    def fails() -> Operation[None]:
        yield from delay(Seconds(1.0))
        raise KeyError("hunter2")

    play.begin(fails())
    play.begin(delay(Seconds(2.0)))
    play.stage.advance(3.0)
    failure, fine = play.ends
    assert isinstance(failure.error, KeyError)
    assert failure.where.startswith("test_operations.py:")
    assert "hunter2" not in repr(failure)
    assert fine is None
    assert play.stage.endings == []


def test_a_failure_keeps_nothing_in_memory_that_the_operation_had(play: Play) -> None:
    class Secret:
        pass

    had: list[Any] = []

    def fails() -> Operation[None]:
        secret = Secret()
        had.append(weakref.ref(secret))
        yield from delay(Seconds(1.0))
        try:
            had.remove(secret)
        except ValueError as error:
            raise StepError("away") from error

    play.begin(fails())
    play.stage.advance(1.0)
    gc.collect()
    assert isinstance(play.ends[0].error, StepError)
    assert had[0]() is None


def test_an_end_may_begin_the_next_and_a_crash_over_it_is_named_for_that_one_alone(
    play: Play,
) -> None:
    def begins_another(engine: Engine, purpose: Purpose) -> None:
        if purpose.number == 0:
            engine.work.begin(other, gather([]))
            raise SystemExit("a bug")

    other = Purpose(7)
    play.world.at_end = begins_another
    play.begin(gather([]))
    play.stage.advance(1.0)
    assert play.world.lost == [0]
    assert play.world.ends[7] == [[]]


def test_the_log_of_a_crash_over_an_end_does_not_show_its_result(play: Play) -> None:
    def returns_a_secret() -> Operation[str]:
        yield from delay(Seconds(1.0))
        return CANARY

    def crashes(_engine: Engine, _purpose: Purpose) -> None:
        raise RuntimeError("a bug")

    play.world.at_end = crashes
    play.begin(returns_a_secret())
    with capture_logs(processors=[format_exc_info]) as logs:
        play.stage.advance(2.0)
    shown = [line["exception"] for line in logs if "exception" in line]
    assert ["a bug" in each for each in shown] == [True]
    assert CANARY not in repr(logs)


def test_one_that_gives_itself_up_is_a_crash(play: Play) -> None:
    engine: list[Engine] = []

    def gives_itself_up() -> Operation[None]:
        yield from delay(Seconds(1.0))
        engine[0].work.give_up(play.purposes[0])

    play.does(engine.append)
    play.begin(gives_itself_up())
    play.stage.advance(1.0)
    assert [type(each.error) for each in play.ends] == [RuntimeError]


# --- crashes ------------------------------------------------------------------------------------------


def crashes(_engine: Engine) -> None:
    raise SystemExit("a bug")


def test_a_crash_beside_an_operation_changes_nothing_of_it(play: Play) -> None:
    def works() -> Operation[Any]:
        answer = yield from play.question("before", within=4.0)
        yield from delay(Seconds(3.0))
        return answer

    play.begin(works())
    play.stage.advance(1.0)
    play.does(crashes)
    play.answers("yes")
    play.stage.advance(1.0)
    play.does(crashes)
    play.stage.advance(1.9)
    assert play.ends == []
    play.stage.advance(0.2)
    assert play.ends == ["yes"]


def test_a_deadline_does_not_begin_anew_with_a_life(play: Play) -> None:
    play.begin(play.question("x", within=4.0))
    for _ in range(3):
        play.stage.advance(1.0)
        play.does(crashes)
    play.stage.advance(0.9)
    assert play.ends == []
    play.stage.advance(0.2)
    assert isinstance(play.ends[0].error, LateError)


def test_a_crash_in_one_loses_that_one_and_frees_its_places(play: Play) -> None:
    lane = CallLane(1)

    def crashes_after() -> Operation[None]:
        yield from play.question("first", lane=lane)
        raise SystemExit("a bug")

    play.begin(crashes_after())
    play.begin(play.question("second", lane=lane))
    assert play.asked == ["first"]
    play.answers()
    play.stage.advance(1.0)
    assert play.world.lost == [0]
    assert play.asked == ["second"]


def test_a_crash_while_steps_are_begun_frees_the_places_of_those_that_were(play: Play) -> None:
    def crashes_asking(_reply: Port[Any]) -> Any:
        raise SystemExit("a bug")

    lane = CallLane(1)
    steps = [Through(lane, play.asks("first")), AskStep(play.server, crashes_asking)]
    play.begin(gather(steps))
    play.stage.advance(1.0)
    assert play.world.lost == [0]
    assert len(lane) == 0


def test_a_step_whose_begin_crashes_the_actor_is_begun_in_the_next_life(play: Play) -> None:
    lane, attempts = CallLane(1), [SystemExit("a bug")]

    def asks(reply: Port[Any]) -> Any:
        if attempts:
            raise attempts.pop()
        return "second", reply

    play.begin(play.question("first", lane=lane))
    play.begin(call(play.server, asks, str, Seconds(9.0), lane))
    play.answers()
    play.stage.advance(1.0)
    assert play.asked == ["second"]
    play.answers()
    assert play.ends[-1] == "yes"


def test_an_engine_of_a_life_that_has_ended_drives_nothing(play: Play) -> None:
    engines: list[Operations[Purpose]] = []
    play.does(lambda engine: engines.append(engine.work))
    play.does(crashes)
    play.stage.advance(1.0)
    with pytest.raises(RuntimeError, match="has ended"):
        engines[0].begin(Purpose(0), delay(Seconds(1.0)))
    assert play.world.memory.running == {}


def test_the_answer_to_a_life_that_hangs_is_not_driven_in_the_next_one(play: Play) -> None:
    memory: OperationsMemory[Purpose] = OperationsMemory()
    own: list[Operations[Purpose]] = []

    def asks(engine: Engine) -> None:
        own.append(engine.operations(memory, engine.take))
        own[0].begin(Purpose(0), play.question("a"))

    play.does(asks)
    play.does(crashes)
    play.stage.advance(1.0)
    memory.engine = own[0]  # one that hangs has not let go
    play.answers()
    assert len(memory.running) == 1


# --- lanes of calls -----------------------------------------------------------------------------------


def test_calls_wait_in_order_for_room_and_their_deadline_for_them(play: Play) -> None:
    lane = CallLane(2)
    for name in "abc":
        play.begin(play.question(name, within=4.0, lane=lane))
    assert play.asked == ["a", "b"]
    play.stage.advance(3.0)
    play.answers("B", place=1)
    assert play.asked == ["a", "c"]
    play.stage.advance(3.9)
    assert isinstance(play.world.ends[0][0].error, LateError)
    assert 2 not in play.world.ends
    play.answers("C", place=1)
    assert play.world.ends[2] == ["C"]


@pytest.mark.parametrize("answer_comes", [0, 1, 2])
def test_a_place_is_freed_once_however_often_the_answer_comes(
    play: Play, answer_comes: int
) -> None:
    lane = CallLane(1)
    for name in "abc":
        play.begin(play.question(name, within=4.0, lane=lane))
    play.answers("A", times=answer_comes)
    play.stage.advance(4.0)
    assert play.asked == (["b", "c"] if answer_comes else ["b"])
    assert len(lane) == 1


def test_who_is_given_up_in_the_line_leaves_it(play: Play) -> None:
    lane = CallLane(1)
    for name in "ab":
        play.begin(play.question(name, within=4.0, lane=lane))
    play.gives_up(play.purposes[1])
    assert lane.waiting == 0


# --- jobs ---------------------------------------------------------------------------------------------


def held_lanes() -> HandLanes:
    """Return lanes in which jobs wait for the test."""
    lanes = HandLanes()
    lanes.is_paused = True
    return lanes


def test_a_job_returns_what_its_work_returns_and_raises_what_it_raises(play: Play) -> None:
    def fails() -> None:
        raise OSError("no space")

    lanes = held_lanes()
    play.begin(job(lambda: "done", lanes[0]))
    play.begin(job(fails, lanes[0]))
    for _ in range(2):
        lanes.work_one()
    play.stage.settle()
    assert play.ends[0] == "done"
    assert str(play.ends[1].error) == "no space"


def test_a_bug_in_a_job_says_its_type_alone(play: Play) -> None:
    lanes = held_lanes()
    play.begin(job(partial(dict[str, str]().__getitem__, "hunter2"), lanes[0]))
    with capture_logs() as logs:
        lanes.work_one()
    play.stage.settle()
    assert str(play.ends[0].error) == "failed with KeyError"
    assert "hunter2" not in repr(logs)


def test_the_time_of_a_job_counts_from_when_a_thread_is_at_it(play: Play) -> None:
    lanes = held_lanes()
    play.begin(job(lambda: "done", lanes[0], Seconds(5.0)))
    play.stage.advance(60.0)
    assert play.ends == []
    lanes.begin()
    play.stage.advance(10.0)
    assert isinstance(play.ends[0].error, LateError)
    assert lanes.abandoned == lanes.begun


def test_a_job_of_which_nobody_waits_any_more_is_abandoned(play: Play) -> None:
    lanes = held_lanes()
    purpose = play.begin(job(lambda: "done", lanes[0]))
    play.does(lambda engine: engine.work.drop(purpose))
    assert lanes.abandoned == lanes.begun


# --- what operations yield ----------------------------------------------------------------------------


def test_what_is_described_becomes_a_step_by_the_actors_hands() -> None:
    class Described(Engine):
        @override
        def started(self) -> None:
            hands = partial(asks_for, play.server)
            self.work = self.operations(self.world.memory, self.take, hands)
            self.work.recover()

    def asks_for(server: Port[Any], word: str) -> AskStep[Any, Any]:
        return AskStep(server, lambda reply: (word, reply))

    def says() -> Generator[Any, Any, Any]:
        return (yield from wait_for("described"))

    play = Play()
    stage = stage_for((ENGINE, lambda _: Described(play.world)))
    stage.start()
    stage.tell(ENGINE, lambda engine: engine.work.begin(Purpose(0), says()))
    play.stage.settle()
    assert play.asked == ["described"]
    stage.stop()
    play.stage.stop()
