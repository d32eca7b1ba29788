"""The thread of the probes: told from others, and on the machine's clock."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue

import pytest

from actors.probes.loop import ProbeLoop, ProbeThread
from actors.probes.loop_messages import ProbeEdges
from actors.probes.watched import ExecIsDue, ProbeFact, ProbeMemory, ProbeNews, ProbeTarget
from kernel import SystemClock
from manifests.handlers import ExecAction, TcpSocketAction
from messages.probing import ProbeKind, ProbeOutcome, ProbeResult
from messages.units import Seconds, Timestamp
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.players import Gate
from tests.support.patience import PATIENCE
from tests.support.probes.probe_stage import FIRST, LOOPBACK, key, spec, target

OF_NOW = ProbeTarget(FIRST, LOOPBACK, Timestamp(0.0))


class Listening:
    """A loop and what it told."""

    def __init__(
        self,
        thread: ProbeThread,
        memory: ProbeMemory | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        self.facts: SimpleQueue[ProbeFact] = SimpleQueue()
        self.bugs: SimpleQueue[BaseException] = SimpleQueue()
        self.memory = memory or ProbeMemory(began=None)
        edges = ProbeEdges(clock=clock or SystemClock(), tell=self._take, user_agent="x")
        self.loop = ProbeLoop(self.memory, edges, self.bugs.put, thread)

    def _take(self, facts: Sequence[ProbeFact]) -> None:
        for each in facts:
            self.facts.put(each)


@pytest.fixture
def thread() -> Iterator[ProbeThread]:
    thread = ProbeThread()
    yield thread
    thread.close()


def test_a_probe_is_carried_out_and_its_change_told(thread: ProbeThread) -> None:
    heard = Listening(thread)
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        heard.loop.watch(key(), spec(TcpSocketAction(host="", port=port), period=0.05), OF_NOW)
        news = heard.facts.get(timeout=PATIENCE)
        assert isinstance(news, ProbeNews)
        assert news.result is ProbeResult.SUCCESS
    (answer,) = heard.loop.answers([key(), key(container="other")])
    assert answer.key == key()
    (figures,) = heard.loop.figures([key(), key(container="other")])
    assert figures.successes >= 1
    assert heard.loop.lateness().begun >= 1
    heard.loop.close()
    assert heard.bugs.empty()


def test_time_that_a_test_moves_wakes_the_thread(thread: ProbeThread) -> None:
    clock = ManualClock()
    # As if the process were old: nothing is spread then.
    heard = Listening(thread, ProbeMemory(began=Seconds(-1e9)), clock)
    exec_spec = spec(ExecAction(command=("ready",)), ProbeKind.LIVENESS, initial_delay=50.0)
    heard.loop.watch(key(ProbeKind.LIVENESS), exec_spec, target())
    clock.move(type(exec_spec.period)(100.0))
    due = heard.facts.get(timeout=PATIENCE)
    assert isinstance(due, ExecIsDue)
    heard.loop.note(due.key, due.run, ProbeOutcome(ProbeResult.FAILURE, "no"))
    news = heard.facts.get(timeout=PATIENCE)
    assert isinstance(news, ProbeNews)
    heard.loop.forget(due.key)
    end = time.monotonic() + PATIENCE
    while heard.memory.watched and time.monotonic() < end:
        heard.loop.answers([])
    assert heard.memory.watched == {}
    heard.loop.close()


def test_a_bug_in_the_loop_is_told_and_the_next_loop_goes_on(thread: ProbeThread) -> None:
    heard = Listening(thread)

    def fail(_facts: Sequence[ProbeFact]) -> None:
        raise RuntimeError("a bug")

    edges = ProbeEdges(clock=SystemClock(), tell=fail, user_agent="x")
    heard.loop.close()
    broken = ProbeLoop(heard.memory, edges, heard.bugs.put, thread)
    exec_spec = spec(ExecAction(command=("ready",)), period=0.05)
    broken.watch(key(), exec_spec, OF_NOW)
    assert isinstance(heard.bugs.get(timeout=PATIENCE), RuntimeError)
    following = Listening(thread, heard.memory)
    due = following.facts.get(timeout=PATIENCE)
    assert isinstance(due, ExecIsDue)
    broken.close()
    following.loop.close()


def test_a_loop_that_was_replaced_ends_and_says_nothing(thread: ProbeThread) -> None:
    first = Listening(thread)
    second = Listening(thread, first.memory)
    first.loop.forget(key())
    first.loop.close()
    assert first.bugs.empty()
    second.loop.close()


def test_closing_waits_for_nobody_and_the_next_loop_begins_when_the_last_turn_has_ended(
    gate: Gate, thread: ProbeThread
) -> None:
    heard = Listening(thread)
    heard.loop.close()
    busy = ProbeLoop(
        heard.memory,
        ProbeEdges(clock=SystemClock(), tell=gate, user_agent="x"),
        heard.bugs.put,
        thread,
    )
    busy.watch(key(), spec(ExecAction(command=("ready",)), period=0.05), OF_NOW)
    gate.reached()
    busy.close()
    following = Listening(thread, heard.memory)
    assert following.facts.empty()
    gate.open()
    assert isinstance(following.facts.get(timeout=PATIENCE), ExecIsDue)
    following.loop.close()


@pytest.mark.parametrize("times", [1, 2])
def test_closing_may_be_repeated(times: int, thread: ProbeThread) -> None:
    heard = Listening(thread)
    for _ in range(times):
        heard.loop.close()
    heard.loop.forget(key())


def test_a_loop_that_is_closed_or_has_a_bug_is_nothing_to_the_other_on_its_thread(
    thread: ProbeThread,
) -> None:
    def fail(_facts: Sequence[ProbeFact]) -> None:
        raise SystemExit(3)

    bugs: SimpleQueue[BaseException] = SimpleQueue()
    well, closed = Listening(thread), Listening(thread)
    edges = ProbeEdges(clock=SystemClock(), tell=fail, user_agent="x")
    broken = ProbeLoop(ProbeMemory(), edges, bugs.put, thread)
    exec_spec = spec(ExecAction(command=("ready",)), period=0.05)
    for each in (broken, closed.loop):
        each.watch(key(), exec_spec, OF_NOW)
    assert isinstance(bugs.get(timeout=PATIENCE), SystemExit)
    closed.facts.get(timeout=PATIENCE)
    closed.loop.close()
    well.loop.watch(key(), exec_spec, OF_NOW)
    assert isinstance(well.facts.get(timeout=PATIENCE), ExecIsDue)
    assert well.bugs.empty()
    names = [each.name for each in threading.enumerate()]
    assert names.count("probes") == 1
