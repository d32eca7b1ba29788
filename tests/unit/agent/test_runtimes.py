"""What the agent asks somebody's class before anything runs: what the Node is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from typing_extensions import override

from actorlet import NodeReport
from agent.runtimes import first_node
from messages.units import Seconds
from runtimes.provider.calls import ThreadedCalls
from tests.support.provider.provider_stage import loaded_of
from tests.support.provider.providers import AbleProvider, ObedientProvider


class AsyncProvider(ObedientProvider):
    """Says what its Node is, but not at once."""

    @override
    async def node(self) -> NodeReport:
        return NodeReport(labels={"zone": "b"})


class HangingProvider(AbleProvider):
    """Never says what its Node is."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    @override
    def node(self) -> NodeReport:
        self.gate.wait()
        return NodeReport()


@pytest.fixture
def calls() -> Iterator[ThreadedCalls]:
    calls = ThreadedCalls()
    yield calls
    calls.close()


def test_a_class_that_says_nothing_of_the_node_is_not_asked(calls: ThreadedCalls) -> None:
    assert first_node(loaded_of(ObedientProvider()), calls) is None


def test_the_first_answer_is_there_before_anything_runs(calls: ThreadedCalls) -> None:
    plain = first_node(loaded_of(AbleProvider()), calls)
    later = first_node(loaded_of(AsyncProvider()), calls)
    assert plain is not None
    assert later is not None
    assert (plain.capacity, later.labels) == ({"cpu": "64"}, {"zone": "b"})


def test_an_answer_that_is_wrong_or_missing_holds_up_no_start(calls: ThreadedCalls) -> None:
    wrong, raising, hanging = AbleProvider(), AbleProvider(), HangingProvider()
    wrong.said_of_node = 3
    raising.fail("node", RuntimeError("no"))
    assert first_node(loaded_of(wrong), calls) is None
    assert first_node(loaded_of(raising), calls) is None
    assert first_node(loaded_of(hanging), calls, Seconds(0.01)) is None
    hanging.gate.set()
