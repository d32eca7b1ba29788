"""What people are told of objects: lines of the log, and events of the pods that cannot have them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, TypeAlias

import pytest

from messages.events import EventType, ObjectReference, PostEvent
from messages.holders import NO_MARK, HolderIs, LocalObjectsListed
from messages.objects import (
    Change,
    ObjectAvailability,
    ObjectId,
    ObjectState,
    Origin,
)
from messages.pods import API, FILE, Pod
from tests.support.builders import edited
from tests.support.objects.manager_players import changed, held, needing, news_of, secret
from tests.support.objects.manager_stage import ManagerStage, manager_stage

Logs: TypeAlias = list[MutableMapping[str, Any]]

DB = secret("db")
LOCAL_DB = secret("db", origin=Origin.LOCAL)
WEB = needing("web", "db")
SHOP = needing("shop", "db")
STATIC = needing("web", "db", source=FILE)
OPTIONAL = {
    "volumes": [{"name": "db", "secret": {"secretName": "db", "optional": True}}],
    "containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "db", "optional": True}}]}],
}


@pytest.fixture
def manager() -> Iterator[ManagerStage]:
    """Return a manager whose pod requires a Secret of which nothing is known yet."""
    with manager_stage() as stage:
        stage.serves(API, WEB)
        yield stage


def is_so(availability: ObjectAvailability, wanted: ObjectId = DB, **fields: Any) -> HolderIs:
    """Return how a holder says that an object can be had, or not."""
    version = "1" if availability is ObjectAvailability.AVAILABLE else ""
    return HolderIs(described=held(wanted, version, availability=availability, **fields))


THERE = is_so(ObjectAvailability.AVAILABLE)
MISSING = is_so(ObjectAvailability.MISSING, state=ObjectState.ABSENT)
FORBIDDEN = is_so(ObjectAvailability.FORBIDDEN, is_known=False, error="403: no")
UNUSABLE = is_so(ObjectAvailability.UNUSABLE, is_known=False, error="not base64")
UNKNOWN = is_so(ObjectAvailability.UNKNOWN)


def lines(logs: Logs) -> list[str]:
    """Return the lines since the last look: the level, the text, and the fields that differ."""
    return [
        f"{line['log_level']}: {line['event']}: {line['object']} {','.join(line['names'])}"
        for line in said(logs)
    ]


def said(logs: Logs) -> Logs:
    """Return the lines about objects since the last look."""
    lines = [line for line in logs if "names" in line]
    logs.clear()
    return lines


def events(manager: ManagerStage) -> list[str]:
    """Return the events since the last look."""
    return [
        f"{post.type} {post.regarding.name} {post.reason}: {post.message}"
        for post in manager.events.drain()
    ]


# --- troubles -----------------------------------------------------------------------------------------


def test_a_required_secret_that_is_missing_is_an_event_of_its_pod_and_a_line(
    manager: ManagerStage, logs: Logs
) -> None:
    manager.says(MISSING)
    manager.play.advance(2.0)
    manager.events.expect(
        PostEvent(
            regarding=ObjectReference(kind="Pod", name="web", namespace="default", uid=WEB.uid),
            type=EventType.WARNING,
            reason="FailedMount",
            message='Secret "db" not found',
        )
    )
    (line,) = said(logs)
    assert line == {
        "event": "a pod requires an object that does not exist",
        "log_level": "warning",
        "kind": "Secret",
        "object": "default/db",
        "pods": 1,
        "names": ["default/web"],
        "reason": "",
    }

    manager.says(THERE)
    manager.play.advance(2.0)
    assert events(manager) == ['Normal web ReferenceResolved: Secret "db" can be used now']
    assert lines(logs) == [
        "info: an object that a pod requires can be used now: default/db default/web"
    ]


@pytest.mark.parametrize(
    ("news", "message"),
    [
        (FORBIDDEN, 'Secret "db" may not be read by this node: 403: no'),
        (UNUSABLE, 'Secret "db" cannot be used: not base64'),
    ],
)
def test_so_is_one_that_is_forbidden_or_unusable(
    manager: ManagerStage, news: HolderIs, message: str
) -> None:
    manager.says(news)
    manager.play.advance(10.0)
    assert events(manager) == [f"Warning web FailedMount: {message}"]


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (needing("web", "db", pull=["db"], env=["db"]), "FailedMount"),
        (needing("web", pull=["db"], env=["db"]), "FailedToRetrieveImagePullSecret"),
    ],
)
def test_the_reason_is_the_kubelets_for_what_the_object_is_needed_for(
    manager: ManagerStage, pod: Pod, reason: str
) -> None:
    manager.serves(API, pod)
    manager.says(MISSING)
    manager.play.advance(2.0)
    assert events(manager) == [f'Warning web {reason}: Secret "db" not found']


def test_that_an_object_of_variables_is_missing_is_an_event_of_the_runtime_alone(
    manager: ManagerStage, logs: Logs
) -> None:
    manager.serves(API, needing("web", env=["db"]))
    manager.says(MISSING)
    manager.play.advance(2.0)
    assert events(manager) == []
    assert "a pod requires an object that does not exist" in {each["event"] for each in logs}
    manager.says(UNUSABLE)
    manager.play.advance(2.0)
    assert events(manager) == ['Warning web Failed: Secret "db" cannot be used: not base64']


def test_it_is_told_once_for_each_pod_and_state_however_often_the_holder_says_it(
    manager: ManagerStage, logs: Logs
) -> None:
    manager.says(MISSING)
    manager.play.advance(3.0)
    manager.says(UNKNOWN)
    manager.says(MISSING)
    manager.serves(API, WEB, SHOP)
    manager.play.advance(60.0)
    manager.says(UNUSABLE)
    manager.play.advance(3.0)
    assert events(manager) == [
        'Warning web FailedMount: Secret "db" not found',
        'Warning shop FailedMount: Secret "db" not found',
        'Warning web FailedMount: Secret "db" cannot be used: not base64',
        'Warning shop FailedMount: Secret "db" cannot be used: not base64',
    ]
    assert lines(logs) == [
        "warning: a pod requires an object that does not exist: default/db default/web",
        "warning: a pod requires an object that does not exist: default/db default/shop",
        "warning: a pod requires an object that cannot be used: default/db default/web,default/shop",
    ]


def test_what_is_over_within_a_second_is_not_told(manager: ManagerStage, logs: Logs) -> None:
    manager.says(MISSING)
    manager.play.advance(0.9)
    manager.says(THERE)
    manager.play.advance(60.0)
    assert (events(manager), lines(logs)) == ([], [])


def test_a_403_has_the_time_in_which_it_means_nothing(manager: ManagerStage) -> None:
    manager.says(FORBIDDEN)
    manager.play.advance(5.5)
    assert events(manager) == []
    manager.play.advance(1.5)
    assert len(events(manager)) == 1


def test_optional_references_are_no_trouble(manager: ManagerStage, logs: Logs) -> None:
    manager.serves(API, edited(WEB, spec=OPTIONAL))
    manager.says(MISSING)
    manager.play.advance(3.0)
    assert (events(manager), lines(logs)) == ([], [])


def test_a_pod_that_goes_or_stops_requiring_it_is_told_of_no_end(manager: ManagerStage) -> None:
    manager.serves(API, WEB, SHOP)
    manager.says(MISSING)
    manager.play.advance(3.0)
    assert len(events(manager)) == 2
    manager.serves(API, SHOP)
    manager.says(THERE)
    manager.play.advance(3.0)
    assert events(manager) == ['Normal shop ReferenceResolved: Secret "db" can be used now']
    manager.serves(API)
    assert manager.memory.notices.troubles.objects == {}
    assert manager.memory.notices.troubles.untold == {}


@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_a_crash_of_the_manager_neither_loses_nor_repeats_it(
    manager: ManagerStage, seconds: float
) -> None:
    manager.says(MISSING)
    manager.play.advance(seconds)
    manager.crashes()
    manager.play.advance(5.0)
    manager.crashes()
    manager.play.advance(5.0)
    assert events(manager) == ['Warning web FailedMount: Secret "db" not found']
    manager.says(THERE)
    manager.crashes()
    manager.play.advance(3.0)
    assert events(manager) == ['Normal web ReferenceResolved: Secret "db" can be used now']


def test_an_object_in_trouble_is_followed_until_people_were_told_that_it_is_over(
    manager: ManagerStage,
) -> None:
    """Otherwise its holder would be idle by then, and the end would go unheard."""
    assert manager.heard(DB) == ["1 at 1"]
    manager.says(MISSING)
    assert manager.heard(DB) == ["1 at 1, followed"]
    manager.play.advance(3.0)
    manager.says(UNUSABLE)
    manager.says(THERE)
    assert manager.heard(DB) == []
    manager.play.advance(3.0)
    assert manager.heard(DB) == ["1 at 1"]
    manager.says(UNKNOWN)
    assert manager.heard(DB) == []


def test_so_it_is_after_a_crash_of_the_manager(manager: ManagerStage) -> None:
    manager.says(MISSING)
    manager.crashes()
    assert manager.heard(DB)[-1] == "1 at 1, followed"
    manager.says(THERE)
    manager.crashes()
    manager.play.advance(3.0)
    assert manager.heard(DB)[-1] == "1 at 1"


def test_one_that_no_pod_requires_any_more_is_not(manager: ManagerStage) -> None:
    manager.says(MISSING)
    manager.heard(DB)
    manager.serves(API, edited(WEB, spec=OPTIONAL))
    assert manager.heard(DB) == ["1 at 1"]
    manager.serves(API, WEB)
    assert manager.heard(DB) == ["1 at 1, followed"]


def test_static_pods_have_lines_and_no_events(logs: Logs) -> None:
    with manager_stage() as manager:
        manager.serves(FILE, STATIC)
        manager.tell(LocalObjectsListed(refused={}))
        manager.play.advance(2.0)
        (line,) = said(logs)
        assert (line["event"], line["reason"]) == (
            "a pod requires an object that does not exist",
            "no file describes it",
        )
        manager.tell(LocalObjectsListed(refused={"default/db": "db.yaml: no"}))
        manager.play.advance(2.0)
        (line,) = said(logs)
        assert line["event"] == "a pod requires an object that cannot be used"
        assert line["reason"] == "db.yaml: no"
        manager.says(is_so(ObjectAvailability.AVAILABLE, LOCAL_DB))
        manager.play.advance(2.0)
        assert lines(logs) == [
            "info: an object that a pod requires can be used now: default/db default/web"
        ]
        assert events(manager) == []


def test_without_local_files_the_line_says_which_flag_is_missing(logs: Logs) -> None:
    with manager_stage(joined=False, with_files=False) as manager:
        manager.serves(FILE, STATIC)
        manager.play.advance(2.0)
        (line,) = said(logs)
        assert "--local-objects-dir" in line["reason"]


def test_an_absent_local_object_has_the_reason_in_its_last_error() -> None:
    with manager_stage() as manager:
        manager.serves(FILE, STATIC)
        manager.tell(LocalObjectsListed(refused={}))
        (described,) = manager.described().objects
        assert (described.state, described.error) == (ObjectState.ABSENT, "no file describes it")
        manager.tell(LocalObjectsListed(refused={"default/db": "db.yaml: no"}))
        (described,) = manager.described().objects
        assert (described.state, described.error) == (ObjectState.LOCAL, "db.yaml: no")


# --- changes and decisions ----------------------------------------------------------------------------


def test_a_change_is_one_line_without_keys_and_values(manager: ManagerStage, logs: Logs) -> None:
    manager.serves(API, WEB, SHOP)
    manager.says(news_of(changed(DB)))
    manager.says(news_of(changed(DB, "3", Change.DELETED)))
    assert said(logs) == [
        {
            "event": "an object changed",
            "log_level": "info",
            "kind": "Secret",
            "object": "default/db",
            "pods": 2,
            "names": ["default/web", "default/shop"],
            "change": change,
            "version": version,
        }
        for change, version in [("modified", "2"), ("deleted", "3")]
    ]


def test_an_object_that_is_seen_for_the_first_time_is_no_line(
    manager: ManagerStage, logs: Logs
) -> None:
    first = changed(DB, "1", Change.ADDED)
    manager.says(HolderIs(described=held(DB), changed=first, concerns=NO_MARK))
    assert lines(logs) == []
    manager.says(news_of(changed(DB, "2", Change.DELETED)))
    manager.says(news_of(changed(DB, "3", Change.ADDED), NO_MARK))
    assert [line["change"] for line in said(logs)] == ["deleted", "added"]


def test_decisions_are_a_line_for_each_action(manager: ManagerStage, logs: Logs) -> None:
    pods = [needing(f"r{n}", "db", hook="restart") for n in range(30)]
    manager.serves(API, *pods, needing("s", "db", hook="signal:SIGHUP,splay=30s"))
    manager.says(news_of(changed(DB)))
    change, restarts, signals = said(logs)
    assert (change["pods"], len(change["names"])) == (31, 20)
    assert restarts["event"] == "a change asks for a restart"
    assert (restarts["pods"], len(restarts["names"])) == (30, 20)
    assert signals["event"] == "a change asks for a signal"
    assert (signals["signal"], signals["names"]) == ("SIGHUP", ["default/s"])


def test_a_flood_of_changes_is_a_hundred_lines_a_second_and_a_count(
    manager: ManagerStage, logs: Logs
) -> None:
    for version in range(2, 252):
        manager.says(news_of(changed(DB, str(version))))
    assert len(lines(logs)) == 100
    manager.play.advance(1.5)
    (line,) = logs
    assert (line["event"], line["lines"]) == ("lines about objects were left out", 150)
    logs.clear()
    manager.says(news_of(changed(DB, "999")))
    assert len(lines(logs)) == 1


def test_no_trouble_is_left_out_those_beyond_a_hundred_are_told_later(
    manager: ManagerStage, logs: Logs
) -> None:
    names = [f"db-{number}" for number in range(250)]
    manager.serves(API, needing("many", *names))
    for name in names:
        manager.says(is_so(ObjectAvailability.MISSING, secret(name), state=ObjectState.ABSENT))
    manager.play.advance(10.0)
    told = [line["object"] for line in said(logs)]
    assert sorted(told) == sorted(secret(name).display_name for name in names)
    assert len(events(manager)) == 250


def test_what_a_volume_lacks_is_said_by_whoever_makes_volumes(manager: ManagerStage) -> None:
    manager.volumes_are_made = True
    manager.crashes()
    manager.says(FORBIDDEN)
    manager.play.advance(10.0)
    assert events(manager) == []
