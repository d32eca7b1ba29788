"""An upgrade in place: what an earlier release wrote below ``--root-dir`` is read by this one."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from actors.pods.records import POD_RECORD
from agent.runtime_record import RecordedRuntime, record_of
from files.kept_contents import KeptContents
from files.looking.steps import result_of
from files.records import RecordDirectory
from messages.pods import FILE, Pod, PodUid
from runtimes.cri.images.record_file import read_records
from runtimes.hollow.record_file import HollowRecordFile
from settings.situation import RuntimeKind
from sources.kept_uids import StaticUids, kept_uids, record_file
from tests.environment.node import Node
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import InContainers
from tests.environment.runtimes.hollow import Hollow
from tests.environment.runtimes.runtime import Runtime
from tests.support.builders import make_pod
from tests.unit.actors.test_pod_records import KEPT
from tests.unit.sources.test_kept_uids import POD

WRITTEN: Final = Path(__file__).parents[2] / "fixtures" / "records"
"""Directories as the release before wrote them, with pods that had been there for a while."""


def pods() -> list[Pod]:
    """Return the pods of these directories, as they are wanted."""
    ends = {"hollow.actorlet/run-for": "20s", "hollow.actorlet/exits": "1"}
    fails = ends | {"hollow.actorlet/exits": "3"}
    never = {"restartPolicy": "Never"}
    return [
        make_pod("web", uid="web-1", source="http"),
        make_pod("crashing", uid="crashing-1", source="http", annotations=ends),
        make_pod("job", uid="job-1", source="http", spec=never, annotations=fails),
    ]


def hollow(outside: Outside) -> Runtime:
    return Hollow(outside, keeps_records=True)


def upgraded(node: Node, written: Path) -> dict[str, dict[str, Any]]:
    """Have the agent start with this directory, and return the statuses that it shows then."""
    node.advance(50.0)
    node.lists(pods())
    root = node.folder / "root"
    rmtree(root)
    copytree(written, root)
    node.is_killed()
    node.advance(1.0)
    assert not [*root.rglob("*.unusable")]
    return node.statuses()


def restarts(statuses: dict[str, dict[str, Any]]) -> dict[str, int]:
    return {uid: each["containerStatuses"][0]["restartCount"] for uid, each in statuses.items()}


def test_hollow_pods_go_on_with_their_uids_restart_counts_and_addresses(tmp_path: Path) -> None:
    statuses = upgraded(Node(1, tmp_path, hollow), WRITTEN / "hollow")
    assert restarts(statuses) == {"web-1": 0, "crashing-1": 3, "job-1": 0}
    addresses = {uid: each["podIP"] for uid, each in statuses.items()}
    assert addresses == {"crashing-1": "10.244.0.2", "web-1": "10.244.0.3", "job-1": "10.244.0.4"}
    ended = statuses["job-1"]["containerStatuses"][0]["state"]["terminated"]
    assert (statuses["job-1"]["phase"], ended["exitCode"]) == ("Failed", 3)


def test_a_pod_that_has_ended_does_not_run_again_and_others_are_as_old_as_they_were(
    tmp_path: Path,
) -> None:
    node = Node(1, tmp_path, InContainers)
    statuses = upgraded(node, WRITTEN / "containers")
    assert statuses["job-1"]["phase"] == "Failed"
    assert {each["startTime"] for each in statuses.values()} == {"2023-11-14T22:13:20Z"}
    node.advance(60.0)
    assert {each.uid for each in node.runtime.live()} == {"web-1", "crashing-1"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(copytree(WRITTEN / "containers", tmp_path / "root"))


def test_every_record_of_a_pod_is_read(root: Path) -> None:
    found = RecordDirectory(root / "pod-records", POD_RECORD).read()
    assert set(found) == {"web", "web-1", "crashing-1", "job-1"}
    assert found[PodUid("web")] == KEPT  # it has everything that a record may have


def test_hollow_containers_are_read(tmp_path: Path) -> None:
    copytree(WRITTEN / "hollow", tmp_path / "root")
    found = HollowRecordFile(tmp_path / "root" / "hollow" / "containers.json").read()
    assert set(found) == {"web-1", "crashing-1", "job-1"}


def test_what_images_were_pulled_with_is_read(root: Path) -> None:
    written = (root / "image-pulls.json").read_bytes()
    found = read_records(root / "image-pulls.json")
    assert found is not None
    assert found.encoded() == written


def test_which_runtime_has_the_pods_is_read(root: Path) -> None:
    socket = "/run/containerd/containerd.sock"
    assert record_of(root) == RecordedRuntime(runtime=RuntimeKind.CRI, socket=socket)
    assert record_of(WRITTEN / "hollow") == RecordedRuntime(runtime=RuntimeKind.HOLLOW)


def test_static_pods_keep_their_uids(root: Path) -> None:
    assert kept_uids(record_file(root, FILE))
    assert StaticUids(root, FILE, adopts=False).uid_of(POD, "digest") == "k1"


def test_last_good_manifests_are_read(root: Path) -> None:
    kept = KeptContents(root / "last-good-manifests", Path("/etc/kubernetes/manifests"))
    with capture_logs() as lines:
        found = result_of(kept.reading())
    assert found == {"web.yaml": b"kind: Pod", "\udcff": b"\xff\xfe"}
    assert lines == []
