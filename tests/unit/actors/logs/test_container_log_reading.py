"""Reading logs from real files: what is asked for, what is refused, and what a follower sees."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from actors.logs import answers
from actors.logs.answers import (
    attempts,
    container_log,
    containers,
    log_reading,
    logged_pods,
)
from actors.logs.directories import LogDirectory, opened
from actors.logs.layout import LoggedPod
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import LogStream, log_text
from messages.container_runtime import (
    ContainerLog,
    ReadContainerLog,
    RuntimeFailure,
    RuntimeFailureKind,
)
from tests.support.runtimes.log_files import POD, WrittenLog, as_lines, moment, shown


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WrittenLog]:
    with closing(WrittenLog(tmp_path)) as written:
        yield written


def write(log: WrittenLog, count: int) -> list[bytes]:
    return [log.write() for _ in range(count)]


def test_a_log_is_read_whole_by_tail_and_since(log: WrittenLog) -> None:
    lines = write(log, 20)
    assert shown(log) == as_lines(lines)
    assert shown(log, tail=3) == as_lines(lines[-3:])
    assert shown(log, tail=-1) == as_lines(lines)
    assert shown(log, tail=0) == b""
    assert shown(log, since=moment(15)) == as_lines(lines[15:])
    assert shown(log, since=moment(15), tail=3) == as_lines(lines[-3:])
    assert shown(log, since=moment(18), tail=3) == as_lines(lines[-2:])


def test_times_are_shown_as_asked_for(log: WrittenLog) -> None:
    log.write(b"one")
    log.write(b"two")
    assert shown(log, with_times=True).startswith(b"2027-01-15T08:00:00.000000001Z one\n2")


def test_streams_are_told_apart(log: WrittenLog) -> None:
    log.write(b"out")
    log.write(b"err", stream=LogStream.STDERR)
    log.write(b"out again")
    assert shown(log, streams=frozenset({LogStream.STDERR}), tail=1) == b"err\n"


def test_the_tail_of_a_long_line_shows_it_whole(log: WrittenLog) -> None:
    text = b"y" * 200_000
    log.write(text, parts=13)
    log.write(b"err", stream=LogStream.STDERR)
    assert shown(log, tail=2) == text + b"\nerr\n"


def test_what_it_was_rotated_to_is_read_if_asked_for_compressed_or_not(log: WrittenLog) -> None:
    lines = write(log, 10)
    log.compress(log.rotate())
    lines += write(log, 10)
    log.rotate()
    lines += write(log, 10)
    assert shown(log) == as_lines(lines[20:])
    assert shown(log, with_rotated=True) == as_lines(lines)
    for tail in (0, 5, 10, 11, 20, 23, 30, 99):
        assert shown(log, with_rotated=True, tail=tail) == as_lines(lines[max(0, 30 - tail) :])
    assert shown(log, with_rotated=True, since=moment(7)) == as_lines(lines[7:])


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_log_of_which_only_the_rotated_files_are_left_is_read_from_these(
    log: WrittenLog, *, is_packed: bool
) -> None:
    lines = write(log, 10)
    log.compress(log.rotate())
    lines += write(log, 10)
    last = log.rename()
    if is_packed:
        log.compress(last)
    assert attempts(log.root, POD, "main") == [0]
    assert shown(log) == as_lines(lines[10:])
    assert shown(log, tail=3) == as_lines(lines[-3:])
    assert shown(log, with_rotated=True) == as_lines(lines)
    assert shown(log, with_rotated=True, tail=13) == as_lines(lines[7:])


def test_a_follower_of_a_packed_log_sees_each_line_once_when_it_is_written_again(
    log: WrittenLog,
) -> None:
    lines = write(log, 10)
    log.compress(log.rename())
    with log_reading(log.root, POD, "main", 0, LogQuery(is_following=True)) as reading:
        seen = [*reading.read(), *reading.read()]
        log.reopen()
        lines += write(log, 5)
        seen += [*reading.read(), *reading.read()]
        assert log_text(seen) == as_lines(lines)


def test_a_broken_compressed_file_costs_its_lines_and_no_others(log: WrittenLog) -> None:
    write(log, 5)
    rotated = log.rotate()
    packed = gzip.compress(rotated.read_bytes())
    rotated.unlink()
    rotated.with_name(rotated.name + ".gz").write_bytes(packed[: len(packed) // 2])
    log.write(b"after")
    assert shown(log, with_rotated=True).endswith(b"after\n")
    assert shown(log, with_rotated=True, tail=1) == b"after\n"


def test_garbage_is_passed_over_and_counted(log: WrittenLog) -> None:
    log.write(b"one")
    log.write_raw(b"junk\n" + bytes(300_000) + b"\n")
    log.write(b"two")
    with log_reading(log.root, POD, "main", 0, LogQuery()) as reading:
        assert log_text(reading.everything()) == b"one\ntwo\n"
        assert reading.unreadable == 2


def test_the_tail_of_a_huge_file_reads_only_its_end(log: WrittenLog) -> None:
    with log.path.open("r+b") as file:
        file.truncate(10 * 2**30)  # with a hole
    log.write_raw(b"\n")
    lines = write(log, 5)
    assert shown(log, tail=3) == as_lines(lines[-3:])


def test_without_following_reading_ends_where_the_log_ended_when_it_began(log: WrittenLog) -> None:
    log.write(b"one")
    with log_reading(log.root, POD, "main", 0, LogQuery()) as reading:
        log.write(b"two")
        assert log_text(reading.everything()) == b"one\n"


# Following.


def test_a_follower_waits_for_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "shop_web_0a1b" / "main").mkdir(parents=True)
    with log_reading(tmp_path, POD, "main", 0, LogQuery(is_following=True)) as reading:
        assert reading.read() == []
        with closing(WrittenLog(tmp_path)) as log:
            log.write(b"first")
            assert [each.text for each in reading.read()] == [b"first"]


def test_a_follower_of_the_last_lines_sees_what_comes_over_rotations(log: WrittenLog) -> None:
    lines = write(log, 5)
    query = LogQuery(tail=2, is_following=True)
    with log_reading(log.root, POD, "main", 0, query) as reading:
        assert [each.text for each in reading.read()] == lines[-2:]
        log.write(b"before")
        for name in (b"a", b"b", b"c"):
            log.rotate()
            log.write(name)
        for path in log.rotated()[:-1]:
            log.compress(path)
        seen = []
        while records := reading.read():
            seen += [each.text for each in records]
        assert seen == [b"before", b"a", b"b", b"c"]
        log.write_raw(b"2027-01-15T09:00:00Z stdout P prompt> \n")
        assert reading.read() == []
        assert [each.text for each in reading.finish()] == [b"prompt> "]


def test_a_log_that_somebody_cut_is_read_from_its_beginning_again(log: WrittenLog) -> None:
    with log_reading(log.root, POD, "main", 0, LogQuery(is_following=True)) as reading:
        write(log, 5)
        assert len(reading.read()) == 5
        os.truncate(log.path, 0)
        log.write(b"x")
        assert [each.text for each in reading.read()] == [b"x"]


def test_closing_a_reading_leaves_no_descriptor(log: WrittenLog) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        write(log, 2)
        log.compress(log.rotate())
    with log_reading(
        log.root, POD, "main", 0, LogQuery(is_following=True, with_rotated=True)
    ) as reading:
        while reading.read():
            log.rotate()
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208


# What is refused.


def secret(tmp_path: Path) -> Path:
    outside = tmp_path / "outside" / "main"
    outside.mkdir(parents=True)
    (outside / "0.log").write_bytes(b"2027-01-15T08:00:00Z stdout F the password\n")
    return outside


@pytest.mark.parametrize("linked", ["pod", "container", "file", "fifo"])
def test_nothing_is_read_through_a_link_out_of_the_tree(tmp_path: Path, linked: str) -> None:
    outside, root = secret(tmp_path), tmp_path / "pods"
    pod = root / "shop_web_0a1b"
    if linked == "pod":
        root.mkdir()
        pod.symlink_to(outside.parent)
    elif linked == "container":
        pod.mkdir(parents=True)
        (pod / "main").symlink_to(outside)
    else:
        (pod / "main").mkdir(parents=True)
        path = pod / "main" / "0.log"
        path.symlink_to(outside / "0.log") if linked == "file" else os.mkfifo(path)
    answer = container_log(root, POD, "main", 0, ReadContainerLog(id="x"))
    assert isinstance(answer, RuntimeFailure)
    assert answer.kind is RuntimeFailureKind.REFUSED


def test_a_rotated_file_that_is_a_link_is_not_read(log: WrittenLog, tmp_path: Path) -> None:
    log.write(b"one")
    log.path.with_name("0.log.20000101-000000").symlink_to(secret(tmp_path) / "0.log")
    with pytest.raises(OSError, match="symbolic"):
        shown(log, with_rotated=True)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../etc", "a\0b"])
def test_names_that_are_paths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match="not the name"):
        LogDirectory.open(tmp_path, name)


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with opened(tmp_path / "link") as directory:
        assert directory.names() == ["link"]


# Whole answers.


def test_a_runtime_answers_with_lines_and_their_times(log: WrittenLog) -> None:
    write(log, 5)
    answer = container_log(log.root, POD, "main", 0, ReadContainerLog(id="x", tail=2))
    assert isinstance(answer, ContainerLog)
    assert [(int(line.at), line.text) for line in answer.lines] == [
        (int(moment(3)), "line 3"),
        (int(moment(4)), "line 4"),
    ]


def test_an_answer_holds_no_more_than_its_limit(
    log: WrittenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ANSWER_LIMIT", 12)
    lines = write(log, 5)
    answer = container_log(log.root, POD, "main", 0, ReadContainerLog(id="x"))
    assert isinstance(answer, ContainerLog)
    assert [line.text.encode() for line in answer.lines] == lines[-2:]


def test_a_log_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    answer = container_log(tmp_path, POD, "main", 0, ReadContainerLog(id="x"))
    assert isinstance(answer, RuntimeFailure)
    assert answer.kind is RuntimeFailureKind.NOT_FOUND


def test_pods_containers_and_attempts_are_found_by_name(tmp_path: Path) -> None:
    for attempt in (0, 1, 10):
        WrittenLog(tmp_path, attempt=attempt).close()
    WrittenLog(tmp_path, container="init").close()
    WrittenLog(tmp_path, LoggedPod("shop", "other", POD.uid)).close()
    (tmp_path / "lost+found").mkdir()
    assert logged_pods(tmp_path, "shop", "web") == [POD]
    assert containers(tmp_path, POD) == ["init", "main"]
    assert attempts(tmp_path, POD, "main") == [0, 1, 10]
    assert attempts(tmp_path, POD, "none") == []
    assert logged_pods(tmp_path / "none", "a", "b") == []


def test_a_follower_and_a_reader_share_nothing(log: WrittenLog) -> None:
    write(log, 3)
    with (
        opened(log.root, "shop_web_0a1b", "main") as directory,
        closing(LogReading(directory, "0.log", LogQuery(is_following=True))) as one,
        closing(LogReading(directory, "0.log", LogQuery(tail=1))) as two,
    ):
        assert (len(two.read()), len(one.read())) == (1, 3)
