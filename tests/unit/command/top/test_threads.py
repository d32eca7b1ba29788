"""The threads of the live view: what they ask, what they read, and how they end."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Event

import pytest

from command.agent_api import AgentApi
from command.failures import StrangeAnswerError, UnreachableError
from command.server_names import server_name
from command.top.asking import (
    Asker,
    EventsFollower,
    EventsLost,
    EventsRead,
    Following,
    Reply,
    document_at,
    required,
)
from tests.support.agent.process import eventually
from tests.support.command.agents import answering, http, says
from tests.support.command.live_agent import STREAM, live_agent
from tests.support.patience import PATIENCE

PAUSES = (0.01, 0.02)


def test_of_several_questions_of_one_topic_the_newest_is_asked() -> None:
    told: SimpleQueue[Reply] = SimpleQueue()
    may_go_on, has_begun = Event(), Event()

    def first(_ask: object) -> str:
        has_begun.set()
        assert may_go_on.wait(PATIENCE)
        return "first"

    with live_agent() as (_, api):
        asker = Asker(api, told.put)
        asker.start()
        asker.ask("list", 1, first)
        assert has_begun.wait(PATIENCE)
        asker.ask("list", 2, lambda _ask: "second")
        asker.ask("list", 3, lambda _ask: "third")
        may_go_on.set()
        assert [told.get(timeout=PATIENCE).answer for _ in range(2)] == ["first", "third"]
        asker.close()
        eventually(lambda: not asker.is_alive)
    assert told.empty()


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        (http(500, '{"error": "pod-manager: it broke"}'), UnreachableError, "500: pod-manager"),
        (http(503, "{}"), UnreachableError, "503"),
        (http(400, '{"error": "sort is x"}'), StrangeAnswerError, "sort is x"),
        (http(200, "<html>"), StrangeAnswerError, "no agent"),
        (b"SSH-2.0-x\r\n\r\n", StrangeAnswerError, "HTTP"),
    ],
)
def test_what_is_no_answer_is_a_sentence(answer: bytes, error: type[Exception], why: str) -> None:
    with answering(says({}, otherwise=answer)) as place, pytest.raises(error, match=why):
        document_at(AgentApi(server_name(place)), "/ui/pods?limit=1")


def test_what_is_not_there_is_none_and_what_has_to_be_there_is_a_sentence() -> None:
    with answering(says({})) as place:
        api = AgentApi(server_name(place))
        assert document_at(api, "/ui/pods/1") is None
        with pytest.raises(StrangeAnswerError, match="nothing at /ui/pods: it is of another"):
            required(lambda path: document_at(api, path), "/ui/pods?limit=1")


def test_events_that_end_are_read_again() -> None:
    told: SimpleQueue[Following] = SimpleQueue()
    with live_agent() as (agent, api):
        follower = EventsFollower(api.place, told.put, pauses=PAUSES)
        follower.start()
        assert told.get(timeout=PATIENCE) == EventsRead()
        eventually(agent.is_read)
        agent.tell("status", uid="7", phase="Running")
        eventually(lambda: follower.changes)
        assert (follower.changes[0].name, follower.changes[0].uid) == ("status", "7")
        agent.cut_events()
        lost = told.get(timeout=PATIENCE)
        assert isinstance(lost, EventsLost)
        assert "ended its events" in lost.why
        assert told.get(timeout=PATIENCE) == EventsRead()
        follower.close()
        eventually(lambda: not follower.is_alive)
    assert told.empty()


def test_whoever_is_dropped_or_hears_nothing_is_told_why() -> None:
    told: SimpleQueue[Following] = SimpleQueue()
    streams = iter((STREAM + b": dropped: too slow\n\n", STREAM))
    hold = Event()

    def answer(connection: object, _path: str) -> None:
        assert hasattr(connection, "sendall")
        connection.sendall(next(streams, http(503, "{}")))
        assert hold.wait(PATIENCE)

    with answering(answer) as place:
        follower = EventsFollower(
            AgentApi(server_name(place)).place, told.put, silence=0.05, pauses=PAUSES
        )
        follower.start()
        whys = [
            each.why
            for each in (told.get(timeout=PATIENCE) for _ in range(5))
            if isinstance(each, EventsLost)
        ]
        follower.close()
        hold.set()
    assert "dropped: too slow" in whys[0]
    assert "silent for 0.05 s" in whys[1]
    assert "503" in whys[2]


def test_pauses_grow_while_nobody_answers_and_end_when_somebody_wants_that() -> None:
    told: SimpleQueue[Following] = SimpleQueue()
    with answering(says({})) as place:
        name = place
    follower = EventsFollower(server_name(name), told.put, pauses=(0.001, 1_000.0))
    follower.start()
    first, second = told.get(timeout=PATIENCE), told.get(timeout=PATIENCE)
    assert isinstance(first, EventsLost)
    assert isinstance(second, EventsLost)
    assert "no agent answers" in first.why
    assert first.pause < 0.01 < second.pause
    follower.retry()
    assert isinstance(told.get(timeout=PATIENCE), EventsLost)
    follower.close()
    eventually(lambda: not follower.is_alive)
