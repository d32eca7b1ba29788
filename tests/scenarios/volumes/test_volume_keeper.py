"""The keeper of volumes: what pods want, what is written, and what is told of it."""

from __future__ import annotations

import os

import pytest

from messages.objects import ObjectKind
from messages.volumes import VolumesGone, VolumeState
from tests.support.volumes.reading import mode_of
from tests.support.volumes.volume_stage import VolumeStage, pod_with

SECRET = {"name": "s", "secret": {"secretName": "pw"}}
PW = ObjectKind.SECRET


def test_a_volume_of_a_secret_is_there_with_its_keys(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", user="me", password="x")
    pod = pod_with("web", SECRET)
    told = volumes.wants(pod)
    assert told.volumes["s"].path == str(volumes.place(pod, "secret", "s"))
    assert told.volumes["s"].read_only
    assert (told.pending, told.troubles) == (frozenset(), {})
    assert volumes.files(pod, "secret", "s") == {"user": b"me", "password": b"x"}


def test_a_secret_that_changes_is_written_at_once_into_every_volume_that_shows_it(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    pods = [pod_with(f"web-{number}", SECRET) for number in range(5)]
    for pod in pods:
        volumes.wants(pod)
    volumes.passes(1.0)
    asked = volumes.objects.asked
    value = volumes.puts(PW, "pw", user="you")
    assert volumes.objects.asked == asked
    for pod in pods:
        assert volumes.files(pod, "secret", "s") == {"user": b"you"}
        assert [*volumes.seen(pod).shown.values()] == [value.resource_version]


def test_a_pod_waits_for_a_secret_and_has_its_volume_when_that_is_created(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", SECRET)
    told = volumes.wants(pod)
    assert not told.volumes
    assert told.troubles["s"].message == 'secret "pw" not found'
    assert volumes.said() == [
        'FailedMount: MountVolume.SetUp failed for volume "s" : secret "pw" not found'
    ]
    volumes.puts(PW, "pw", user="me")
    assert volumes.seen(pod).volumes.keys() == {"s"}
    assert not volumes.seen(pod).troubles


def test_nothing_is_left_of_volumes_that_are_released(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET, {"name": "e", "emptyDir": {}})
    volumes.wants(pod)
    assert volumes.place(pod, "empty-dir", "e").is_dir()
    assert volumes.releases(pod) == [VolumesGone(uid=pod.uid)]
    assert not volumes.directory(pod).exists()
    assert not volumes.objects.levels[PW].followed()
    assert not volumes.objects.registered


def test_whoever_asks_again_is_told_again_though_nothing_has_changed(volumes: VolumeStage) -> None:
    pod = pod_with("web", {"name": "e", "emptyDir": {}})
    told = volumes.wants(pod)
    assert told.volumes.keys() == {"e"}
    # A worker that has crashed knows nothing of the answer to the one before.
    assert volumes.wants_again(pod).drain() == [told]


def test_a_volume_of_a_kind_that_there_is_not_here_is_refused_for_good(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", {"name": "c", "persistentVolumeClaim": {"claimName": "x"}})
    told = volumes.wants(pod)
    assert told.troubles["c"].is_for_good
    why = "volumes of the kind persistentVolumeClaim are not supported"
    assert volumes.said() == [
        f'FailedMount: MountVolume.SetUp failed for volume "c" : {why}',
    ]
    assert volumes.releases(pod) == [VolumesGone(uid=pod.uid)]


def test_people_are_told_how_volumes_are(volumes: VolumeStage) -> None:
    value = volumes.puts(PW, "pw", user="me")
    volumes.wants(pod_with("web", SECRET, {"name": "c", "nfs": {"path": "/x"}}))
    described = volumes.described()
    assert described.states == {
        ("kubernetes.io/secret", VolumeState.THERE): 1,
        ("nfs", VolumeState.TROUBLE): 1,
    }
    secret, nfs = described.volumes
    assert secret.shown == {"Secret default/pw": value.resource_version}
    assert nfs.trouble == "volumes of the kind nfs are not supported"
    assert (described.writes, described.written_bytes) == (1, 2)
    volumes.passes(1.0)
    volumes.puts(PW, "pw", user="you")
    assert sum(volumes.described().delays.buckets) == 1


@pytest.mark.parametrize("policy", ["Always", "OnRootMismatch", None])
def test_what_containers_made_of_an_empty_directory_stays_whatever_the_change_policy_of_the_group(
    volumes: VolumeStage, policy: str | None
) -> None:
    pod = pod_with("web", {"name": "e", "emptyDir": {}})
    pod.document["spec"]["securityContext"] = {
        "fsGroup": os.getgid(),
        "fsGroupChangePolicy": policy,
    }
    volumes.wants(pod)
    made = volumes.place(pod, "empty-dir", "e")
    assert mode_of(made) == 0o2777
    mine = made / "mine"
    mine.touch(0o600)
    made.chmod(0o700)
    volumes.next_process()
    volumes.wants(pod)
    assert (mode_of(made), mode_of(mine)) == (0o700, 0o600)
