"""Rotating logs: the steps, files on disk, and a process that is killed at any of them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.logs.directories import LogDirectory, opened
from actors.logs.layout import LogFileStatus
from actors.logs.rotating import carry_out, log_files
from actors.logs.rotation import (
    CompressLogFile,
    MoveLog,
    RemoveLogFile,
    RotationStep,
    rotation_steps,
    tidying_steps,
)
from actors.logs.upkeep import WantedPods, old_attempts, orphans
from messages.changes import Op, PodChange
from messages.pod_lives import PodLife
from messages.pod_manager import PodsAre, PodsChanged
from messages.pods import API, FILE, PodUid
from tests.support.builders import make_pod
from tests.support.runtimes.log_files import WrittenLog, as_lines, shown

NOW = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
STAMP = "20261122-100000"


def files(*names: str, same: dict[str, str] | None = None) -> dict[str, LogFileStatus]:
    """Return files of these names. Those of ``same`` are another name of a file."""
    inodes = {name: number for number, name in enumerate(names)}
    inodes |= {name: inodes[of] for name, of in (same or {}).items()}
    return {name: LogFileStatus(1, (0, inode), 0.0, 0o640) for name, inode in inodes.items()}


def steps(*names: str, max_files: int = 5) -> list[RotationStep]:
    return list(rotation_steps("0.log", files(*names), max_files, NOW))


def test_the_first_rotation_only_renames() -> None:
    assert steps("0.log", "1.log") == [MoveLog("0.log", f"0.log.{STAMP}")]


def test_what_was_rotated_before_is_compressed_and_the_oldest_go() -> None:
    names = [f"0.log.20261122-09000{number}" for number in range(5)]
    assert steps("0.log", *[f"{name}.gz" for name in names[:4]], names[4]) == [
        RemoveLogFile(f"{names[0]}.gz"),
        RemoveLogFile(f"{names[1]}.gz"),
        CompressLogFile(names[4]),
        MoveLog("0.log", f"0.log.{STAMP}"),
    ]


def test_two_files_are_the_log_and_one_that_it_was_rotated_to() -> None:
    assert steps("0.log", "0.log.20261122-090000", max_files=2) == [
        RemoveLogFile("0.log.20261122-090000"),
        MoveLog("0.log", f"0.log.{STAMP}"),
    ]


@pytest.mark.parametrize(
    ("newest", "new"),
    [
        (f"0.log.{STAMP}", "0.log.20261122-100001"),
        (f"0.log.{STAMP}.gz", "0.log.20261122-100001"),
        ("0.log.20270101-235959", "0.log.20270102-000000"),
        ("0.log.weird", "0.log.weird0"),
    ],
)
def test_a_new_name_is_later_than_all_others_whatever_the_clock_says(newest: str, new: str) -> None:
    assert steps("0.log", newest)[-1] == MoveLog("0.log", new)


def test_what_a_killed_process_left_is_removed_first() -> None:
    there = files(
        "0.log", "0.log.1.tmp", "0.log.2", "0.log.2.gz", "1.log.1.tmp", same={"0.log.3": "0.log"}
    )
    assert tidying_steps("0.log", there) == (
        RemoveLogFile("0.log.1.tmp"),
        RemoveLogFile("0.log.2"),
        RemoveLogFile("0.log.3"),
    )


# On disk.


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WrittenLog]:
    with closing(WrittenLog(tmp_path)) as written:
        yield written


@pytest.fixture
def directory(log: WrittenLog) -> Iterator[LogDirectory]:
    with opened(log.path.parent) as found:
        yield found


def rotate(log: WrittenLog, directory: LogDirectory) -> None:
    """Carry out a rotation whole, or what is left of it."""
    for step in rotation_steps("0.log", log_files(directory), 5, NOW):
        carry_out(directory, step)
    log.reopen()


def test_a_compressed_file_has_the_lines_the_mode_and_the_time_of_the_plain_one(
    log: WrittenLog, directory: LogDirectory
) -> None:
    log.write()
    rotated = log.rotate()
    rotated.chmod(0o640)
    os.utime(rotated, (1000, 1000))
    data = rotated.read_bytes()
    carry_out(directory, CompressLogFile(rotated.name))
    packed = rotated.with_name(rotated.name + ".gz")
    assert gzip.decompress(packed.read_bytes()) == data
    status = packed.stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o640, 1000)
    assert [path.name for path in log.rotated()] == [packed.name]


def test_ten_rotations_keep_five_files_and_the_newest_lines(
    log: WrittenLog, directory: LogDirectory
) -> None:
    for _ in range(10):
        for _ in range(3):
            log.write()
        rotate(log, directory)
    log.write()
    assert len(log.rotated()) == 4
    assert shown(log, with_rotated=True) == as_lines(log.texts()[-13:])


def test_nothing_is_compressed_through_a_link(
    log: WrittenLog, directory: LogDirectory, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password")
    log.path.with_name("0.log.1").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic"):
        carry_out(directory, CompressLogFile("0.log.1"))
    log.rotate()
    log.path.with_name("0.log.20270115-000001.tmp").symlink_to(secret)
    carry_out(directory, CompressLogFile("0.log.20270115-000001"))
    assert secret.read_text() == "password"


class Killed(BaseException):
    """The process is killed here."""


KILLABLE = ("remove_file", "create_file", "rename")


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("is_after", [False, True])
def test_killed_at_any_step_no_line_is_lost_and_the_next_round_tidies_up(
    log: WrittenLog,
    directory: LogDirectory,
    monkeypatch: pytest.MonkeyPatch,
    place: int,
    is_after: object,
) -> None:
    for _ in range(3):
        log.write()
        rotate(log, directory)
    log.write()
    whole, steps_left = log.texts(), place
    for name in KILLABLE:
        real = getattr(LogDirectory, name)

        def dies(self: LogDirectory, *args: object, real: object = real) -> object:
            nonlocal steps_left
            steps_left -= 1
            if steps_left == -1 and not is_after:
                raise Killed
            done = real(self, *args)  # type: ignore[operator]
            if steps_left == -1:
                raise Killed
            return done

        monkeypatch.setattr(LogDirectory, name, dies)
    was_killed = False
    try:
        rotate(log, directory)
    except Killed:
        was_killed = True
    assert was_killed or place > 4
    monkeypatch.undo()
    assert shown(log, with_rotated=True) == as_lines(whole)
    # The next round, in another process: a log that is missing is opened anew first.
    if not log.path.exists():
        log.reopen()
    log.write()
    rotate(log, directory)
    log.write()
    assert shown(log, with_rotated=True).endswith(as_lines(log.texts()[2:]))
    assert not [path for path in log.rotated() if path.suffix == ".tmp"]
    assert len({path.name.removesuffix(".gz") for path in log.rotated()}) == len(log.rotated())


# What is not needed any more.


@pytest.mark.parametrize(
    ("on_disk", "in_runtime", "gone"),
    [
        ({0, 1}, {1}, set()),
        ({0, 1, 2}, {1, 2}, {0}),
        ({0, 1, 2, 3}, {1, 3}, {0}),
        ({0, 1, 2}, set(), {0}),
        ({0, 1, 2}, {0, 1, 2}, set()),
    ],
)
def test_old_attempts_go_but_never_the_newest_two_or_those_of_the_runtime(
    on_disk: set[int], in_runtime: set[int], gone: set[int]
) -> None:
    assert old_attempts(on_disk, in_runtime) == gone


def test_orphans_are_looked_for_once_every_source_has_seen_what_it_lists() -> None:
    wanted = WantedPods(frozenset({FILE, API}))
    kept, changed = make_pod("kept", uid="u1"), make_pod("changed", uid="u2")
    there = [
        "a_kept_u1",
        "a_changed_u2",
        "a_runs_u3",
        "a_lives_u4",
        "a_gone_u5",
        "a_over_u6",
        "other",
    ]
    lives = {PodUid("u4"): PodLife.TERMINATED, PodUid("u6"): PodLife.FINISHED}

    def found() -> list[str]:
        return orphans(there, {PodUid("u3")}, wanted, lives)

    wanted.take(PodsAre(source=FILE, pods=(kept,)))
    assert found() == []
    wanted.take(PodsChanged(source=API, changes=(PodChange(op=Op.ADD, pod=changed),)))
    assert found() == []
    wanted.take(PodsAre(source=API, pods=(changed,), is_provisional=True))
    assert found() == []
    wanted.take(PodsAre(source=API, pods=(changed,)))
    assert found() == ["a_gone_u5", "a_over_u6"]
    wanted.take(PodsChanged(source=FILE, changes=(PodChange(op=Op.REMOVE, pod=kept),)))
    assert found() == ["a_kept_u1", "a_gone_u5", "a_over_u6"]
    wanted.take(PodsAre(source=API, pods=(), is_provisional=True))
    assert found() == []
