"""Disks that are full, jobs that hang, volumes that stay mounted, and crashes at any message."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import structlog
from typing_extensions import override

from actors.volumes.keeper import VOLUME_KEEPER
from actors.volumes.keeper_parts import JobOf
from actors.volumes.making.jobs import VolumeJob, VolumeLane
from actors.volumes.mounts.mount_table import MountPoint, mounts_of
from kernel.mailbox import InjectedCrashError
from messages.objects import ObjectKind, ReadVerdict
from messages.pods import JsonObject
from messages.volumes import ReleaseVolumes, VolumesGone, VolumesStay
from tests.support.volumes.no_mounts import NoMounts
from tests.support.volumes.volume_stage import (
    VolumeStage,
    pod_with,
    volume_stage,
)

PW = ObjectKind.SECRET
SECRET = {"name": "s", "secret": {"secretName": "pw"}}
HOST = {"name": "h", "hostPath": {"path": "/etc", "type": "Directory"}}
EMPTY = {"name": "e", "emptyDir": {}}


class BusyMounts(NoMounts):
    """A kernel in which something is mounted in a pod's directory, and in use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_mounted = True
        self.asked: list[bool] = []
        """Whether lazily, of each attempt."""

    @override
    def table(self) -> tuple[MountPoint, ...]:
        line = f"30 1 0:30 / {os.path.realpath(self.path)} rw - tmpfs tmpfs rw\n"
        return mounts_of(line.encode()) if self.is_mounted else ()

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        if not target.endswith("/inner"):
            return super().unmount(target, lazily=lazily)
        self.asked.append(lazily)
        if not lazily:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), target)
        self.is_mounted = False
        return None


def test_a_path_of_the_node_that_is_not_what_it_should_be_is_looked_at_again(
    volumes: VolumeStage, tmp_path: Path
) -> None:
    path = tmp_path / "later"
    pod = pod_with("web", {"name": "h", "hostPath": {"path": str(path), "type": "Directory"}})
    told = volumes.wants(pod)
    why = f"hostPath type check failed: {path}: No such file or directory"
    assert told.troubles["h"].message == why
    path.mkdir()
    volumes.passes(1.0)
    assert volumes.seen(pod).volumes["h"].path == str(path)
    assert not volumes.seen(pod).troubles
    assert len(volumes.said()) == 1


def test_a_file_system_that_does_not_answer_keeps_its_pod_waiting_and_nobody_else(
    volumes: VolumeStage,
) -> None:
    volumes.lanes.is_paused = True
    stuck = pod_with("stuck", HOST)
    volumes.wants(stuck)
    volumes.lanes.begin()
    volumes.passes(34.0)
    assert volumes.seen(stuck).pending == {"h"}
    volumes.passes(5.0)
    assert volumes.seen(stuck).troubles["h"].message == "the file system does not answer"
    assert [each.lane for each in volumes.lanes.abandoned] == [VolumeLane.NODE]
    assert volumes.releases(stuck) == []
    hanging = volumes.lanes.waiting.pop(0)
    volumes.writes()
    assert volumes.gone.drain() == [VolumesGone(uid=stuck.uid)]
    volumes.lanes.waiting.append(hanging)
    volumes.writes()
    assert volumes.wants(stuck).pending == {"h"}


def test_a_write_that_hangs_holds_up_the_release_of_its_pod_for_half_a_minute_and_not_longer(
    volumes: VolumeStage,
) -> None:
    volumes.lanes.is_paused = True
    stuck = pod_with("stuck", EMPTY)
    volumes.wants(stuck)
    volumes.lanes.begin()
    volumes.releases(stuck)
    volumes.passes(29.0)
    assert volumes.lanes.lanes == [VolumeLane.DISK]  # it may still write what would be removed
    volumes.passes(10.0)
    assert volumes.lanes.lanes == [VolumeLane.DISK, VolumeLane.REMOVALS]
    del volumes.lanes.waiting[0]
    volumes.writes()
    assert volumes.gone.drain() == [VolumesGone(uid=stuck.uid)]


def test_a_disk_that_takes_nothing_leaves_the_old_files_and_is_tried_again(
    volumes: VolumeStage,
) -> None:
    volumes.puts(PW, "pw", user="me")
    pod = pod_with("web", SECRET)
    volumes.wants(pod)
    volumes.passes(1.0)
    volumes.lanes.trouble = "No space left on device"
    volumes.puts(PW, "pw", user="you")
    assert volumes.seen(pod).troubles["s"].message == "No space left on device"
    assert volumes.files(pod, "secret", "s") == {"user": b"me"}
    jobs = len(volumes.lanes.lanes)
    volumes.passes(10.0)
    assert len(volumes.lanes.lanes) - jobs == 3
    assert len(volumes.said()) == 1
    volumes.lanes.trouble = ""
    volumes.passes(60.0)
    assert not volumes.seen(pod).troubles
    assert volumes.files(pod, "secret", "s") == {"user": b"you"}


def test_what_stays_in_use_is_detached_in_the_end_and_then_the_pod_is_gone(
    tmp_path: Path,
) -> None:
    pod = pod_with("web", EMPTY)
    inner = tmp_path / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "e" / "inner"
    calls = BusyMounts(inner)
    with volume_stage(tmp_path, calls) as volumes:
        volumes.wants(pod)
        inner.mkdir()
        busy = (f"{inner}: Device or resource busy",)
        assert volumes.releases(pod) == [VolumesStay(uid=pod.uid, reasons=busy)]
        assert inner.is_dir()
        volumes.passes(10.0)
        assert volumes.gone.drain() == [VolumesGone(uid=pod.uid)]
        assert calls.asked == [False, False, False, True]
        assert not volumes.directory(pod).exists()


def test_a_sweep_takes_nothing_away_from_a_pod_that_is_there(volumes: VolumeStage) -> None:
    pod = pod_with("web", EMPTY)
    volumes.wants(pod)
    asked = ReleaseVolumes(uid=pod.uid, reply_to=volumes.gone, unless_wanted=True)
    volumes.play.tell(VOLUME_KEEPER, asked)
    volumes.gone.expect_silence()
    assert volumes.place(pod, "empty-dir", "e").is_dir()


def test_a_sweep_takes_away_what_an_earlier_process_left(volumes: VolumeStage) -> None:
    pod = pod_with("web", EMPTY)
    volumes.wants(pod)
    volumes.next_process()
    asked = ReleaseVolumes(uid=pod.uid, reply_to=volumes.gone, unless_wanted=True)
    volumes.play.tell(VOLUME_KEEPER, asked)
    volumes.gone.expect(VolumesGone(uid=pod.uid))
    assert not volumes.directory(pod).exists()


def test_a_pod_of_the_same_uid_has_its_volumes_after_those_of_the_earlier_one_are_gone(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", EMPTY)
    volumes.wants(pod)
    (volumes.place(pod, "empty-dir", "e") / "old").touch()
    volumes.lanes.is_paused = True
    volumes.releases(pod)
    volumes.lanes.is_paused = False
    worker = volumes.wants_again(pod)
    volumes.writes()
    volumes.gone.expect(VolumesGone(uid=pod.uid))
    assert worker.drain()[-1].volumes.keys() == {"e"}
    assert not (volumes.place(pod, "empty-dir", "e") / "old").exists()


def _story(volumes: VolumeStage, between: Callable[[], object]) -> dict[str, object]:
    """Play a story, with ``between`` after each of its steps. Return how it ended."""
    pod, other = pod_with("web", SECRET, HOST, EMPTY), pod_with("other", SECRET)
    steps: list[Callable[[], object]] = [
        lambda: volumes.wants_again(pod),
        lambda: volumes.puts(PW, "pw", user="me"),
        lambda: volumes.wants_again(other),
        lambda: volumes.puts(PW, "pw", user="you"),
        lambda: volumes.deletes(PW, "pw"),
        lambda: volumes.puts(PW, "pw", user="they"),
        lambda: volumes.release_again(other),
    ]
    for step in steps:
        step()
        between()
        volumes.passes(0.02)
    # Whoever asks asks again while there is no answer.
    volumes.wants_again(pod)
    volumes.release_again(other)
    volumes.passes(5.0)
    told = volumes.seen(pod)
    return {
        "files": volumes.files(pod, "secret", "s"),
        "volumes": told.volumes.keys(),
        "troubles": told.troubles,
        "pending": told.pending,
        "shown": len(told.shown),
        "other": volumes.directory(other).exists(),
        "gone": other.uid in {each.uid for each in volumes.gone.drain()},
        "jobs": len(volumes.memory.jobs),
    }


EXPECTED = {
    "files": {"user": b"they"},
    "volumes": {"s", "h", "e"},
    "troubles": {},
    "pending": frozenset(),
    "shown": 1,
    "other": False,
    "gone": True,
    "jobs": 0,
}


def test_a_story_without_a_crash(volumes: VolumeStage) -> None:
    assert _story(volumes, lambda: None) == EXPECTED


@pytest.mark.parametrize("step", range(7))
@pytest.mark.parametrize("is_paused", [False, True])
def test_a_crash_after_any_step_changes_nothing(
    volumes: VolumeStage, step: int, *, is_paused: bool
) -> None:
    count = 0
    volumes.lanes.is_paused = is_paused

    def between() -> None:
        nonlocal count
        if count == step:
            volumes.crashes()
            volumes.lanes.is_paused = False
            volumes.lanes.work()
        count += 1

    assert _story(volumes, between) == EXPECTED


@pytest.mark.parametrize("number", range(1, 21))
@pytest.mark.parametrize("is_after", [False, True])
def test_a_crash_at_any_message_changes_nothing(
    volumes: VolumeStage, number: int, *, is_after: bool
) -> None:
    volumes.crash_at, volumes.crashes_after = number, is_after
    assert _story(volumes, lambda: None) == EXPECTED
    assert volumes.handled >= number


class CrashesOnce(dict[VolumeJob, JobOf]):
    """The jobs of a keeper that crashes once, when it has taken one of them out."""

    is_to_crash = True

    @override
    def pop(self, key: VolumeJob, default: Any = None) -> Any:
        found = super().pop(key, default)
        if self.is_to_crash:
            self.is_to_crash = False
            raise InjectedCrashError
        return found


@pytest.mark.parametrize("volume", [SECRET, HOST, EMPTY], ids=["files", "a path", "a directory"])
def test_a_volume_is_made_again_when_a_crash_lost_what_came_of_its_job(
    volumes: VolumeStage, volume: JsonObject
) -> None:
    volumes.puts(PW, "pw", user="me")
    volumes.memory.jobs = CrashesOnce()
    pod = pod_with("web", volume)
    volumes.wants_again(pod)
    volumes.passes(5.0)
    assert volumes.seen(pod).volumes.keys() == {volume["name"]}
    assert volumes.seen(pod).pending == frozenset()


def test_volumes_are_taken_away_again_when_a_crash_lost_what_came_of_that(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", SECRET)
    volumes.puts(PW, "pw", user="me")
    volumes.wants(pod)
    volumes.memory.jobs = CrashesOnce()
    volumes.release_again(pod)
    volumes.passes(5.0)
    volumes.gone.expect(VolumesGone(uid=pod.uid))


def test_a_crash_while_a_write_is_taken_in_leaves_no_object_unseen(volumes: VolumeStage) -> None:
    class CrashesWhenSaid(set[str]):
        has_crashed = False

        @override
        def add(self, element: str, /) -> None:
            super().add(element)
            self.has_crashed = True
            raise InjectedCrashError

    volumes.puts(PW, "pw", user="me")
    notices = volumes.memory.notices = CrashesWhenSaid()
    volumes.crashes()  # the next life says there that this node's files cannot be in memory
    pod = pod_with("web", SECRET)
    volumes.wants_again(pod)
    volumes.passes(5.0)
    assert notices.has_crashed
    assert len(volumes.seen(pod).shown) == 1


def test_what_is_made_while_the_keeper_is_down_is_taken_in_by_its_next_life(
    volumes: VolumeStage,
) -> None:
    volumes.lanes.is_paused = True
    pod = pod_with("web", EMPTY)
    assert volumes.wants(pod).pending == {"e"}
    volumes.play.system.crash(VOLUME_KEEPER.path)
    volumes.lanes.work()
    volumes.passes(1.0)
    assert volumes.seen(pod).volumes.keys() == {"e"}
    assert volumes.lanes.lanes == [VolumeLane.DISK]


def test_nothing_is_told_of_what_is_in_files(volumes: VolumeStage) -> None:
    volumes.puts(PW, "pw", user="hunter2")
    pod = pod_with("web", SECRET)
    told = volumes.wants(pod)
    assert "hunter2" not in repr(told)
    assert "hunter2" not in repr(volumes.memory)


def test_a_write_that_has_a_bug_is_a_trouble_of_its_volume_and_shows_no_value(
    volumes: VolumeStage,
) -> None:
    class Strange(dict[str, bytes]):
        @override
        def items(self) -> NoReturn:
            raise RuntimeError("hunter2")

    volumes.puts(PW, "pw", user="me")
    value = volumes.objects.values[PW, "pw"]
    volumes.objects.values[PW, "pw"] = replace(value, data=Strange())
    pod = pod_with("web", SECRET)
    told = volumes.wants(pod)
    assert told.troubles["s"].message == "the agent has a bug: RuntimeError"
    assert "hunter2" not in " ".join(volumes.said())


def test_an_object_that_is_missing_has_one_line_in_the_log_which_is_not_the_volumes(
    volumes: VolumeStage,
) -> None:
    pod = pod_with("web", {"name": "s", "secret": {"secretName": "pw"}})
    with structlog.testing.capture_logs() as logs:
        volumes.wants(pod)
        volumes.puts(ObjectKind.SECRET, "pw", user="me")
    said = [(each["log_level"], each["event"]) for each in logs if "should be" in each["event"]]
    assert ("debug", "a volume is not as it should be") in said
    assert ("debug", "a volume is as it should be again") in said
    assert {"warning", "info"}.isdisjoint(level for level, _ in said)
    assert len(volumes.said()) == 1


def test_a_key_that_is_missing_is_said_by_the_volume_alone(volumes: VolumeStage) -> None:
    volumes.puts(ObjectKind.SECRET, "pw", user="me")
    items = [{"key": "x", "path": "x"}]
    pod = pod_with("web", {"name": "s", "secret": {"secretName": "pw", "items": items}})
    with structlog.testing.capture_logs() as logs:
        volumes.wants(pod)
    assert "warning" in {each["log_level"] for each in logs if each.get("volume") == "s"}


def test_a_static_pod_says_within_seconds_that_a_file_came_and_is_refused(
    volumes: VolumeStage,
) -> None:
    pod = replace(pod_with("web", SECRET), source="file")
    volumes.wants(pod)
    assert volumes.seen(pod).troubles["s"].message == 'secret "pw" not found'
    volumes.objects.unread[PW, "pw"] = ReadVerdict.UNUSABLE
    volumes.passes(3.5)
    assert volumes.seen(pod).troubles["s"].message == 'secret "pw" cannot be used'
    del volumes.objects.unread[PW, "pw"]
    volumes.passes(3.5)
    assert volumes.seen(pod).troubles["s"].message == 'secret "pw" not found'
