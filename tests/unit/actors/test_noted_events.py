"""What is remembered of events and changes, and what is forgotten."""

from __future__ import annotations

from actors.events.noted_events import (
    MOST_MOMENTS,
    MOST_OF_AN_OBJECT,
    NodeEvents,
    NotedChanges,
    NotedEvents,
)
from messages.events import EventType, ObjectReference, PostEvent
from messages.objects import Change, ObjectChanged, ObjectId, ObjectKind
from messages.pods import PodUid
from messages.units import Timestamp

WEB = PodUid("web")


def posted(message: str, uid: str = WEB, kind: str = "Pod") -> PostEvent:
    about = ObjectReference(kind=kind, name=uid, uid=uid)
    return PostEvent(regarding=about, type=EventType.NORMAL, reason="Did", message=message)


def changed(name: str, version: int) -> ObjectChanged:
    return ObjectChanged(
        object=ObjectId(kind=ObjectKind.SECRET, namespace="a", name=name),
        change=Change.MODIFIED,
        uid="u",
        resource_version=str(version),
        keys=(),
    )


def test_equal_events_are_one_with_a_count_and_both_times() -> None:
    noted = NotedEvents()
    assert [noted.note(posted("a"), Timestamp(1.0)), noted.note(posted("b"), Timestamp(2.0))] == [
        1,
        1,
    ]
    assert noted.note(posted("a"), Timestamp(3.0)) == 2
    assert [(each.message, each.times, each.first, each.last) for each in noted.of(WEB)] == [
        ("b", 1, 2.0, 2.0),
        ("a", 2, 1.0, 3.0),
    ]


def test_the_last_moments_of_what_came_again_and_again_are_remembered() -> None:
    noted = NotedEvents()
    for moment in range(MOST_MOMENTS + 3):
        noted.note(posted("a"), Timestamp(float(moment)))
    (known,) = noted.of(WEB)
    assert known.last == Timestamp(MOST_MOMENTS + 2.0)
    assert known.before == tuple(map(float, range(2, MOST_MOMENTS + 2)))


def test_the_oldest_events_of_a_pod_are_forgotten_first() -> None:
    noted = NotedEvents(most_of_a_pod=2)
    for message in "abc":
        noted.note(posted(message), Timestamp(1.0))
    assert [each.message for each in noted.of(WEB)] == ["b", "c"]


def test_of_too_many_pods_the_one_that_was_quiet_longest_is_forgotten() -> None:
    noted = NotedEvents(most_pods=2)
    for uid in ("web", "job", "web", "new"):
        noted.note(posted("a", uid), Timestamp(1.0))
    assert (len(noted.of(WEB)), noted.of(PodUid("job"))) == (1, ())


def test_events_of_other_things_are_not_remembered() -> None:
    noted = NotedEvents()
    assert noted.note(posted("a", kind="Node"), Timestamp(1.0)) == 1
    assert noted.of(WEB) == ()


def test_the_last_changes_of_some_objects_are_remembered() -> None:
    noted = NotedChanges(most_objects=1)
    noted.note(changed("gone", 1), Timestamp(1.0))
    for version in range(MOST_OF_AN_OBJECT + 2):
        noted.note(changed("db", version), Timestamp(float(version)))
    objects = [changed("db", 0).object, changed("gone", 0).object]
    assert [int(each.at) for each in noted.of(WEB, objects)] == [*range(2, MOST_OF_AN_OBJECT + 2)]


def test_of_the_node_whatever_happened_is_remembered_the_newest_first_and_equal_ones_once() -> None:
    noted = NodeEvents()
    node, pod, secret = posted("a", "node1", kind="Node"), posted("a"), changed("db", 1)
    facts: tuple[PostEvent | ObjectChanged, ...] = (node, pod, secret, node)
    for moment, fact in enumerate(facts):
        noted.note(fact, Timestamp(float(moment)))
    assert [(fact, when.first, when.last, when.times) for fact, when in noted.newest_first()] == [
        (node, 0.0, 3.0, 2),
        (secret, 2.0, 2.0, 1),
        (pod, 1.0, 1.0, 1),
    ]


def test_of_the_node_the_oldest_is_forgotten_first_and_counted() -> None:
    noted = NodeEvents(most=2)
    for message in ("a", "b", "a", "c", "d"):
        noted.note(posted(message), Timestamp(1.0))
    known = [fact for fact, _ in noted.newest_first()]
    assert known == [posted("d"), posted("c")]
    assert noted.forgotten == 2
