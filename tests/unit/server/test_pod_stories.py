"""What people are told of one pod beside its status."""

from __future__ import annotations

from typing import Final

from messages.events import EventType, NotedChange, NotedEvent, PodEventsDescribed
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    Origin,
)
from messages.pods import FILE, Pod
from messages.sources import Epoch, ManifestVerdict, SourceDescribed, Verdict
from messages.units import Seconds, Timestamp
from server.answers import Unanswered
from server.pod_stories import objects_of, pod_story
from tests.support.builders import make_pod

WEB: Final = make_pod("web")
CONF: Final = ObjectId(
    kind=ObjectKind.CONFIG_MAP, namespace="default", name="conf", origin=Origin.LOCAL
)
CHANGED: Final = ObjectChanged(
    object=CONF, change=Change.MODIFIED, uid="u", resource_version="2", keys=("colour",)
)
NOTHING: Final = PodEventsDescribed(events=(), changes=())


def source_of(*manifests: ManifestVerdict) -> SourceDescribed:
    return SourceDescribed(
        name=FILE,
        ready=True,
        epoch=Epoch(1, 1),
        last_listed=None,
        rejected={},
        error="",
        manifests=manifests,
    )


def test_events_and_changes_of_its_objects_are_one_story_in_their_order() -> None:
    pulled = NotedEvent(
        Timestamp(1.0), Timestamp(1.0), 1, EventType.NORMAL, "Pulled", "has image", "spec"
    )
    backoff = NotedEvent(
        Timestamp(2.0), Timestamp(9.0), 3, EventType.WARNING, "BackOff", "waits", ""
    )
    decided = ChangeDecided(
        pod=WEB.uid,
        pod_name="default/web",
        action=ChangeAction.RESTART,
        signal="",
        delay=Seconds(0.0),
        changed=CHANGED,
    )
    changes = (NotedChange(Timestamp(4.0), CHANGED), NotedChange(Timestamp(5.0), decided))
    remembered = PodEventsDescribed(events=(pulled, backoff), changes=changes)
    told = pod_story(WEB, remembered, None, ())["events"]
    assert [(each["word"], each["tone"], each["text"]) for each in told] == [
        ("Pulled", "plain", "has image"),
        ("ConfigMap modified", "plain", "ConfigMap default/conf, keys: colour"),
        ("restart", "plain", "ConfigMap default/conf, keys: colour"),
        ("BackOff", "warn", "waits (3 times)"),
    ]
    assert (told[3]["firstAt"], told[3]["at"]) == (
        "1970-01-01T00:00:02.000Z",
        "1970-01-01T00:00:09.000Z",
    )


def test_its_manifest_has_the_verdict_with_the_line() -> None:
    other = ManifestVerdict(path="/m/a.yaml", verdict=Verdict.SHADOWED, pod="default/web")
    own = ManifestVerdict(
        path="/m/web.yaml", verdict=Verdict.KEPT, reason="line 3: no", uid=WEB.uid
    )
    shown = pod_story(WEB, NOTHING, None, [source_of(other, own)])["manifest"]
    assert (shown["path"], shown["verdict"], shown["reason"]) == (
        "/m/web.yaml",
        "kept",
        "line 3: no",
    )
    assert pod_story(WEB, NOTHING, None, [source_of()])["manifest"] is None


def test_who_does_not_answer_is_missing() -> None:
    silent = Unanswered(name="event-recorder", reason="does not answer")
    told = pod_story(WEB, silent, silent, [silent])
    nobody = [silent.name] * 3
    assert told == {"missing": nobody, "events": [], "volumeTroubles": [], "manifest": None}


def test_the_objects_of_a_pod_are_those_that_it_references() -> None:
    volume = {"name": "conf", "configMap": {"name": "conf"}}
    spec = {**WEB.document["spec"], "volumes": [volume]}
    pod = Pod.of({**WEB.document, "spec": spec})
    assert objects_of(pod) == {CONF}
