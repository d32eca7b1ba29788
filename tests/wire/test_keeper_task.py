"""The keeper of the watches at its end, however that comes: who waits for something is answered."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator

import pytest
from typing_extensions import override

from kube.api_loop import ApiLoop, SharedCredentials
from kube.credentials.access import Access, Credentials
from kube.streams.keeper import KeeperTask, WatchKeeper
from kube.streams.rules import WatchRules
from kube.streams.shared import SharedStreams, WatchMemory
from messages.api import ApiFailure, FailureKind
from messages.units import Seconds
from messages.watches import ListTarget, TargetListed, WatchFact, WatchFailed, WatchTarget
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

WEB = WatchTarget(path="/api/v1/namespaces/default/secrets", field_selector="metadata.name=web")


class Nobody(Credentials):
    """Credentials for a server that there is not."""

    @override
    def access(self) -> Access:
        return Access(server="https://127.0.0.1:1", user="u")

    @override
    def reload(self, refused: Access) -> Access:
        return refused


class Ends:
    """A keeper of an agent, and what it says of its end."""

    def __init__(self, streams: SharedStreams) -> None:
        self.bugs: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
        self.listed: Probe[TargetListed] = Probe()
        self.asked = ListTarget(target=WEB, reply_to=self.listed, mark=3)
        self._streams = streams
        self.task = KeeperTask(streams, self._keeper, self.bugs.put)

    def takes_a_turn(self) -> None:
        """Return when the loop has run what was on it."""
        turn: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.task.call(lambda _keeper: turn.put(None))
        turn.get(timeout=PATIENCE)

    def _keeper(self) -> WatchKeeper:
        credentials = SharedCredentials(Nobody(), self._streams.loop, Seconds(1.0))
        return WatchKeeper(credentials, WatchMemory(), self._streams, ManualClock())


@pytest.fixture
def streams() -> Iterator[SharedStreams]:
    loop = ApiLoop()
    yield SharedStreams(loop, WatchRules(user_agent="test"))
    loop.close(PATIENCE)


@pytest.fixture
def ends(streams: SharedStreams) -> Ends:
    return Ends(streams)


@pytest.fixture
def other(streams: SharedStreams) -> Ends:
    """Another agent's, on the same loop."""
    return Ends(streams)


def is_lost(answer: TargetListed) -> bool:
    failure = answer.outcome
    return isinstance(failure, ApiFailure) and failure.kind is FailureKind.LOST


def is_well(ends: Ends) -> bool:
    """Return whether the keeper still lists."""
    ends.task.call(lambda keeper: keeper.list_once(ends.asked))
    return not is_lost(ends.listed.next())


@pytest.mark.parametrize("turns", [0, 2], ids=["at once", "when the keeper waits"])
def test_a_list_that_was_not_begun_when_the_loop_ends_is_lost(
    ends: Ends, other: Ends, turns: int
) -> None:
    def ask_and_stop(keeper: WatchKeeper) -> None:
        keeper.list_once(ends.asked)
        asyncio.get_running_loop().stop()

    for _ in range(turns):
        ends.takes_a_turn()
    ends.task.call(ask_and_stop)
    answer = ends.listed.next()
    assert (answer.target, answer.mark, is_lost(answer)) == (WEB, 3, True)
    ends.bugs.get(timeout=PATIENCE)
    ends.listed.expect_silence()
    # The loop was for all.
    other.bugs.get(timeout=PATIENCE)


def test_a_list_that_is_asked_for_while_the_keeper_ends_is_lost(ends: Ends) -> None:
    def end_and_ask(keeper: WatchKeeper) -> None:
        keeper.stop_all()
        keeper.list_once(ends.asked)

    ends.task.call(end_and_ask)
    assert is_lost(ends.listed.next())


def test_a_keeper_that_is_closed_answers_that_it_is_lost_and_the_other_goes_on(
    ends: Ends, other: Ends
) -> None:
    ends.task.close()
    ends.task.call(lambda keeper: keeper.list_once(ends.asked))
    assert is_lost(ends.listed.next())
    assert ends.bugs.empty()
    assert is_well(other)


def test_one_whose_loop_is_over_says_that_it_takes_nothing(
    streams: SharedStreams, ends: Ends
) -> None:
    assert ends.task.call(lambda _keeper: None)
    streams.loop.thread.close(PATIENCE)
    assert not ends.task.call(lambda _keeper: None)
    assert is_well(Ends(streams))


def test_who_watches_is_told_whatever_ends_the_keeper_and_the_other_goes_on(
    ends: Ends, other: Ends
) -> None:
    facts: Probe[WatchFact] = Probe()

    def watch_and_leave(keeper: WatchKeeper) -> None:
        keeper.watch(WEB, facts)
        raise SystemExit(3)

    ends.task.call(watch_and_leave)
    told = facts.next()
    assert isinstance(told, WatchFailed)
    assert told.failure.kind is FailureKind.LOST
    assert isinstance(ends.bugs.get(timeout=PATIENCE), SystemExit)
    facts.expect_silence()
    assert is_well(other)
    assert other.bugs.empty()
