"""Files of volumes that somebody removed from the disk are there again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.objects import ObjectKind
from messages.volumes import VolumesGone
from tests.support.volumes.volume_stage import LOOKS_EVERY, VolumeStage, pod_with, volume_stage

PW = ObjectKind.SECRET
CM = ObjectKind.CONFIG_MAP
SECRET = {"name": "s", "secret": {"secretName": "pw"}}
CONFIG = {"name": "c", "configMap": {"name": "conf"}}


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[VolumeStage]:
    with volume_stage(tmp_path) as stage:
        yield stage


def test_a_directory_that_somebody_deleted_is_made_again_with_the_next_change(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    shutil.rmtree(volumes.place(pod, "secret", "s"))
    volumes.puts(PW, "pw", user="you")
    assert volumes.files(pod, "secret", "s") == {"user": b"you"}


def test_files_that_somebody_deleted_are_there_again_within_a_minute(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    volumes.puts(CM, "conf", a="b")
    pod, other = pod_with("web", SECRET, CONFIG), pod_with("db", SECRET)
    volumes.wants(pod)
    volumes.wants(other)
    shutil.rmtree(volumes.place(pod, "configmap", "c"))
    (volumes.place(pod, "secret", "s") / "..data").unlink()
    volumes.passes(LOOKS_EVERY)
    assert volumes.files(pod, "configmap", "c") == {"a": b"b"}
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    assert volumes.described().writes == 5

    shutil.rmtree(volumes.directory(pod))
    volumes.crashes()
    volumes.passes(LOOKS_EVERY)
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}


def test_what_is_deleted_of_a_pod_that_goes_is_not_made_again(volumes: VolumeStage) -> None:
    volumes.puts(CM, "conf", a="b")
    pod = pod_with("web", CONFIG)
    volumes.wants(pod)
    shutil.rmtree(volumes.place(pod, "configmap", "c"))
    volumes.lanes.is_paused = True
    volumes.passes(LOOKS_EVERY)
    volumes.release_again(pod)
    volumes.lanes.is_paused = False
    volumes.writes()
    volumes.passes(LOOKS_EVERY)
    assert volumes.gone.drain() == [VolumesGone(uid=pod.uid)]
    assert not volumes.directory(pod).exists()
