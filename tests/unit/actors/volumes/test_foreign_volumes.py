"""Volumes that somebody else has made are found on the disk, with the names of their drivers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.volumes.making.foreign import DriverRecord, ForeignVolume, driver_record
from actors.volumes.making.foreign_search import foreign_volumes, pods_on_disk, stage_mounts
from actors.volumes.making.forms import VolumePlugin
from actors.volumes.making.jobs import VolumesTornDown
from actors.volumes.making.teardown import Teardowns
from messages.pods import PodUid
from tests.support.volumes.no_mounts import NoMounts
from tests.support.volumes.of_drivers import DRIVER, KubeletRoot

U1 = PodUid("u1")


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletRoot:
    root = KubeletRoot(tmp_path / "kubelet")
    root.pod(U1)
    return root


def found(kubelet: KubeletRoot) -> tuple[ForeignVolume, ...]:
    return foreign_volumes(str(kubelet.path), U1, ())


def torn_down(kubelet: KubeletRoot, uid: PodUid = U1) -> VolumesTornDown:
    return Teardowns(str(kubelet.path), NoMounts()).job(uid, detach=True)()


def test_the_agent_s_own_kinds_are_nobody_else_s(kubelet: KubeletRoot) -> None:
    for plugin in VolumePlugin:
        kubelet.of_plugin(U1, plugin, "mine").joinpath("file").touch()
    assert found(kubelet) == ()
    assert foreign_volumes(str(kubelet.path), "nobody", ()) == ()


@pytest.mark.parametrize(
    "plugin",
    [
        "kubernetes.io/csi",
        "kubernetes.io/local-volume",
        "kubernetes.io/nfs",
        "kubernetes.io/iscsi",
        "kubernetes.io/fc",
        "vendor.example/flex",
    ],
)
def test_a_pod_with_a_volume_of_another_plugin_keeps_everything(
    kubelet: KubeletRoot, plugin: str
) -> None:
    place = kubelet.of_plugin(U1, plugin, "pv1")
    place.joinpath("file").write_text("data")
    before = kubelet.files()
    (held,) = torn_down(kubelet).held
    assert held.why_held == (
        f'UnmountVolume.TearDown failed for volume "pv1" : the plugin {plugin} left {place}, '
        "which the agent may not remove"
    )
    assert kubelet.files() == before


def test_a_pod_with_a_device_of_a_driver_keeps_everything(kubelet: KubeletRoot) -> None:
    link = kubelet.mapped(U1, "pv1")
    before = kubelet.files()
    (held,) = torn_down(kubelet).held
    assert (held.name, held.plugin, held.path) == ("pv1", "kubernetes.io/csi", str(link))
    assert held.record == DriverRecord(DRIVER, "h1")
    assert kubelet.files() == before


def test_a_pod_is_taken_away_once_its_driver_s_directory_is(kubelet: KubeletRoot) -> None:
    target = kubelet.published(U1, "pv1")
    assert torn_down(kubelet).held
    target.with_name("vol_data.json").unlink()
    # What is left is of empty directories.
    assert torn_down(kubelet) == VolumesTornDown()
    assert [each.name for each in (kubelet.path / "pods" / U1).iterdir()] == ["containers"]


def test_what_others_staged_is_found_in_both_layouts_and_never_touched(
    kubelet: KubeletRoot,
) -> None:
    new, old = kubelet.staged("pv1"), kubelet.staged("pv2", "h2", is_old=True)
    kubelet.mapped("u2", "pv3", "h3")
    before = [*new.parent.iterdir(), *old.parent.iterdir()]
    staged = {each.path: each.record for each in stage_mounts(str(kubelet.path), ())}
    assert staged == {str(new): DriverRecord(DRIVER, "h1"), str(old): DriverRecord(DRIVER, "h2")}
    assert torn_down(kubelet) == VolumesTornDown()
    assert [*new.parent.iterdir(), *old.parent.iterdir()] == before


def cut(record: Path) -> None:
    record.write_bytes(record.read_bytes()[:-7])


def be_a_link(record: Path) -> None:
    record.rename(record.with_name("elsewhere"))
    record.symlink_to("elsewhere")


def be_a_directory(record: Path) -> None:
    record.unlink()
    record.mkdir()


def be_a_pipe(record: Path) -> None:
    record.unlink()
    os.mkfifo(record)


@pytest.mark.parametrize("spoil", [Path.unlink, cut, be_a_link, be_a_directory, be_a_pipe])
def test_a_record_that_cannot_be_read_says_nothing_and_all_stays(
    kubelet: KubeletRoot, spoil: Callable[[Path], None]
) -> None:
    target = kubelet.published(U1, "pv1")
    target.joinpath("file").write_text("data")
    spoil(target.with_name("vol_data.json"))
    (held,) = torn_down(kubelet).held
    assert held.record == DriverRecord()
    assert f"the plugin kubernetes.io/csi left {target.parent}, which" in held.why_held
    assert target.joinpath("file").read_text() == "data"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"driverName": "d", "volumeHandle": "h',
        b"\xff\xfe",
        b'"disk.example.org"',
        b'{"driverName": 7}',
        b'{"volumeHandle": "h"}',
        b"[" * 60_000,
    ],
)
def test_content_that_is_no_record_names_no_driver(content: bytes) -> None:
    assert driver_record(content) == DriverRecord()


def test_names_of_a_record_are_one_line_whatever_they_hold() -> None:
    record = driver_record(b'{"driverName": "a\\u001b[2J\\nb\\ud800", "volumeHandle": {}}')
    assert record.driver.isprintable()
    assert record.told.startswith("driver a [2J b")


def test_a_pod_of_which_it_cannot_be_told_keeps_everything(
    kubelet: KubeletRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = kubelet.of_plugin(U1, "kubernetes.io/nfs", "pv1")
    deep = place
    monkeypatch.chdir(place)
    while len(str(deep)) < 5000:  # longer than any call takes
        deep = deep / ("d" * 200)
        os.mkdir(deep.name)  # noqa: PTH102
        os.chdir(deep.name)
    before = kubelet.path.joinpath("pods", U1, "volumes/kubernetes.io~empty-dir/tmp/file")
    assert torn_down(kubelet).trouble.endswith(": File name too long")
    assert before.read_text() == "of the pod"


def test_names_on_the_disk_may_be_anything(kubelet: KubeletRoot) -> None:
    odd = os.fsdecode(b"pv\xff\n1")
    kubelet.of_plugin(U1, "kubernetes.io/nfs", odd).joinpath("file").touch()
    kubelet.path.joinpath("pods", U1, "volumes", "file").touch()
    told = [each.why_held for each in found(kubelet)]
    assert len(told) == 2
    assert all(each.isprintable() and each.isascii() for each in told)


def test_pods_on_the_disk_are_those_that_are_not_being_removed(kubelet: KubeletRoot) -> None:
    kubelet.pod("u0")
    kubelet.pod(".removing-u2")
    assert pods_on_disk(str(kubelet.path)) == ["u0", "u1"]
    assert pods_on_disk(str(kubelet.path / "nowhere")) == []
