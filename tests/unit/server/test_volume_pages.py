"""What ``/volumez`` and the metrics say of volumes."""

from __future__ import annotations

from dataclasses import replace

from messages.pods import PodUid
from messages.statuses import TimesCounted
from messages.units import Seconds
from messages.volume_state import VolumeDescribed, VolumesDescribed, VolumeState
from server.volume_metrics import volume_metrics
from server.volume_pages import volumez

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
