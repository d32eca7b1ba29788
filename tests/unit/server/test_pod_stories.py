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
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    PodObserved,
    UsedObject,
)
from messages.pods import FILE, Pod, PodPhase
from messages.sources import Epoch, ManifestVerdict, SourceDescribed, Verdict
from messages.statuses import PodStatus
from messages.units import Seconds, Timestamp
from server.pod_stories import objects_of, old_variables, pod_story
from server.questions import Unanswered
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


def runs_with(version: str, state: ContainerState = ContainerState.RUNNING) -> PodStatus:
    """Return a pod whose container has variables of a version of the ConfigMap."""
    used = (UsedObject(ObjectKind.CONFIG_MAP, "conf", version),)
    current = ContainerObserved(id="c", name="main", attempt=0, state=state, variables_from=used)
    observed = PodObserved(
        uid=WEB.uid,
        mark=NO_MARK,
        containers={"main": ContainerHistory(name="main", current=current)},
    )
    return PodStatus(phase=PodPhase.RUNNING, conditions=(), observed=observed)


def test_a_container_with_variables_of_an_earlier_version_is_told_with_the_object() -> None:
    told = {"container": "main", "kind": "ConfigMap", "name": "conf"}
    assert old_variables(WEB, runs_with("1"), {CONF: "2"}) == [told]
    # It was optional, and came later.
    assert old_variables(WEB, runs_with(""), {CONF: "2"}) == [told]


def test_variables_that_are_those_of_the_object_or_that_nobody_knows_are_not_old() -> None:
    assert old_variables(WEB, runs_with("2"), {CONF: "2"}) == []
    assert old_variables(WEB, runs_with("1"), {}) == []
    assert old_variables(WEB, runs_with("1", ContainerState.EXITED), {CONF: "2"}) == []
    assert old_variables(WEB, None, {CONF: "2"}) == []
