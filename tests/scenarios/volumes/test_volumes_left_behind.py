"""Volumes of pods that went while no agent was there are taken away, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.volumes.keeper import VOLUME_KEEPER
from messages.objects import ObjectKind
from messages.pods import Pod
from messages.volumes import ReleaseOtherVolumes
from tests.support.volumes.volume_stage import VolumeStage, pod_with, volume_stage

CM = ObjectKind.CONFIG_MAP
EMPTY = {"name": "e", "emptyDir": {}}
CONFIG = {"name": "c", "configMap": {"name": "conf"}}
WEB, DB, MAIL = (pod_with(name, EMPTY, CONFIG) for name in ("web", "db", "mail"))


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[VolumeStage]:
    with volume_stage(tmp_path) as stage:
        yield stage


def leave_behind(volumes: VolumeStage, *pods: Pod) -> None:
    """Have an earlier process make the volumes of pods, and be killed."""
    volumes.puts(CM, "conf", a="b")
    for pod in pods:
        volumes.wants(pod)
    volumes.next_process()


def all_listed(volumes: VolumeStage, *pods: Pod) -> None:
    known = frozenset(pod.uid for pod in pods)
    volumes.play.tell(VOLUME_KEEPER, ReleaseOtherVolumes(known=known))


def there(volumes: VolumeStage) -> set[str]:
    return {each.name for each in (volumes.root / "pods").iterdir()}


def test_the_volumes_of_pods_that_nobody_lists_go(volumes: VolumeStage) -> None:
    leave_behind(volumes, WEB, DB, MAIL)
    volumes.wants(DB)
    all_listed(volumes, WEB)
    assert there(volumes) == {WEB.uid, DB.uid}
    assert volumes.files(DB, "configmap", "c") == {"a": b"b"}
    assert volumes.memory.pods.keys() == {DB.uid}
    all_listed(volumes, WEB)
    assert there(volumes) == {WEB.uid, DB.uid}


def test_a_directory_in_which_containers_had_files_is_left_to_who_ran_them(
    volumes: VolumeStage,
) -> None:
    leave_behind(volumes, WEB, DB)
    (volumes.directory(WEB) / "etc-hosts").touch()
    (volumes.root / "pods" / "empty").mkdir()
    (volumes.root / "pods" / "file").touch()
    all_listed(volumes)
    assert there(volumes) == {WEB.uid, "empty", "file"}
    assert volumes.files(WEB, "configmap", "c") == {"a": b"b"}


def test_an_agent_whose_pods_never_had_volumes_finds_none(volumes: VolumeStage) -> None:
    all_listed(volumes)
    assert volumes.memory.pods == {}


def test_a_pod_that_comes_while_they_are_looked_for_keeps_its_volumes(
    volumes: VolumeStage,
) -> None:
    leave_behind(volumes, WEB, DB)
    volumes.lanes.is_paused = True
    all_listed(volumes)
    volumes.wants_again(WEB)
    volumes.lanes.is_paused = False
    volumes.writes()
    assert there(volumes) == {WEB.uid}
    assert volumes.seen(WEB).volumes.keys() == {"e", "c"}


def test_what_is_found_is_taken_away_by_the_next_life_too(volumes: VolumeStage) -> None:
    leave_behind(volumes, WEB)
    volumes.lanes.is_paused = True
    all_listed(volumes)
    volumes.lanes.is_paused = False
    volumes.crashes()
    volumes.writes()
    assert there(volumes) == set()
