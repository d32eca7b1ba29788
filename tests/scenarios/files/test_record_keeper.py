"""RecordKeeper: what it is told is there for the next process, whatever happens to actor, disk and power."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from files import records
from files.record_keeper import (
    KeepRecords,
    ReadRecords,
    RecordKeeper,
    RecordMemory,
    RecordsAre,
    RecordsKept,
    record_key,
)
from files.records import RecordDirectory, RecordForm, decoded, encoded
from kernel import Port, Runtime
from tests.support.files.power import DiskTrouble, Power
from tests.support.kernel.stage import Stage, stage_of


def _record(name: str, data: bytes) -> tuple[str, str] | None:
    found = decoded(b"form 1", data)
    return (found[0], found[1]) if found and name == f"{found[0]}.json" else None


FORM: RecordForm[str, str] = RecordForm(
    what="records of tests",
    pattern="*.json",
    limit=100,
    name_of=lambda key: f"{key}.json",
    encode=lambda key, value: encoded(b"form 1", [key, value]),
    decode=_record,
)
KEEPER = record_key("records")
STORY = (
    "records of tests are not kept for a restart",
    "records of tests are kept again",
)


@contextmanager
def process(
    directory: Path, runtime: Runtime | None = None, memory: RecordMemory[str, str] | None = None
) -> Iterator[Stage]:
    memory = memory or RecordMemory(RecordDirectory(directory, FORM))
    with stage_of((KEEPER, lambda _play: RecordKeeper(memory)), runtime=runtime) as play:
        yield play


def keep(play: Stage, **told: str | None) -> None:
    play.tell(KEEPER, KeepRecords(records=told))


def keep_and_tell(play: Stage, reply_to: Port[RecordsKept], **told: str | None) -> None:
    play.tell(KEEPER, KeepRecords(records=told, reply_to=reply_to))


def kept(play: Stage) -> Mapping[str, str]:
    def question(reply_to: Port[RecordsAre[str, str]]) -> ReadRecords[str, str]:
        return ReadRecords(reply_to=reply_to)

    return dict(play.ask(KEEPER, question).records)


def said(lines: Any) -> tuple[str, ...]:
    return tuple(line["event"] for line in lines if "records of tests" in line["event"])


def test_what_was_kept_is_there_for_the_next_process(tmp_path: Path, runtime: Runtime) -> None:
    directory = tmp_path / "records"
    with process(directory, runtime) as play:
        keep(play, web="old", gone="x")
        keep(play, web="new")
        keep(play, gone=None)
    with process(directory) as play:
        assert kept(play) == {"web": "new"}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "web.json").stat().st_mode & 0o777 == 0o600


def test_without_a_directory_nothing_was_kept(tmp_path: Path) -> None:
    with capture_logs() as lines, process(tmp_path / "records") as play:
        assert kept(play) == {}
    assert said(lines) == ()


def test_a_directory_that_cannot_be_listed_is_done_without_and_said(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("in the way")
    with capture_logs() as lines, process(tmp_path / "records") as play:
        assert kept(play) == {}
        (tmp_path / "records").unlink()
        keep(play, web="new")
        assert kept(play) == {"web": "new"}
    assert said(lines) == STORY


def test_what_cannot_be_read_is_set_aside_and_said_once(tmp_path: Path) -> None:
    record = FORM.encode("web", "new")
    (tmp_path / "web.json").write_bytes(record)
    (tmp_path / "torn.json").write_bytes(record[:-3])
    (tmp_path / "future.json").write_bytes(record.replace(b"form 1", b"form 2"))
    (tmp_path / "renamed.json").write_bytes(record)
    (tmp_path / "long.json").write_bytes(FORM.encode("long", "x" * 100))
    (tmp_path / "directory.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("web.json")
    (tmp_path / "half.new").write_bytes(b"x")
    (tmp_path / "early.unusable").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(b"x")
    with capture_logs() as lines, process(tmp_path) as play:
        assert kept(play) == {"web": "new"}
    unusable = ("torn", "future", "renamed", "long", "directory", "pipe", "link")
    assert [line["records"] for line in lines if line["log_level"] == "warning"] == [len(unusable)]
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"web.json", "notes.txt"} | {f"{name}.unusable" for name in unusable}


def test_what_was_set_aside_is_replaced_by_what_is_set_aside_later(tmp_path: Path) -> None:
    for data in (b"torn", b"torn again"):
        (tmp_path / "web.json").write_bytes(data)
        with process(tmp_path) as play:
            kept(play)
        assert (tmp_path / "web.unusable").read_bytes() == data


def test_a_full_disk_is_said_once_and_everything_is_written_when_it_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = DiskTrouble(times=float("inf"))
    Power(monkeypatch, trouble)
    with capture_logs() as lines, process(tmp_path) as play:
        keep(play, web="old")
        keep(play, other="x")
        play.advance(31.0)
        keep(play, web="new")
        trouble.times = 0
        play.advance(31.0)
        assert kept(play) == {"web": "new", "other": "x"}
    assert said(lines) == STORY


def test_a_record_whose_name_may_not_outlive_a_loss_of_power_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Power(monkeypatch, DiskTrouble(well=1, times=1))  # that of the directory
    with capture_logs() as lines, process(tmp_path) as play:
        keep(play, web="new")
        written = (tmp_path / "web.json").stat()
        assert said(lines) == STORY[:1]
        play.advance(31.0)
        assert (tmp_path / "web.json").stat() != written
    assert said(lines) == STORY


def test_a_record_that_cannot_be_written_keeps_no_other_waiting(tmp_path: Path) -> None:
    refused = {f"bad-{number}": "x" for number in range(5)}
    for name in refused:
        (tmp_path / f"{name}.json").mkdir()
    with capture_logs() as lines, process(tmp_path) as play:
        keep(play, **refused, first="x")
        assert (tmp_path / "first.json").exists()
        for name in ("second", "third"):
            keep(play, **{name: "x"})
            assert (tmp_path / f"{name}.json").exists()
        play.advance(31.0)
        for name in refused:
            (tmp_path / f"{name}.json").rmdir()
        play.advance(31.0)
        assert kept(play) == {**refused, "first": "x", "second": "x", "third": "x"}
    assert said(lines) == STORY


class Waits(Port[RecordsKept]):
    """Notes what was on the disk whenever it is told."""

    def __init__(self, directory: Path) -> None:
        self.seen: list[list[str]] = []
        self._directory = directory

    @override
    def tell(self, message: RecordsKept, /) -> None:
        self.seen.append(sorted(each.name for each in self._directory.iterdir()))


def test_who_waits_is_told_once_it_is_on_disk_and_not_later_than_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = Waits(tmp_path)
    with process(tmp_path) as play:
        keep_and_tell(play, waits, web="new")
        assert waits.seen == [["web.json"]]
        Power(monkeypatch, DiskTrouble(times=float("inf"), code=errno.EIO))
        keep_and_tell(play, waits, web="newer")
        keep_and_tell(play, waits, web="newest")
        assert waits.seen == [["web.json"]] * 3


def test_each_that_waits_is_told_and_what_nobody_waits_for_is_coalesced(tmp_path: Path) -> None:
    waits = Waits(tmp_path)
    name_of = KEEPER.coalesce
    assert name_of is not None
    told = [KeepRecords(records={"web": text}) for text in ("old", "new")]
    assert len({name_of(each) for each in told}) == 1
    assert name_of(KeepRecords(records={"web": "new", "other": "x"})) != name_of(told[0])
    assert name_of(KeepRecords(records={"web": "new"}, reply_to=waits)) is None


def test_a_record_that_is_on_disk_is_not_written_again_with_others(tmp_path: Path) -> None:
    with process(tmp_path) as play:
        keep(play, web="new")
        written = (tmp_path / "web.json").stat()
        keep(play, other="x")
        assert (tmp_path / "other.json").exists()
        assert (tmp_path / "web.json").stat() == written  # one that is replaced is another file


def test_a_crash_while_writing_loses_nothing(tmp_path: Path) -> None:
    memory = RecordMemory(
        RecordDirectory(tmp_path, FORM), unwritten={"web": "new"}, refused={"web": "old", "b": "x"}
    )
    with process(tmp_path, memory=memory) as play:
        assert kept(play) == {"web": "new", "b": "x"}


def test_what_was_kept_survives_when_the_power_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power, directory = Power(monkeypatch), tmp_path / "state" / "records"
    for told in ({"web": "old"}, {"web": "new", "db": "first"}, {"db": None}):
        with process(directory) as play:
            keep(play, **told)
        power.goes(tmp_path)
    with process(directory) as play:
        assert kept(play) == {"web": "new"}


CALLS = 24
"""More than the calls of the disk that the story below makes."""


def disk_calls(monkeypatch: pytest.MonkeyPatch, trouble: DiskTrouble) -> None:
    """Have calls of the disk fail as ``trouble`` says. What only reads does not."""
    for name in ("fsync", "replace", "unlink", "chmod"):
        monkeypatch.setattr(os, name, _striking(getattr(os, name), trouble))
    opened = os.open

    def opens(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            trouble.strike()
        return opened(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", opens)


def _striking(call: Callable[..., Any], trouble: DiskTrouble) -> Callable[..., Any]:
    @wraps(call)
    def struck(*arguments: Any, **named: Any) -> Any:
        trouble.strike()
        return call(*arguments, **named)

    return struck


BEFORE = {"changed": "old", "removed": "old", "stays": "old"}
AFTER = {"changed": "new", "added": "new", "stays": "old"}


def changes(play: Stage) -> None:
    keep(play, changed="new", removed=None, added="new")


@pytest.mark.parametrize("well", range(CALLS))
def test_a_disk_that_fails_once_at_any_call_tears_nothing_and_has_everything_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, well: int
) -> None:
    trouble = DiskTrouble()
    with capture_logs() as lines, process(tmp_path) as play:
        keep(play, **BEFORE)
        disk_calls(monkeypatch, trouble)
        trouble.well, trouble.times = well, 1
        changes(play)
        play.advance(31.0)
        has_failed = not trouble.times
        trouble.times = 0
        assert kept(play) == AFTER
    assert has_failed or well > 10
    assert said(lines) in {(), STORY}
    assert {file.suffix for file in tmp_path.iterdir()} == {".json"}


@pytest.mark.parametrize("well", range(CALLS))
def test_a_process_that_ends_at_any_call_of_the_disk_leaves_whole_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, well: int
) -> None:
    with process(tmp_path) as play:
        keep(play, **BEFORE)
        with monkeypatch.context() as patched, capture_logs():
            disk_calls(patched, DiskTrouble(well=well, times=float("inf")))
            changes(play)
            left = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for file in tmp_path.iterdir():
        file.unlink()  # what the keeper wrote when it was stopped
    for name, data in left.items():
        (tmp_path / name).write_bytes(data)
    with capture_logs() as lines, process(tmp_path) as play:
        found = kept(play)
    assert said(lines) == ()
    for name in BEFORE | AFTER:
        assert found.get(name) in {BEFORE.get(name), AFTER.get(name)}
    assert {file.suffix for file in tmp_path.iterdir()} == {".json"}


def test_a_record_is_as_it_was_if_what_is_written_for_it_is_not_written_to_its_end(
    tmp_path: Path,
) -> None:
    file = tmp_path / "web.json"
    records.write_file(file, b"old")
    with suppress(ValueError), records.replaced(file) as opened:
        opened.write(b"half a rec")
        raise ValueError
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("foreign", [b"", b"\n", b"{}", b"kind: Pod\n", bytes(1000), b"form 1 "])
def test_what_is_no_record_is_not_taken(foreign: bytes) -> None:
    assert decoded(b"form 1", foreign) is None


def test_a_record_that_is_torn_or_has_any_byte_changed_is_not_taken() -> None:
    whole = encoded(b"form 1", {"a": "b"})
    assert decoded(b"form 1", whole) == {"a": "b"}
    assert {decoded(b"form 1", whole[:length]) for length in range(len(whole))} == {None}
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        assert decoded(b"form 1", changed) is None
    assert decoded(b"form 2", whole) is None
