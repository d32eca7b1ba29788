"""EventPoster between those who have something to say and the API server."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from actors.api_calls import NOT_ASKED
from actors.events.poster import EVENT_POSTER, EventMemory, EventPoster
from actors.events.series import BURST
from messages.api import FailureKind, Verb
from messages.events import (
    EventsDescribed,
    EventType,
    ObjectReference,
    PostEvent,
)
from messages.pods import JsonObject
from tests.support.apiserver.fake_api import ALWAYS, FakeApi, asks
from tests.support.kernel.stage import Stage, stage_of
from tests.support.questions import describe_events

NODE = ObjectReference(kind="Node", name="n1", uid="n1")
POD = ObjectReference(kind="Pod", name="web", namespace="shop", uid="u1")


def event(
    message: str = "no", regarding: ObjectReference = NODE, reason: str = "Refused"
) -> PostEvent:
    return PostEvent(regarding=regarding, type=EventType.WARNING, reason=reason, message=message)


class EventStage:
    def __init__(self, play: Stage, api: FakeApi) -> None:
        self.play = play
        self.api = api
        self.store = api.store
        self.store.add({"kind": "Namespace", "metadata": {"name": "shop"}})

    def posts(self, *posts: PostEvent) -> None:
        self.play.tell_all(EVENT_POSTER, *posts)

    def counts(self) -> dict[str, int]:
        """Return message and count of each event at the API server."""
        return {one["message"]: one["count"] for one in self.store.events()}

    def only(self) -> JsonObject:
        (document,) = self.store.events()
        return document

    def methods(self) -> list[str]:
        return [one.partition(" ")[0] for one in self.api.calls.asked()]

    def described(self) -> EventsDescribed:
        return self.play.ask(EVENT_POSTER, describe_events)


@contextmanager
def event_stage() -> Iterator[EventStage]:
    api, memory = FakeApi(), EventMemory()
    poster = (EVENT_POSTER, lambda _play: EventPoster(api.calls, "n1", memory))
    with stage_of(poster) as play:
        yield EventStage(play, api)


@pytest.fixture
def stage() -> Iterator[EventStage]:
    with event_stage() as stage:
        yield stage


def test_an_event_says_who_saw_what_when_and_where(stage: EventStage) -> None:
    stage.posts(event("the mirror is refused"))
    document = {**stage.only()}
    metadata = document.pop("metadata")
    assert metadata["namespace"] == "default"
    assert metadata["name"] == "n1.17979cfe362a0000"
    assert document == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"},
        "type": "Warning",
        "reason": "Refused",
        "message": "the mirror is refused",
        "source": {"component": "actorlet", "host": "n1"},
        "reportingComponent": "actorlet",
        "reportingInstance": "n1",
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
    }


def test_an_event_is_in_the_namespace_of_what_it_is_about(stage: EventStage) -> None:
    stage.posts(event(regarding=POD))
    assert stage.only()["metadata"]["namespace"] == "shop"
    assert stage.only()["involvedObject"]["namespace"] == "shop"


def test_events_of_two_containers_of_a_pod_are_two_though_they_say_the_same(
    stage: EventStage,
) -> None:
    for name in ("init", "main"):
        part = replace(POD, field_path=f"spec.containers{{{name}}}")
        stage.posts(event("present", part), event("present", part))
    paths = {each["involvedObject"]["fieldPath"]: each["count"] for each in stage.store.events()}
    assert paths == {"spec.containers{init}": 2, "spec.containers{main}": 2}


def test_the_containers_of_a_pod_have_one_limit_together(stage: EventStage) -> None:
    parts = [replace(POD, field_path=f"spec.containers{{c{n}}}") for n in range(30)]
    stage.posts(*(event("present", part) for part in parts))
    assert len(stage.store.events()) == BURST


def test_equal_events_are_counted(stage: EventStage) -> None:
    stage.posts(event())
    stage.play.advance(300.0)
    stage.posts(event())
    assert stage.methods() == ["POST", "PATCH"]
    assert stage.only()["count"] == 2
    assert stage.only()["firstTimestamp"] == "2023-11-14T22:13:20Z"
    assert stage.only()["lastTimestamp"] == "2023-11-14T22:18:20Z"


def test_after_ten_quiet_minutes_an_equal_event_is_another_one(stage: EventStage) -> None:
    stage.posts(event())
    stage.play.advance(601.0)
    stage.posts(event())
    assert stage.methods() == ["POST", "POST"]
    assert [one["count"] for one in stage.store.events()] == [1, 1]


def test_many_similar_events_are_combined(stage: EventStage) -> None:
    stage.posts(*(event(f"pod {number}") for number in range(14)))
    counts = stage.counts()
    assert counts == {f"pod {number}": 1 for number in range(10)} | {
        "(combined from similar events): pod 13": 4
    }


def test_an_object_with_too_many_events_is_heard_no_more_for_a_while(stage: EventStage) -> None:
    stage.posts(*(event(reason=f"Reason{number}") for number in range(40)))
    stage.posts(event(regarding=POD))
    assert len(stage.store.events()) == 26
    assert stage.described().dropped == {"spam": 15}

    # One more in five minutes.
    stage.play.advance(300.0)
    stage.posts(event(reason="Late"), event(reason="Later"))
    assert len(stage.store.events()) == 27
    assert stage.described().posted == 27


def test_during_an_outage_equal_events_cost_nothing_but_a_number(stage: EventStage) -> None:
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=3)
    stage.posts(*[event()] * 20, event("another"))
    assert stage.methods() == ["POST"]
    stage.play.advance(10.0)
    assert stage.methods() == ["POST"] * 4
    assert stage.counts() == {"no": 20, "another": 1}
    assert stage.described().posted == 21


@pytest.mark.parametrize("kind", [*sorted(NOT_ASKED), FailureKind.CONFLICT])
def test_an_event_that_says_nothing_wrong_is_tried_again(
    stage: EventStage, kind: FailureKind
) -> None:
    stage.api.calls.fail(kind)
    stage.posts(event("lucky"))
    stage.play.advance(2.0)
    assert stage.counts() == {"lucky": 1}
    assert stage.described() == EventsDescribed(posted=1, dropped={})


def test_an_event_is_given_up_after_twelve_attempts(stage: EventStage) -> None:
    stage.api.calls.fail(FailureKind.SERVER_ERROR, times=12)
    stage.posts(event("unlucky"), event("lucky"))
    stage.play.advance(400.0)
    assert stage.counts() == {"lucky": 1}
    assert stage.described() == EventsDescribed(posted=1, dropped={"given_up": 1})


def test_an_event_that_was_given_up_has_as_many_attempts_when_it_comes_again(
    stage: EventStage,
) -> None:
    stage.api.calls.fail(FailureKind.SERVER_ERROR, times=24)
    stage.posts(event())
    stage.play.advance(400.0)
    stage.posts(event())
    stage.play.advance(400.0)
    assert stage.described().dropped == {"given_up": 2}
    assert stage.methods() == ["POST"] * 24


def test_the_oldest_of_a_thousand_waiting_events_goes_first(stage: EventStage) -> None:
    stage.api.calls.hold()
    things = [ObjectReference(kind="Node", name=f"n{number}") for number in range(1003)]
    stage.posts(*(event(f"of {thing.name}", thing) for thing in things))
    stage.api.calls.release()
    stage.play.settle()
    assert stage.described() == EventsDescribed(posted=1000, dropped={"queue_full": 3})
    # The very first was under way.
    assert "of n0" in stage.counts()
    assert "of n3" not in stage.counts()


def test_a_refused_event_is_dropped_with_one_line_in_the_log(
    stage: EventStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.api.calls.fail(FailureKind.INVALID, times=2)
    stage.posts(event("a"), event("b"), event("c"))
    assert stage.counts() == {"c": 1}
    assert stage.described().dropped == {"refused": 2}
    assert [one["reason"] for one in logs] == ["invalid"]


def test_forbidden_events_go_once_the_right_to_them_is_given(
    stage: EventStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.api.calls.fail(FailureKind.FORBIDDEN, times=3)
    stage.posts(event("a"), event("b"), event("a"))
    assert stage.methods() == ["POST"]
    stage.play.advance(2.0)
    stage.play.advance(4.0)
    assert stage.methods() == ["POST", "POST"]
    stage.play.advance(8.0)
    assert stage.counts() == {"a": 2, "b": 1}
    assert stage.described() == EventsDescribed(posted=3, dropped={})
    assert [one["reason"] for one in logs] == ["forbidden"]


def test_events_that_are_forbidden_hold_up_none_of_another_namespace(stage: EventStage) -> None:
    stage.api.calls.fail(FailureKind.FORBIDDEN, times=1)
    stage.posts(event("a", POD), event("b", POD), event("c"))
    assert stage.counts() == {"c": 1}
    stage.play.advance(2.0)
    assert stage.counts() == {"a": 1, "b": 1, "c": 1}


def test_of_a_namespace_that_may_have_no_events_only_so_many_wait(stage: EventStage) -> None:
    stage.api.calls.fail(FailureKind.FORBIDDEN, times=1)
    pods = [ObjectReference(kind="Pod", name=f"w{n}", namespace="shop") for n in range(103)]
    stage.posts(*(event(pod.name, pod) for pod in pods))
    assert stage.described().dropped == {"refused": 3}
    stage.play.advance(2.0)
    assert stage.counts().keys() == {pod.name for pod in pods[3:]}


def test_a_namespace_that_is_gone_takes_its_events_along(stage: EventStage) -> None:
    nowhere = ObjectReference(kind="Pod", name="web", namespace="nowhere")
    stage.posts(event(regarding=nowhere), event())
    assert len(stage.store.events()) == 1
    assert stage.described().dropped == {"refused": 1}


def test_an_event_that_the_api_server_forgot_is_posted_anew(stage: EventStage) -> None:
    stage.posts(event())
    stage.store.remove("events", "default", stage.only()["metadata"]["name"])
    stage.posts(event())
    assert stage.methods() == ["POST", "PATCH", "POST"]
    assert stage.only()["count"] == 2
    assert stage.described().posted == 2


def test_an_event_whose_answer_was_lost_is_there_once(stage: EventStage) -> None:
    stage.api.calls.lose_answers(when=asks(Verb.CREATE))
    stage.posts(event())
    stage.posts(event())
    stage.play.advance(2.0)
    assert stage.only()["count"] == 2
    assert stage.described() == EventsDescribed(posted=2, dropped={})


def test_a_request_that_nobody_answers_is_repeated_after_a_minute(stage: EventStage) -> None:
    stage.api.calls.hold(asks(Verb.CREATE))
    stage.posts(event("a"), event("b"))
    stage.play.advance(59.0)
    assert stage.methods() == ["POST"]
    stage.play.advance(3.0)
    assert stage.methods() == ["POST"]

    # Both attempts go through at last, and the answer to the first comes too late.
    stage.api.calls.release()
    stage.play.settle()
    assert stage.counts() == {"a": 1, "b": 1}
    assert stage.described().posted == 2


def test_long_messages_are_cut(stage: EventStage) -> None:
    stage.posts(event("ä" * 1000))
    assert stage.only()["message"] == "ä" * 512


def test_what_was_counted_outlives_a_crash(stage: EventStage) -> None:
    stage.posts(event())
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=ALWAYS)
    stage.posts(event("lost with the crash"))
    stage.play.system.crash(EVENT_POSTER.path)
    stage.play.advance(60.0)
    assert stage.described().posted == 1
    assert stage.counts() == {"no": 1}
