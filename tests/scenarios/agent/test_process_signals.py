"""The main thread's life: what it does about signals, systemd and an agent that gives up."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from agent import garbage
from agent.process import HANDLED, SAME_STOP, LastCalls, Process, leave
from agent.systemd import Systemd
from kernel import EXIT_UNCLEAN, ActorSystem, SupervisorSpec
from messages.units import Seconds
from tests.support.kernel.players import Action, Gate, Troupe, key, nothing, raising
from tests.support.patience import PATIENCE

WEB = key("web")
LONG = Seconds(PATIENCE)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Give the signals back to pytest."""
    before = {number: signal.getsignal(number) for number in HANDLED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class ToldAgent:
    """An agent of one player, which does what the test says when it is asked for something."""

    def __init__(
        self, troupe: Troupe, at_start: Action = nothing, at_stop: Action = nothing
    ) -> None:
        web = troupe.child(WEB, at_start=at_start, at_stop=at_stop)
        self.system = ActorSystem(SupervisorSpec(name="root", children=(web,), intensity=0))
        self.at_rescan: Callable[[], None] = lambda: None
        self.last_calls: LastCalls = LastCalls()
        self.answers: Iterator[Callable[[], bool]] = iter(())

    def rescan(self) -> None:
        self.at_rescan()

    def is_responsive(self, within: Seconds) -> bool:  # noqa: ARG002  # it answers at once
        return next(self.answers, bool)()  # more questions may come before a signal is handled


def send(number: signal.Signals) -> Action:
    """Return an action that sends this process a signal."""
    return lambda _player: os.kill(os.getpid(), number)


def events(logs: list[MutableMapping[str, Any]]) -> list[str]:
    """Return what was logged, without what the kernel says."""
    return [event["event"] for event in logs if not event["event"].startswith(("actor ", "superv"))]


def test_hangup_rescans_and_terminate_stops_in_order(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGHUP))
    agent.at_rescan = lambda: signal.raise_signal(signal.SIGTERM)
    assert Process(agent, Systemd({}), LONG).run() == 0
    troupe.diary.expect("web starts 1", "web stops")
    assert [event["signal"] for event in logs if "signal" in event] == ["SIGHUP", "SIGTERM"]
    assert logs[-1]["event"] == "stopped"


class AskedCalls(LastCalls):
    """Calls that go on until somebody asks for them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    @override
    def __len__(self) -> int:
        number = super().__len__()
        self.asked.set()
        return number


def test_the_end_waits_for_calls_that_leave_something_behind_when_they_are_cut_off(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent, calls = ToldAgent(troupe, at_start=send(signal.SIGTERM)), AskedCalls()
    agent.last_calls = calls
    ends = [calls.begin(), calls.begin()]

    def end_them() -> None:
        assert calls.asked.wait(LONG)
        for end in ends:
            end()

    ender = threading.Thread(target=end_them)
    ender.start()
    assert Process(agent, Systemd({}), LONG, last_calls_within=LONG).run() == 0
    ender.join()
    assert events(logs)[-1] == "stopped"
    assert "ending while sandboxes are being made" not in events(logs)


def test_calls_that_do_not_end_keep_the_end_waiting_for_a_moment_only(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM))
    agent.last_calls.begin()
    assert Process(agent, Systemd({}), LONG, last_calls_within=Seconds(0.01)).run() == 0
    assert events(logs)[-2:] == ["ending while sandboxes are being made", "stopped"]


def test_a_second_signal_ends_the_wait_for_the_last_calls(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM))
    agent.last_calls.begin()

    def send_again() -> None:
        assert agent.system.wait(LONG) is not None
        threading.Event().wait(SAME_STOP)
        os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=send_again)
    sender.start()
    assert Process(agent, Systemd({}), LONG, last_calls_within=LONG).run() == EXIT_UNCLEAN
    sender.join()
    assert events(logs)[-1] == "ending at once"


def test_interrupt_stops_as_well(troupe: Troupe) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGINT))
    assert Process(agent, Systemd({}), LONG).run() == 0
    troupe.diary.expect("web starts 1", "web stops")


def test_a_second_signal_ends_it_at_once_while_something_hangs(
    troupe: Troupe, gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    def hang(player: Any) -> None:
        # One that comes at once is the first again, as ``make`` passes it on.
        send(signal.SIGTERM)(player)
        threading.Event().wait(SAME_STOP)
        send(signal.SIGTERM)(player)
        gate()

    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM), at_stop=hang)
    assert Process(agent, Systemd({}), LONG).run() == 1
    assert logs[-1]["why"] == "a second signal to stop"


def test_a_signal_that_is_passed_on_twice_is_one_stop(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM), at_stop=send(signal.SIGTERM))
    assert Process(agent, Systemd({}), LONG).run() == 0
    assert "ending at once" not in events(logs)


def test_who_does_not_answer_the_watchdog_is_asked_again_before_its_patience_ends(
    troupe: Troupe, manager: socket.socket
) -> None:
    asked: list[float] = []

    def answer(*, well: bool) -> Callable[[], bool]:
        def reply() -> bool:
            asked.append(time.monotonic())
            return well

        return reply

    agent = ToldAgent(troupe)
    agent.answers = iter([answer(well=False), answer(well=True), terminate])
    # A second's patience: it is due after half of it, and then an eighth of that half later.
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "1000000"})
    assert Process(agent, systemd, LONG).run() == 0
    assert asked[1] - asked[0] < 0.4


def test_stopping_has_a_deadline(
    troupe: Troupe, gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM), at_stop=gate)
    assert Process(agent, Systemd({}), Seconds(0.05)).run() == 1
    assert logs[-1]["why"] == "stopping takes too long"


def test_a_root_that_gives_up_is_code_70(
    troupe: Troupe, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe, at_start=raising(RuntimeError("a bug")))
    assert Process(agent, Systemd({}), LONG).run() == 70
    assert (logs[-1]["event"], logs[-1]["log_level"]) == ("stopped", "error")


@pytest.fixture
def collector() -> Iterator[None]:
    """Leave the collector of garbage as it was."""
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("collector")
def test_what_is_in_memory_when_all_has_settled_is_out_of_the_collector_s_sight(
    troupe: Troupe, manager: socket.socket
) -> None:
    def stop_when_ready() -> None:
        assert manager.recv(100) == b"READY=1"
        os.kill(os.getpid(), signal.SIGTERM)

    garbage.start()
    assert gc.get_threshold() == garbage.WHILE_STARTING
    looks: list[int] = []
    gc.callbacks.append(lambda _phase, info: looks.append(info["generation"]))
    stopper = threading.Thread(target=stop_when_ready)
    stopper.start()
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname()})
    assert Process(ToldAgent(troupe), systemd, LONG, settled_after=Seconds(0.0)).run() == 0
    stopper.join()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold() == garbage.ONCE_SETTLED
    assert 2 not in looks, "all actors stand still for a look at everything"


def test_signals_after_the_end_change_nothing(troupe: Troupe) -> None:
    agent = ToldAgent(troupe, at_start=send(signal.SIGTERM))
    assert Process(agent, Systemd({}), LONG).run() == 0
    assert {signal.getsignal(number) for number in HANDLED} == {signal.SIG_IGN}


@pytest.mark.parametrize("code", [0, 70])
def test_the_end_is_the_end_whatever_still_runs(code: int) -> None:
    child = os.fork()
    if child == 0:
        leave(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code


# systemd, and what needs an agent that is up.


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Stand in for systemd: a socket that hears what it is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "notify"))
        server.settimeout(PATIENCE)
        yield server


def told(manager: socket.socket) -> list[bytes]:
    """Return all that was told."""
    manager.settimeout(0.0)
    messages = []
    while True:
        try:
            messages.append(manager.recv(100))
        except BlockingIOError:
            return messages


def terminate() -> bool:
    """Say that all is well, and that it is time to stop."""
    signal.raise_signal(signal.SIGTERM)
    return True


def wants_a_dump() -> bool:
    """Say that all is well, and that somebody wants to see it."""
    signal.raise_signal(signal.SIGUSR1)
    return True


def test_user_signal_1_dumps_the_tree_and_every_stack(
    troupe: Troupe, manager: socket.socket, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe)
    agent.answers = iter([wants_a_dump, terminate])
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "2000"})
    assert Process(agent, systemd, LONG).run() == 0
    actors = {event["actor"]: event["state"] for event in logs if event["event"] == "actor"}
    assert set(actors) == {"root", "web"}
    stacks = {event["thread"]: event["stack"] for event in logs if event["event"] == "thread"}
    assert {"MainThread", "control"} <= set(stacks)
    assert "in _dump" in stacks["MainThread"]


def test_systemd_hears_of_the_start_of_life_while_there_is_some_and_of_the_stop(
    troupe: Troupe, manager: socket.socket, logs: list[MutableMapping[str, Any]]
) -> None:
    agent = ToldAgent(troupe)
    agent.answers = iter([lambda: True, lambda: False, terminate])
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "100000"})
    assert Process(agent, systemd, LONG).run() == 0
    # Three times it was due: the second time nobody answered, and nothing was said.
    assert told(manager) == [
        b"READY=1",
        b"WATCHDOG=1",
        b"STATUS=the root or PodManager does not answer",
        b"WATCHDOG=1",
        b"STATUS=running",
        b"STOPPING=1",
    ]
    assert events(logs).count("watchdog not fed") == 1


def test_while_it_stops_systemd_is_told_that_it_lives_though_nobody_answers(
    troupe: Troupe, manager: socket.socket, gate: Gate
) -> None:
    agent = ToldAgent(troupe, at_stop=gate)
    agent.answers = iter([terminate])
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "20000"})
    assert Process(agent, systemd, Seconds(0.1)).run() == 1
    messages = told(manager)
    assert b"STOPPING=1" in messages
    assert b"WATCHDOG=1" in messages[messages.index(b"STOPPING=1") :]


def test_ready_is_said_only_once_everything_has_started(
    troupe: Troupe, manager: socket.socket
) -> None:
    heard: list[list[bytes]] = []

    agent = ToldAgent(troupe, at_start=lambda _player: heard.append(told(manager)))
    agent.answers = iter([terminate])
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "2000"})
    assert Process(agent, systemd, LONG).run() == 0
    assert heard == [[]]
    assert told(manager)[0] == b"READY=1"


def test_an_agent_that_is_stopped_before_it_has_started_was_never_ready(
    troupe: Troupe, manager: socket.socket
) -> None:
    def start_late(player: Any) -> None:
        send(signal.SIGTERM)(player)
        # Goes on starting until the stop has arrived.
        assert manager.recv(100) == b"STOPPING=1"

    agent = ToldAgent(troupe, at_start=start_late)
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname()})
    assert Process(agent, systemd, LONG).run() == 0
    assert told(manager) == []
