"""Volumes that somebody else has made keep their pod, and the keeper says so until they are dealt with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from actors.volumes.keeper import VOLUME_KEEPER
from actors.volumes.releases import HELD_PAUSE
from messages.pods import Pod, PodUid
from messages.volumes import ReleaseOtherVolumes, VolumesGone, VolumesStay, VolumeState
from tests.support.volumes.of_drivers import DRIVER, KubeletRoot
from tests.support.volumes.volume_stage import VolumeStage, pod_with, volume_stage

EMPTY = {"name": "e", "emptyDir": {}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
WEB = pod_with("web", EMPTY, CLAIM)
CANNOT = "volumes of a pod cannot be taken away"


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[VolumeStage]:
    with volume_stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletRoot:
    """Return the same directory, with a volume that a driver published to the pod."""
    root = KubeletRoot(tmp_path)
    root.published(WEB.uid, "pv1").joinpath("precious").write_text("data")
    return root


def why(kubelet: KubeletRoot, uid: str = WEB.uid) -> str:
    path = kubelet.path / "pods" / uid / "volumes/kubernetes.io~csi/pv1"
    return (
        f'UnmountVolume.TearDown failed for volume "pv1" : driver {DRIVER} (handle h1) left {path}, '
        "which the agent may not remove"
    )


def is_dealt_with(kubelet: KubeletRoot, uid: str = WEB.uid) -> None:
    place = kubelet.path / "pods" / uid / "volumes/kubernetes.io~csi/pv1"
    place.joinpath("mount/precious").unlink()
    place.joinpath("vol_data.json").unlink()


def test_whoever_releases_such_a_pod_is_told_why_it_stays_and_at_last_that_it_is_gone(
    volumes: VolumeStage, kubelet: KubeletRoot
) -> None:
    volumes.wants(WEB)
    before = kubelet.files()
    with capture_logs() as logs:
        assert volumes.releases(WEB) == [VolumesStay(uid=WEB.uid, reasons=(why(kubelet),))]
        volumes.passes(300.0)
        assert volumes.gone.drain() == []
    said = [each for each in logs if each["event"] == CANNOT]
    assert [(each["pod"], each["reason"]) for each in said] == [("default/web", why(kubelet))]
    assert kubelet.files() == before
    is_dealt_with(kubelet)
    volumes.passes(HELD_PAUSE)
    assert volumes.gone.drain() == [VolumesGone(uid=WEB.uid)]
    assert not volumes.directory(WEB).exists()


def test_whoever_asks_again_is_told_again(volumes: VolumeStage, kubelet: KubeletRoot) -> None:
    told = [VolumesStay(uid=WEB.uid, reasons=(why(kubelet),))]
    assert volumes.releases(WEB) == told
    assert volumes.releases(WEB) == told
    volumes.crashes()
    assert volumes.releases(WEB) == told


def test_such_a_volume_is_described_with_its_driver(
    volumes: VolumeStage, kubelet: KubeletRoot
) -> None:
    volumes.wants(WEB)
    volumes.releases(WEB)
    described = volumes.described()
    held = {each.name: each for each in described.volumes}["pv1"]
    assert (held.pod, held.state, held.plugin) == (
        "default/web",
        VolumeState.HELD,
        "kubernetes.io/csi",
    )
    assert held.trouble == why(kubelet)
    assert described.states["kubernetes.io/csi", VolumeState.HELD] == 1
    assert described.unmounts_failing == 1


def test_a_pod_that_nobody_lists_keeps_such_a_volume_too(
    volumes: VolumeStage, kubelet: KubeletRoot
) -> None:
    before = kubelet.files()
    with capture_logs() as logs:
        volumes.play.tell(VOLUME_KEEPER, ReleaseOtherVolumes(known=frozenset[PodUid]()))
        volumes.passes(300.0)
    assert [each["reason"] for each in logs if each["event"] == CANNOT] == [why(kubelet)]
    assert kubelet.files() == before
    assert [each.trouble for each in volumes.described().volumes] == [why(kubelet)]
    is_dealt_with(kubelet)
    volumes.passes(HELD_PAUSE)
    assert volumes.memory.pods == {}
    assert not volumes.directory(WEB).exists()


def test_what_is_in_use_is_not_detached_sooner_because_a_pod_was_held(
    volumes: VolumeStage, kubelet: KubeletRoot
) -> None:
    assert kubelet.files()
    volumes.releases(WEB)
    volumes.passes(10 * HELD_PAUSE)
    releasing = volumes.memory.pods[WEB.uid].releasing
    assert releasing is not None
    assert releasing.attempts == 0


def test_another_pod_of_that_uid_has_its_volumes_after_that(
    volumes: VolumeStage, kubelet: KubeletRoot
) -> None:
    volumes.releases(WEB)
    again: Pod = pod_with("web", EMPTY)
    worker = volumes.wants_again(again)
    volumes.passes(60.0)
    assert worker.drain() == []
    is_dealt_with(kubelet)
    volumes.passes(HELD_PAUSE)
    assert volumes.seen(again).volumes.keys() == {"e"}
