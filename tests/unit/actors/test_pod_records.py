"""The form in which pods are kept on disk: what was written is read, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.pods.records import (
    RECORD_LIMIT,
    KeptPod,
    ObjectVersion,
    decoded_pod,
    encoded_pod,
    kept_pod,
    record_name,
)
from messages.objects import ObjectId, ObjectKind, Origin
from messages.pod_runtime import ProbeVerdict
from messages.pods import PodUid
from messages.units import Timestamp
from tests.support.builders import make_pod

SETTINGS = ObjectId(
    kind=ObjectKind.CONFIG_MAP, namespace="default", name="settings", origin=Origin.LOCAL
)
KEPT = KeptPod(
    uid=PodUid("web"),
    start_time=Timestamp(1_700_000_000.0),
    stopped_by=Timestamp(1_700_000_030.5),
    objects={SETTINGS: ObjectVersion("uid", "7")},
    resources={"main": {"requests": {"cpu": "1"}}},
    probed={"main": ProbeVerdict(is_ready=False, container_id="c1")},
    running=({"name": "main", "restartCount": 2, "state": {"running": {}}},),
    ips=("10.0.0.7", "fd00::7"),
    digests={"main": "0bf20c17cd2352fc"},
    conditions={"Ready": ("True", Timestamp(1_700_000_003.0))},
    ended={"phase": "Failed", "containerStatuses": [{"name": "main"}]},
)


@pytest.mark.parametrize("kept", [KEPT, KeptPod(uid=PodUid(""))])
def test_what_was_written_is_read(kept: KeptPod) -> None:
    assert decoded_pod(encoded_pod(kept)) == kept


def test_of_an_end_that_is_too_long_for_a_page_the_phase_is_kept() -> None:
    said = [{"name": f"c{number}", "message": "é" * 4000} for number in range(30)]
    kept = replace(KEPT, ended={"phase": "Failed", "containerStatuses": said})
    page = encoded_pod(kept)
    assert len(page) <= RECORD_LIMIT
    assert decoded_pod(page) == replace(KEPT, ended={"phase": "Failed"})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        encoded_pod(KEPT)[:-1],
        encoded_pod(KEPT) + b" ",
        encoded_pod(KEPT).replace(b"actorlet-pod 1", b"actorlet-pod 2"),
        b"actorlet-pod 1 ",
    ],
    ids=["empty", "foreign", "torn", "longer", "of the future", "only a head"],
)
def test_anything_else_is_not_taken(data: bytes) -> None:
    assert decoded_pod(data) is None


@pytest.mark.parametrize("uid", ["../../etc/passwd", "a/b", "", ".", "ä", "a" * 300, "a\0b"])
def test_a_name_is_never_a_path(uid: str) -> None:
    name = record_name(PodUid(uid))
    assert name.removesuffix(".json").isalnum()
    assert len(name) < 255


def test_a_plain_uid_is_the_name() -> None:
    assert record_name(PodUid("3f2a-11")) == "3f2a-11.json"


def test_resources_are_kept_by_container() -> None:
    resources = {"requests": {"cpu": "1"}}
    containers = [{"name": "main", "resources": resources}, {"name": "other"}]
    pod = make_pod(spec={"containers": containers})
    assert kept_pod(pod, None, {}).resources == {"main": resources, "other": {}}
