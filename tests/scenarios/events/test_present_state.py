"""EventFeed and a reader that wants to know how everything is before it hears what happens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from actors.events.feed import ANSWER_WITHIN, BETWEEN_VERDICTS, LINGERS
from actors.events.feed_parts import EVENT_FEED
from messages.changes import Op, PodChange
from messages.event_feed import ActorIs, EventFeedMessage
from messages.events import EventNoted, EventType, ObjectReference, PostEvent
from messages.objects import (
    Change,
    DescribeObjects,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectsDescribed,
    ObjectState,
)
from messages.pod_manager import DescribePods, PodsChanged, PodsDescribed
from messages.pods import FILE, Pod
from messages.probing import (
    DescribeProbes,
    ProbedPod,
    ProbeKey,
    ProbeKind,
    ProbeResult,
    ProbeResultIs,
    ProbesDescribed,
    ProbeStage,
)
from messages.sources import (
    DescribeSource,
    Epoch,
    ManifestVerdict,
    SourceDescribed,
    Verdict,
    VerdictsMayDiffer,
)
from messages.statuses import (
    DescribeStatuses,
    PodStatus,
    PodStatusChanged,
    StatusesDescribed,
)
from messages.units import Seconds, Timestamp
from messages.volumes import VolumeTrouble, VolumeTroublesAre
from stores.statuses.status import StatusSituation, status_after
from tests.support.agent.served import NO_PODS
from tests.support.builders import make_pod
from tests.support.events.feed_stage import FeedStage, Reader
from tests.support.pods.observations import backing_off, observation

WEB, API = make_pod("web"), make_pod("api")
DB: Final = ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db")
GOOD: Final = ManifestVerdict(path="/m/web.yaml", verdict=Verdict.ACCEPTED, pod="default/web")
BROKEN: Final = ManifestVerdict(
    path="/m/web.yaml", verdict=Verdict.KEPT, reason="line 3: spec.containers: required"
)
READINESS: Final = ProbeKey(WEB.uid, "main", ProbeKind.READINESS)


def status_of(pod: Pod) -> PodStatus:
    """Return the status of a pod that keeps crashing."""
    situation = StatusSituation(pod=pod, observed=observation(backing_off()), now=Timestamp(1.0))
    return status_after(situation)


def pods_are(*pods: Pod) -> PodsDescribed:
    return replace(NO_PODS, pods=pods, listed=frozenset({FILE}))


def source_is(*manifests: ManifestVerdict) -> SourceDescribed:
    return SourceDescribed(
        name=FILE,
        ready=True,
        epoch=Epoch(1, 1),
        last_listed=None,
        rejected={},
        error="",
        manifests=manifests,
    )


def objects_are(kind: ObjectKind, *objects: ObjectDescribed) -> ObjectsDescribed:
    return ObjectsDescribed(
        kind=kind,
        objects=objects,
        states={},
        references=0,
        pods=0,
        changes={},
        decisions={},
        looks=0,
    )


NO_STATUSES: Final = StatusesDescribed(statuses={})
NO_SECRETS, NO_CONFIG_MAPS = objects_are(ObjectKind.SECRET), objects_are(ObjectKind.CONFIG_MAP)
NO_PROBES: Final = ProbesDescribed(pods=())
NOTHING: Final[tuple[EventFeedMessage, ...]] = (
    *(pods_are(), NO_STATUSES, source_is(), NO_SECRETS, NO_CONFIG_MAPS, NO_PROBES),
)


def answers(feed: FeedStage, *parts: EventFeedMessage) -> None:
    """Have those who were asked answer; those who are not named have nothing."""
    said = {(type(each), getattr(each, "kind", "")): each for each in NOTHING}
    said |= {(type(each), getattr(each, "kind", "")): each for each in parts}
    feed.play.tell_all(EVENT_FEED, *said.values())


def summary(reader: Reader) -> list[str]:
    """Return what a reader was told since the last call, in a few words each."""
    return [_in_words(name, data) for name, data in reader.stories()]


def _in_words(name: str, data: Any) -> str:
    keys = ("state", "op", "change", "verdict", "result", "phase", "reason")
    what = next((str(data[key]) for key in keys if data.get(key)), "")
    return f"{name} {what} {data.get('name') or data.get('path') or ''}".strip()


# The present state.


def test_the_present_state_comes_first_and_is_said_to_be_complete(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    probed = ProbedPod(WEB, {}, (ProbeStage(READINESS, "c1", ProbeResult.SUCCESS, ""),))
    held = ObjectDescribed(object=DB, state=ObjectState.SYNCED, references=1)
    answers(
        feed,
        pods_are(WEB),
        StatusesDescribed(statuses={WEB.uid: status_of(WEB)}),
        source_is(GOOD),
        objects_are(ObjectKind.SECRET, held),
        ProbesDescribed(pods=(probed,)),
    )
    assert summary(reader) == [
        "state begins",
        "pod PRESENT web",
        "status Running",
        "verdict accepted /m/web.yaml",
        "object synced db",
        "probe success web",
        "state complete",
    ]
    # From here on it hears what happens.
    feed.change(PodChange(op=Op.REMOVE, pod=WEB))
    assert summary(reader) == ["pod REMOVE web"]


def test_everybody_is_asked_once_for_readers_that_come_together(feed: FeedStage) -> None:
    feed.attaches(wants_state=True)
    feed.attaches(wants_state=True)
    asked = [DescribePods, DescribeStatuses, DescribeSource, DescribeProbes, DescribeObjects]
    probes = (feed.pods, feed.statuses, feed.file, feed.probes, feed.secrets)
    for kind, probe in zip(asked, probes, strict=True):
        assert [type(each) for each in probe.drain()].count(kind) == 1


def test_what_happens_while_the_state_is_asked_for_is_told_after_it_and_not_twice(
    feed: FeedStage,
) -> None:
    reader = feed.attaches(wants_state=True)
    feed.are()
    # PodManager answers between two changes: the first is in its answer.
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    feed.play.tell(EVENT_FEED, pods_are(WEB))
    feed.change(PodChange(op=Op.ADD, pod=API))
    assert summary(reader) == ["state begins", "pod PRESENT web"]
    feed.play.tell_all(EVENT_FEED, *NOTHING[1:])
    assert summary(reader) == ["state complete", "pod ADD api"]


def test_what_only_the_feed_knows_is_in_the_state_until_it_is_over(feed: FeedStage) -> None:
    # Nobody reads, when an actor fails and a volume is not there.
    failed = ActorIs(name="source/file", state="backoff", restarts=1, error="OSError: no")
    trouble = VolumeTrouble(message="no such object")
    feed.play.tell_all(EVENT_FEED, failed, VolumeTroublesAre(pod=WEB, troubles={"conf": trouble}))
    reader = feed.attaches(wants_state=True)
    assert reader.stories()[1:] == [
        (
            "actor",
            {"name": "source/file", "state": "backoff", "restarts": 1, "lastError": "OSError: no"},
        ),
        (
            "volume",
            {
                "namespace": "default",
                "name": "web",
                "uid": "uid-default-web",
                "troubles": [{"volume": "conf", "reason": "no such object", "isForGood": False}],
            },
        ),
    ]
    answers(feed)
    assert summary(reader) == ["state complete"]
    # Both are over: who comes now is told neither.
    feed.play.tell_all(
        EVENT_FEED,
        replace(failed, state="running", error=""),
        VolumeTroublesAre(pod=WEB, troubles={}),
    )
    assert summary(reader) == ["actor running source/file", "volume  web"]
    assert summary(feed.attaches(wants_state=True)) == ["state begins"]


def test_who_does_not_answer_is_named_and_told_of_later(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    feed.play.tell_all(EVENT_FEED, *NOTHING[:-1])
    feed.play.advance(ANSWER_WITHIN)
    *_, (_, complete) = reader.stories()
    assert (complete["state"], complete["missing"]) == ("complete", ["probes"])
    # It is asked again, since it may have crashed over the question.
    assert [type(each) for each in feed.probes.drain()] == [DescribeProbes, DescribeProbes]
    feed.play.tell(EVENT_FEED, NO_PROBES)
    assert [data["missing"] for _, data in reader.stories()] == [[]]


def test_statuses_of_pods_that_nobody_knows_yet_have_their_uid(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    answers(feed, StatusesDescribed(statuses={WEB.uid: status_of(WEB)}))
    (status,) = [data for name, data in reader.stories() if name == "status"]
    assert (status["uid"], status["name"]) == (WEB.uid, "")


# Coming back.


def last_id(reader: Reader) -> str:
    """Return the id of the last event that a reader was told."""
    return reader.read_all()[-1].rpartition("\nid: ")[2]


def test_who_was_cut_and_comes_back_is_told_what_it_missed(feed: FeedStage) -> None:
    first = feed.attaches(wants_state=True)
    answers(feed)
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    known = last_id(first)
    feed.detaches(first)
    # Nobody reads, and the feed goes on.
    feed.change(PodChange(op=Op.ADD, pod=API))
    second = feed.attaches(wants_state=True, since=known)
    assert summary(second) == ["state resumes", "pod ADD api"]
    feed.change(PodChange(op=Op.REMOVE, pod=API))
    assert summary(second) == ["pod REMOVE api"]


def test_who_was_cut_right_after_its_state_misses_nothing(feed: FeedStage) -> None:
    first = feed.attaches(wants_state=True)
    answers(feed)
    known = last_id(first)
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    assert summary(feed.attaches(since=known)) == ["state resumes", "pod ADD web"]


def test_who_comes_back_too_late_is_told_the_state_again_and_why(feed: FeedStage) -> None:
    first = feed.attaches(wants_state=True)
    answers(feed)
    known = last_id(first)
    feed.detaches(first)
    feed.play.advance(LINGERS)
    second = feed.attaches(wants_state=True, since=known)
    assert second.stories() == [
        (
            "state",
            {"state": "begins", "why": "what came after that id is not known any more"},
        )
    ]
    answers(feed, pods_are(WEB))
    assert summary(second) == ["pod PRESENT web", "state complete"]


def test_who_wants_no_state_and_comes_back_too_late_is_told_that_something_is_missing(
    feed: FeedStage,
) -> None:
    reader = feed.attaches(since="nonsense")
    assert reader.read() == [
        ": what came after that id is not known any more: something is missing here"
    ]


def test_who_comes_back_within_a_minute_keeps_the_feed_going(feed: FeedStage) -> None:
    feed.detaches(feed.attaches())
    feed.play.advance(Seconds(LINGERS - 1.0))
    reader = feed.attaches()
    feed.follows()
    feed.play.advance(LINGERS)
    assert feed.follows() == [[], [], [], []]
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    assert summary(reader) == ["pod ADD web"]


# Crashes.


def test_a_crash_of_the_feed_gives_the_present_state_anew(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    answers(feed, pods_are(WEB))
    known = last_id(reader)
    feed.crashes()
    feed.play.advance(20.0)
    (begins, *_) = reader.stories()
    assert begins == ("state", {"state": "begins", "why": "the event feed was restarted"})
    answers(feed, pods_are(WEB, API))
    assert summary(reader) == ["pod PRESENT web", "pod PRESENT api", "state complete"]
    # An id from before the crash is of no use: something may be missing after it.
    assert summary(feed.attaches(wants_state=True, since=known)) == ["state begins"]


def test_a_crash_while_the_state_is_told_begins_it_anew(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    feed.play.tell(EVENT_FEED, pods_are(WEB))
    feed.crashes()
    feed.play.advance(2.0)
    answers(feed, pods_are(WEB))
    assert summary(reader) == [
        *("state begins", "pod PRESENT web"),
        *("state begins", "pod PRESENT web", "state complete"),
    ]


# What else happens.


def test_verdicts_that_changed_are_told_and_manifests_that_are_gone(feed: FeedStage) -> None:
    reader = feed.attaches(wants_state=True)
    answers(feed, source_is(GOOD))
    reader.read()
    feed.file.drain()
    # The source says that something changed, and is asked.
    feed.play.tell(EVENT_FEED, VerdictsMayDiffer(source=FILE))
    assert [type(each) for each in feed.file.drain()] == [DescribeSource]
    feed.play.tell(EVENT_FEED, source_is(BROKEN))
    ((name, data),) = reader.stories()
    assert (name, data["verdict"], data["reason"]) == ("verdict", "kept", BROKEN.reason)
    # Twice more at once: it is asked once, a little later.
    feed.play.tell_all(EVENT_FEED, *[VerdictsMayDiffer(source=FILE)] * 2)
    feed.file.expect_silence()
    feed.play.advance(BETWEEN_VERDICTS)
    feed.play.tell(EVENT_FEED, source_is())
    assert summary(reader) == ["verdict gone /m/web.yaml"]


def test_probes_posted_events_and_statuses_are_told(feed: FeedStage) -> None:
    reader = feed.attaches()
    about = ObjectReference(kind="Pod", namespace="default", name="web", uid=WEB.uid)
    post = PostEvent(
        regarding=about, type=EventType.WARNING, reason="BackOff", message="back-off 10s"
    )
    feed.play.tell_all(
        EVENT_FEED,
        ProbeResultIs(pod=WEB, key=READINESS, container_id="c1", result=ProbeResult.FAILURE),
        EventNoted(post=post, at=Timestamp(1.0), count=2),
        PodStatusChanged(pod=WEB, status=status_of(WEB)),
        ObjectChanged(object=DB, change=Change.DELETED, uid="u1", resource_version="8", keys=()),
    )
    assert summary(reader) == [
        "probe failure web",
        "event BackOff web",
        "status Running web",
        "object deleted db",
    ]


def test_many_changes_at_once_are_told_in_groups_and_in_their_order(feed: FeedStage) -> None:
    reader = feed.attaches()
    many = [make_pod(f"pod-{number}") for number in range(1_000)]
    feed.are()
    feed.play.tell_all(
        EVENT_FEED,
        pods_changed(*many),
        PodStatusChanged(pod=WEB, status=status_of(WEB)),
    )
    told = [data["name"] for _, data in reader.stories()]
    assert told == [*(pod.name for pod in many), "web"]


def pods_changed(*pods: Pod) -> EventFeedMessage:
    return PodsChanged(source=FILE, changes=tuple(PodChange(op=Op.ADD, pod=pod) for pod in pods))
