"""The loop of the watches at its end, however that comes: who waits for something is answered."""

from __future__ import annotations

import asyncio
import queue
import random
from collections.abc import Iterator

import pytest
from typing_extensions import override

from kube.clients import streaming_client
from kube.credentials.access import Access, Credentials
from kube.streams.keeper import WatchKeeper
from kube.streams.loop import WatchLoop
from kube.streams.memory import WatchMemory
from kube.streams.rules import WatchRules
from messages.api import ApiFailure, FailureKind
from messages.watches import ListTarget, TargetListed, WatchFact, WatchFailed, WatchTarget
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.probe import Probe

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
    """A loop, and what it says of its end."""

    def __init__(self) -> None:
        self.bugs: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
        self.listed: Probe[TargetListed] = Probe()
        self.asked = ListTarget(target=WEB, reply_to=self.listed, mark=3)
        self.loop = WatchLoop(self._keeper, self.bugs.put)

    def _keeper(self) -> WatchKeeper:
        rules = WatchRules(user_agent="test")
        chance = random.Random(3)
        return WatchKeeper(Nobody(), WatchMemory(), rules, streaming_client, chance, ManualClock())


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.loop.close()


def is_lost(answer: TargetListed) -> bool:
    failure = answer.outcome
    return isinstance(failure, ApiFailure) and failure.kind is FailureKind.LOST


def test_a_list_that_was_not_begun_when_the_loop_ends_is_lost(ends: Ends) -> None:
    def ask_and_stop(keeper: WatchKeeper) -> None:
        keeper.list_once(ends.asked)
        asyncio.get_running_loop().stop()

    ends.loop.call(ask_and_stop)
    answer = ends.listed.next()
    assert (answer.target, answer.mark, is_lost(answer)) == (WEB, 3, True)
    ends.bugs.get()
    ends.listed.expect_silence()


def test_a_list_that_is_asked_for_while_the_loop_ends_is_lost(ends: Ends) -> None:
    def end_and_ask(keeper: WatchKeeper) -> None:
        keeper.stop_all()
        keeper.list_once(ends.asked)

    ends.loop.call(end_and_ask)
    assert is_lost(ends.listed.next())


def test_a_loop_that_is_over_says_that_it_takes_nothing(ends: Ends) -> None:
    assert ends.loop.call(lambda _keeper: None)
    ends.loop.close()
    assert not ends.loop.call(lambda _keeper: None)


def test_who_watches_is_told_whatever_ends_the_loop(ends: Ends) -> None:
    facts: Probe[WatchFact] = Probe()

    def watch_and_leave(keeper: WatchKeeper) -> None:
        keeper.watch(WEB, facts)
        raise SystemExit(3)

    ends.loop.call(watch_and_leave)
    told = facts.next()
    assert isinstance(told, WatchFailed)
    assert told.failure.kind is FailureKind.LOST
    assert isinstance(ends.bugs.get(), SystemExit)
    facts.expect_silence()
