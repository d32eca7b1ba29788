"""What a driver has mounted stays mounted, on this machine's kernel, with all that its pod has."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from actors.volumes.making.foreign import DriverRecord, ForeignVolume
from actors.volumes.making.foreign_search import pods_on_disk, stage_mounts
from actors.volumes.making.forms import VolumePlugin, volume_place
from actors.volumes.making.jobs import VolumesTornDown
from actors.volumes.making.teardown import Teardowns
from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.places import opened_parent
from actors.volumes.mounts.system_calls import KernelMounts
from messages.pods import PodUid
from runtimes.cri.disk.pod_files import forget_pod_files, remove_unless_held
from tests.support.volumes.of_drivers import DRIVER, KubeletRoot, bind, mount_disk, unmount

U1, U2 = PodUid("u1"), PodUid("u2")


@pytest.fixture
def kubelet(mounting: Path) -> KubeletRoot:
    """Return a tree as a kubelet leaves it: two pods with one disk, and one of them with a Secret."""
    root = KubeletRoot(mounting / "kubelet")
    stage = root.staged("pv1")
    mount_disk(stage)
    for uid in (U1, U2):
        root.pod(uid)
        bind(stage, made(root.published(uid, "pv1")))
    mount_disk(root.of_plugin(U1, "kubernetes.io/secret", "keys"))
    bind(stage, made(root.path / "pods" / U1 / "volume-subpaths/pv1/main/0"))
    return root


def made(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place


def torn_down(kubelet: KubeletRoot, uid: PodUid, *, detach: bool = False) -> VolumesTornDown:
    return Teardowns(str(kubelet.path), KernelMounts()).job(uid, detach=detach)()


def published(kubelet: KubeletRoot, uid: PodUid) -> Path:
    return kubelet.path / "pods" / uid / "volumes/kubernetes.io~csi/pv1/mount"


def record_of(kubelet: KubeletRoot, uid: PodUid) -> Path:
    return published(kubelet, uid).with_name("vol_data.json")


def expected(kubelet: KubeletRoot, record: DriverRecord) -> ForeignVolume:
    return ForeignVolume(
        name="pv1",
        plugin="kubernetes.io/csi",
        path=str(published(kubelet, U1).parent),
        record=record,
        is_mounted=True,
    )


@pytest.mark.parametrize("detach", [False, True])
def test_a_pod_with_a_driver_s_mount_keeps_all_mounts_and_files(
    kubelet: KubeletRoot, *, detach: bool
) -> None:
    files, mounts = kubelet.files(), kubelet.mounted()
    assert len(mounts) == 5
    held = (expected(kubelet, DriverRecord(DRIVER, "h1")),)
    assert torn_down(kubelet, U1, detach=detach) == VolumesTornDown(held=held)
    assert (kubelet.files(), kubelet.mounted()) == (files, mounts)
    assert held[0].said == (
        f"driver {DRIVER} (handle h1) mounted {published(kubelet, U1).parent}, "
        "which the agent may not unmount"
    )


@pytest.mark.parametrize("plugin", ["kubernetes.io/csi", "kubernetes.io/nfs"])
def test_a_mount_of_others_keeps_its_pod_also_where_pods_is_a_link_to_another_disk(
    kubelet: KubeletRoot, plugin: str
) -> None:
    pods, elsewhere = kubelet.path / "pods", kubelet.path / "disk"
    elsewhere.mkdir()
    pods.rename(elsewhere / "pods")
    pods.symlink_to(elsewhere / "pods")
    kubelet.pod("u3")
    mount_disk(kubelet.of_plugin("u3", plugin, "empty"))
    files, mounts = kubelet.files(), kubelet.mounted()
    (held,) = torn_down(kubelet, PodUid("u3"), detach=True).held
    assert held.said == (
        f"the plugin {plugin} mounted {elsewhere}/pods/u3/volumes/{plugin.replace('/', '~')}/empty, "
        "which the agent may not unmount"
    )
    assert remove_unless_held(str(pods / "u3")) == held.why_held
    assert pods_on_disk(str(kubelet.path)) == [U1, U2, "u3"]
    assert (kubelet.files(), kubelet.mounted()) == (files, mounts)


def test_volumes_of_the_agent_go_also_where_pods_is_a_link_to_another_disk(mounting: Path) -> None:
    kubelet = KubeletRoot(mounting / "kubelet")
    (mounting / "disk").mkdir()
    kubelet.path.mkdir()
    kubelet.path.joinpath("pods").symlink_to(mounting / "disk")
    kubelet.pod(U1)
    place = volume_place(str(kubelet.path), U1, VolumePlugin.SECRET, "keys")
    with opened_parent(place):
        mount_disk(made(Path(place.path)))
    assert torn_down(kubelet, U1) == VolumesTornDown()
    assert mounts_below(KernelMounts().table(), str(mounting / "disk")) == ()
    assert not (mounting / "disk" / U1 / "volumes").exists()


def test_a_pod_whose_sandbox_went_first_keeps_all_mounts_and_files(kubelet: KubeletRoot) -> None:
    files, mounts = kubelet.files(), kubelet.mounted()
    directory = str(kubelet.path / "pods" / U1)
    assert remove_unless_held(directory).startswith(
        'UnmountVolume.TearDown failed for volume "pv1"'
    )
    with capture_logs() as logs:
        forget_pod_files(directory)
    assert [each["event"] for each in logs] == ["the files of a pod are not removed"]
    assert (kubelet.files(), kubelet.mounted()) == (files, mounts)


def test_a_pod_goes_once_somebody_has_dealt_with_its_volume_and_what_is_staged_stays(
    kubelet: KubeletRoot,
) -> None:
    unmount(published(kubelet, U1))
    (left,) = torn_down(kubelet, U1).held
    assert "left " in left.why_held
    assert record_of(kubelet, U1).exists()
    record_of(kubelet, U1).unlink()
    assert torn_down(kubelet, U1) == VolumesTornDown()
    directory = kubelet.path / "pods" / U1
    assert [each.name for each in directory.iterdir()] == ["containers"]
    assert remove_unless_held(str(directory)) == ""
    assert not directory.exists()
    stage = "plugins/kubernetes.io/csi"
    assert [each.split("/globalmount")[-1] for each in kubelet.mounted() if stage in each] == [""]
    assert published(kubelet, U2).joinpath("precious").read_text() == "data"


def test_a_volume_without_a_record_has_the_name_that_its_stage_mount_says(
    kubelet: KubeletRoot,
) -> None:
    record_of(kubelet, U1).write_text('{"driverName": "dis')
    held = torn_down(kubelet, U1).held
    assert held == (expected(kubelet, DriverRecord(DRIVER, "h1")),)
    (stage,) = stage_mounts(str(kubelet.path), KernelMounts().table())
    Path(stage.path).with_name("vol_data.json").unlink()
    assert torn_down(kubelet, U1).held == (expected(kubelet, DriverRecord()),)
    assert published(kubelet, U1).joinpath("precious").read_text() == "data"


def test_a_mount_of_a_plugin_without_a_driver_goes_by_being_unmounted(mounting: Path) -> None:
    kubelet = KubeletRoot(mounting / "kubelet")
    kubelet.pod(U1)
    place = kubelet.of_plugin(U1, "kubernetes.io/nfs", "share")
    precious = mount_disk(place)
    (held,) = torn_down(kubelet, U1).held
    assert held.said == (
        f"the plugin kubernetes.io/nfs mounted {place}, which the agent may not unmount"
    )
    assert precious.read_text() == "data"
    unmount(place)
    assert torn_down(kubelet, U1) == VolumesTornDown()


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize(
    "place",
    [
        "other/mnt",
        "plugins/x.example~disk/m",
        "containers/c/m",
        "volumes/kubernetes.io~secret",
        "volume-subpaths",
    ],
)
def test_what_somebody_mounted_outside_of_the_volumes_of_a_pod_keeps_all_that_it_has(
    mounting: Path, place: str, *, detach: bool
) -> None:
    kubelet = KubeletRoot(mounting / "kubelet")
    path = made(kubelet.pod(U1) / place)
    precious = mount_disk(path)
    files, mounts = kubelet.files(), kubelet.mounted()
    (held,) = torn_down(kubelet, U1, detach=detach).held
    assert held.said == f"somebody mounted {path}, which the agent may not unmount"
    assert remove_unless_held(str(kubelet.path / "pods" / U1)) == held.why_held
    assert (kubelet.files(), kubelet.mounted()) == (files, mounts)
    assert precious.read_text() == "data"
    unmount(path)
    assert torn_down(kubelet, U1) == VolumesTornDown()


def test_a_stage_mount_that_no_pod_names_is_told_and_survives_every_teardown(
    mounting: Path,
) -> None:
    kubelet = KubeletRoot(mounting / "kubelet")
    kept = [mount_disk(kubelet.staged("pv1")), mount_disk(kubelet.staged("pv2", "h2", is_old=True))]
    kubelet.pod(U1)
    mounts = kubelet.mounted()
    assert torn_down(kubelet, U1) == VolumesTornDown()
    assert remove_unless_held(str(kubelet.path / "pods" / U1)) == ""
    assert kubelet.mounted() == mounts
    assert [each.read_text() for each in kept] == ["data", "data"]
    staged = stage_mounts(str(kubelet.path), KernelMounts().table())
    assert [(each.record, each.is_mounted) for each in staged] == [
        (DriverRecord(DRIVER, "h1"), True),
        (DriverRecord(DRIVER, "h2"), True),
    ]
