"""How Secrets and ConfigMaps are held, as people and scrapers read it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest
from prometheus_client.core import Metric

from messages.event_feed import FeedDescribed
from messages.objects import (
    Change,
    ChangeAction,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectsDescribed,
    ObjectState,
    Origin,
)
from messages.pods import PodUid
from messages.units import Seconds, TimesCounted, Timestamp
from messages.volumes import VolumeDescribed, VolumesDescribed, VolumeState
from messages.watches import WatchDescribed, WatchesDescribed, WatchTarget
from server.cluster_metrics import feed_metrics, object_metrics
from server.object_pages import PIECE, volumez, watchz
from server.questions import Unanswered
from server.runtime_metrics import volume_metrics

NOW: Final = Timestamp(1_000.0)
SILENT: Final = Unanswered(name="watches", reason="did not answer")
DB: Final = ObjectDescribed(
    object=ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db"),
    state=ObjectState.SYNCED,
    references=2,
    uid="u1",
    resource_version="7",
    is_known=True,
)
CONF: Final = ObjectDescribed(
    object=ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="shop", name="conf"),
    state=ObjectState.INITIALISING,
    references=1,
)
SECRETS: Final = ObjectsDescribed(
    kind=ObjectKind.SECRET,
    objects=(DB,),
    states={ObjectState.SYNCED: 1},
    references=2,
    pods=2,
    changes={Change.ADDED: 1, Change.MODIFIED: 3},
    decisions={ChangeAction.SIGNAL: 4},
    looks=5,
)
CONFIG_MAPS: Final = ObjectsDescribed(
    kind=ObjectKind.CONFIG_MAP,
    objects=(CONF,),
    states={ObjectState.INITIALISING: 1},
    references=1,
    pods=1,
    changes={},
    decisions={},
    looks=0,
)

SECRET = "kubernetes.io/secret"  # a kind, not one of them
WEB = VolumeDescribed(
    uid=PodUid("u1"),
    pod="default/web",
    name="keys",
    plugin=SECRET,
    state=VolumeState.THERE,
    path="/r/pods/u1/volumes/kubernetes.io~secret/keys",
    trouble="",
    shown={"Secret default/keys": "7"},
    tried_at=Seconds(10.0),
)
DESCRIBED = VolumesDescribed(
    volumes=(WEB,),
    states={(SECRET, VolumeState.THERE): 2, (SECRET, VolumeState.PENDING): 1},
    writes=5,
    written_bytes=50,
    errors=1,
    delays=TimesCounted(bounds=(0.1, 1.0), buckets=(2, 1, 0), seconds=0.5),
    unmounts_failing=0,
)


def watch(collection: str, name: str, error: str = "") -> WatchDescribed:
    """Return how the watch of an object in namespace ``shop`` is."""
    target = WatchTarget(
        path=f"/api/v1/namespaces/shop/{collection}", field_selector=f"metadata.name={name}"
    )
    return WatchDescribed(
        target=target,
        state="waiting" if error else "watching",
        resource_version="7",
        since=NOW,
        reconnects=3,
        error=error,
    )


WATCHES: Final = WatchesDescribed(
    watches=(watch("secrets", "db"), watch("configmaps", "conf", error="forbidden")),
    connections=1,
    streams=2,
    reconnects={},
    requests={},
)


def page(
    *kinds: ObjectsDescribed, watches: WatchesDescribed | Unanswered | None = WATCHES
) -> dict[str, Any]:
    """Return the document."""
    document: dict[str, Any] = json.loads("".join(watchz(kinds, watches, NOW)))
    return document


def holding(*objects: ObjectDescribed) -> ObjectsDescribed:
    """Return what the manager of Secrets says when it has ``objects``."""
    return replace(SECRETS, objects=objects)


# The page.


def test_an_object_is_shown_with_how_its_watch_is() -> None:
    assert page(SECRETS, CONFIG_MAPS) == {
        "objects": [
            {
                "kind": "ConfigMap",
                "namespace": "shop",
                "name": "conf",
                "origin": "api",
                "state": "initialising",
                "uid": "",
                "resourceVersion": "",
                "references": 1,
                "ageSeconds": None,
                "reconnects": 3,
                "lastError": "forbidden",
            },
            {
                "kind": "Secret",
                "namespace": "shop",
                "name": "db",
                "origin": "api",
                "state": "synced",
                "uid": "u1",
                "resourceVersion": "7",
                "references": 2,
                "ageSeconds": 0,
                "reconnects": 3,
                "lastError": "",
            },
        ],
        "connections": 1,
        "streams": 2,
    }


def test_without_objects_the_page_is_empty() -> None:
    assert page(watches=None) == {"objects": [], "connections": 0, "streams": 0}


@pytest.mark.parametrize(
    ("described", "age"),
    [
        (DB, 0.0),
        (replace(DB, current_until=Timestamp(987.6543)), 12.346),
        (replace(DB, current_until=Timestamp(NOW + 5)), 0.0),
        (replace(DB, is_known=False), None),
        # What it was before a cut says nothing of an object that was never seen.
        (replace(DB, is_known=False, current_until=NOW), None),
    ],
)
def test_the_age_is_that_of_what_is_known(described: ObjectDescribed, age: float | None) -> None:
    (row,) = page(holding(described))["objects"]
    assert row["ageSeconds"] == age


def test_what_is_wrong_with_the_object_goes_before_what_is_wrong_with_its_watch() -> None:
    broken = replace(CONF, error="not base64")
    (row,) = page(replace(CONFIG_MAPS, objects=(broken,)))["objects"]
    assert row["lastError"] == "not base64"


def test_a_local_object_has_no_watch_although_its_namesake_has() -> None:
    local = replace(DB, object=replace(DB.object, origin=Origin.LOCAL), state=ObjectState.LOCAL)
    rows = page(holding(local, DB))["objects"]
    assert [(row["origin"], row["reconnects"]) for row in rows] == [("api", 3), ("local", 0)]


def test_an_object_without_a_watch_has_no_reconnects() -> None:
    described = page(holding(DB), watches=replace(WATCHES, watches=()))
    assert described["objects"][0]["reconnects"] == 0


def test_without_an_answer_of_who_keeps_the_watches_their_numbers_are_unknown() -> None:
    described = page(SECRETS, watches=SILENT)
    assert (described["connections"], described["streams"]) == (None, None)
    assert described["objects"][0]["reconnects"] is None


def test_many_objects_come_in_pieces_and_in_order() -> None:
    many = [
        replace(DB, object=replace(DB.object, namespace=f"n{number % 3}", name=f"{number:04}"))
        for number in range(2 * PIECE + 1)
    ]
    pieces = list(watchz([holding(*reversed(many))], None, NOW))
    rows = json.loads("".join(pieces))["objects"]
    names = [(row["namespace"], row["name"]) for row in rows]
    assert names == sorted(names)
    assert len(rows) == 2 * PIECE + 1
    assert max(piece.count('"name"') for piece in pieces) == PIECE


# Metrics.


def values(*families: Metric) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the samples of each family by their labels."""
    return {
        family.name: {tuple(s.labels.values()): s.value for s in family.samples}
        for family in families
    }


def test_objects_are_counted_by_kind_and_state() -> None:
    silent = Unanswered(name="x", reason="did not answer")
    assert values(*object_metrics([SECRETS, CONFIG_MAPS, silent])) == {
        "actorlet_objects": {("Secret", "synced"): 1, ("ConfigMap", "initialising"): 1},
        "actorlet_object_references": {("Secret",): 2, ("ConfigMap",): 1},
        "actorlet_object_changes": {("Secret", "added"): 1, ("Secret", "modified"): 3},
        "actorlet_object_decisions": {("Secret", "signal"): 4},
        "actorlet_object_reads": {("Secret",): 5, ("ConfigMap",): 0},
    }


def test_readers_of_events_are_counted() -> None:
    assert values(*feed_metrics(FeedDescribed(readers=2, dropped=1))) == {
        "actorlet_event_readers": {(): 2},
        "actorlet_event_readers_dropped": {(): 1},
    }


def test_without_an_answer_of_the_feed_nobody_is_counted() -> None:
    assert values(*feed_metrics(SILENT)) == {}


def test_a_volume_is_shown_with_what_readers_see_and_never_with_a_value() -> None:
    assert volumez(DESCRIBED, Seconds(12.5)) == {
        "volumes": [
            {
                "pod": "default/web",
                "uid": "u1",
                "name": "keys",
                "plugin": SECRET,
                "state": "there",
                "path": "/r/pods/u1/volumes/kubernetes.io~secret/keys",
                "trouble": "",
                "shows": {"Secret default/keys": "7"},
                "ageSeconds": 2.5,
            }
        ]
    }


def test_volumes_may_be_asked_for_by_their_state() -> None:
    held = replace(WEB, name="pv1", state=VolumeState.HELD)
    both = replace(DESCRIBED, volumes=(WEB, held))
    assert [each["name"] for each in volumez(both, Seconds(12.5), state="held")["volumes"]] == [
        "pv1"
    ]


def test_volumes_are_counted_as_wanted_and_as_there() -> None:
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in volume_metrics(DESCRIBED)
        for sample in family.samples
    }
    total = "volume_manager_total_volumes"
    assert samples[total, SECRET, "desired_state_of_world"] == 3
    assert samples[total, SECRET, "actual_state_of_world"] == 2
    assert samples["actorlet_volumes", SECRET, "pending"] == 1
    assert samples["actorlet_volume_writes_total",] == 5
    assert samples["actorlet_volume_change_seconds_bucket", "1"] == 3
    assert samples["actorlet_volume_change_seconds_count",] == 3
