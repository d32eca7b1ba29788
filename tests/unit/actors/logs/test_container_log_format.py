"""Names of logs, and what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.logs.layout import (
    LoggedPod,
    attempt_of,
    is_link_name,
    link_name,
    log_directory,
    log_path,
    logged_pod,
    owner_of,
    pod_log_name,
    rotated_names,
)
from actors.logs.open_files import EndCounter, line_ends, tail_found
from actors.logs.records import (
    ALL_STREAMS,
    LONGEST_PART,
    LONGEST_RECORD,
    LogPart,
    LogRecord,
    LogStream,
    PartReader,
    RecordAssembler,
    log_lines,
    log_text,
    part_of,
)
from messages.pods import PodUid

POD = LoggedPod("shop", "web-0", PodUid("0a1b"))
STAMP = b"2026-11-22T10:00:00.000000001Z"
AT = 1795341600 * 10**9 + 1


def line(text: bytes = b"hello", *, stream: str = "stdout", tag: str = "F") -> bytes:
    return b"%s %s %s %s" % (STAMP, stream.encode(), tag.encode(), text)


# Names.


def test_a_log_is_where_a_kubelet_has_it() -> None:
    root = Path("/var/log/pods")
    assert log_directory(root, POD) / log_path("main", 3) == root / "shop_web-0_0a1b/main/3.log"
    assert logged_pod(pod_log_name(POD)) == POD


@pytest.mark.parametrize("name", ["", "a_b", "a_b_", "a_b_c_d", "lost+found", "_b_c"])
def test_other_directories_are_nobodys_logs(name: str) -> None:
    assert logged_pod(name) is None


def test_a_link_is_named_as_a_kubelet_names_it_and_cut_where_it_cuts() -> None:
    assert link_name(POD, "main", "containerd://c0ffee") == "web-0_shop_main-c0ffee.log"
    long = link_name(POD._replace(name="x" * 200), "main", "f" * 64)
    assert (len(long), long[-8:]) == (255, "ffff.log")
    assert is_link_name(long)
    assert is_link_name("web-0_shop_main-c0ffee.log")
    assert not any(map(is_link_name, ["web.log", "a_b_c.txt", "a_b.log", ".log"]))


@pytest.mark.parametrize(
    ("name", "attempt", "owner"),
    [
        ("0.log", 0, 0),
        ("12.log", 12, 12),
        ("3.log.20260102-030405", None, 3),
        ("3.log.20260102-030405.gz", None, 3),
        ("01.log", None, None),
        ("-1.log", None, None),
        ("other", None, None),
        ("x.log.1", None, None),
    ],
)
def test_the_name_of_a_file_says_whose_it_is(
    name: str, attempt: int | None, owner: int | None
) -> None:
    assert (attempt_of(name), owner_of(name)) == (attempt, owner)


def test_what_a_log_was_rotated_to_is_named_once_and_the_oldest_first() -> None:
    there = ["0.log", "0.log.3", "0.log.1.gz", "0.log.2.gz", "0.log.2", "0.log.4.tmp", "1.log.0"]
    assert rotated_names("0.log", there) == ["0.log.1.gz", "0.log.2", "0.log.3"]


# Lines.


def test_a_line_says_when_where_and_what() -> None:
    assert part_of(line(b"a b  c\r")) == LogPart(
        at=AT, stamp=STAMP, stream=LogStream.STDOUT, is_last=True, text=b"a b  c\r"
    )
    part = part_of(line(b"", stream="stderr", tag="P"))
    assert part is not None
    assert (part.stream, part.is_last, part.text) == (LogStream.STDERR, False, b"")


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        (b"2026-11-22T10:00:00Z", AT - 1),
        (b"2026-11-22T12:00:00.5+02:00", AT - 1 + 5 * 10**8),
        (b"2026-11-22T10:00:00.123456789Z", AT - 1 + 123456789),
    ],
)
def test_times_are_read_in_every_form_that_runtimes_write(stamp: bytes, at: int) -> None:
    part = part_of(stamp + b" stdout F x")
    assert part is not None
    assert part.at == at


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"garbage",
        b"2026-11-22T10:00:00Z",
        b"2026-13-22T10:00:00Z stdout F x",
        b"2026-11-22T10:00:00Z stdlog F x",
        b"2026-11-22T10:00:00Z stdout Q x",
        b"2026-11-22T10:00:00Z  stdout F x",
        b"2026-11-22T10:00:00+99:99 stdout F x",
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_line_of_a_log_is_none(hostile: bytes) -> None:
    assert part_of(hostile) is None


def test_lines_with_more_tags_without_text_or_behind_zero_bytes_are_read() -> None:
    for each in (line(tag="F:x:y"), line(b"")[:-1], bytes(512) + line()):
        assert part_of(each) is not None


def read(data: bytes, size: int = 7) -> tuple[list[LogPart], int]:
    reader = PartReader()
    parts = [part for at in range(0, len(data), size) for part in reader.feed(data[at : at + size])]
    parts += reader.finish()
    return parts, reader.unreadable


def test_garbage_between_lines_is_counted_and_passed_over() -> None:
    parts, unreadable = read(b"junk\n" + line(b"one") + b"\n\x00\n\n" + line(b"two") + b"\n")
    assert [part.text for part in parts] == [b"one", b"two"]
    assert unreadable == 2


def test_a_line_of_the_file_that_is_too_long_is_read_in_pieces_and_nothing_of_it_is_lost() -> None:
    text = b"x" * (3 * LONGEST_PART)
    parts, _ = read(line(text) + b"\n" + line(b"next") + b"\n", size=4096)
    assert b"".join(part.text for part in parts[:-1]) == text
    assert [part.is_last for part in parts][-2:] == [True, True]
    assert not any(part.is_last for part in parts[:-2])
    assert max(len(part.text) for part in parts) <= LONGEST_PART + 4096


def test_garbage_without_an_end_takes_no_memory() -> None:
    reader = PartReader()
    for _ in range(64):
        assert list(reader.feed(bytes(1) * LONGEST_PART)) == []
    assert len(reader._rest) <= LONGEST_PART
    assert [part.text for part in reader.feed(b"\n" + line(b"on") + b"\n")] == [b"on"]
    assert reader.unreadable == 1


# Records.


def records(*lines: bytes) -> list[LogRecord]:
    assembler = RecordAssembler()
    found = []
    for each in lines:
        part = part_of(each)
        assert part is not None
        record = assembler.take(part)
        found += [record] if record is not None else []
    return [*found, *assembler.finish()]


def test_the_parts_of_a_line_are_one_record_also_when_another_stream_writes_between_them() -> None:
    found = records(
        line(b"lo", tag="P"), line(b"error", stream="stderr"), line(b"ng", tag="P"), line(b"!")
    )
    assert [(each.stream, each.text) for each in found] == [
        (LogStream.STDERR, b"error"),
        (LogStream.STDOUT, b"long!"),
    ]


def test_a_part_that_nobody_ended_is_a_line_without_an_end() -> None:
    found = records(line(b"one"), line(b"prompt> ", tag="P"))
    assert log_text(found) == b"one\nprompt> "


def test_a_line_of_many_parts_is_told_in_pieces_and_shown_as_one_line() -> None:
    count = 2 * LONGEST_RECORD // 16384 + 3
    found = records(*[line(b"x" * 16384, tag="P")] * count, line(b"end"))
    assert len(found) == 3
    shown = log_text(found, with_times=True)
    assert shown == STAMP + b" " + b"x" * 16384 * count + b"end\n"


def test_text_that_is_not_utf_8_is_shown_as_far_as_it_is() -> None:
    (found,) = log_lines(records(line(b"a\xffb\x00")))
    assert found.text == "a\ufffdb\x00"


# Tails.


@st.composite
def written(draw: st.DrawFn) -> list[bytes]:
    """Return lines of a file: of both streams, with parts, garbage, and lines of all lengths."""
    texts = st.sampled_from([b"", b"x", b"y" * 90, b"z" * 40_000, b"w" * 70_000])
    tags, streams = st.sampled_from("PF"), st.sampled_from(["stdout", "stderr"])
    lines = st.builds(lambda t, g, s: line(t, tag=g, stream=s), texts, tags, streams)
    return draw(st.lists(lines | st.sampled_from([b"", b"junk", b"j" * 66_000]), max_size=12))


def ends_of(data: bytes) -> list[int]:
    """Return the offset of each line of the file that ends one of the container, by reading it all."""
    ends, unfinished, at = list[int](), dict[LogStream, int](), 0
    for each in data.split(b"\n"):
        if (part := part_of(each)) is not None:
            unfinished.pop(part.stream, None)
            if part.is_last:
                ends.append(at)
            else:
                unfinished[part.stream] = at
        at += len(each) + 1
    return sorted([*ends, *unfinished.values()])


@given(written(), st.integers(0, 14), st.sampled_from([b"", b"\n"]))
def test_the_tail_of_a_file_begins_where_reading_it_all_would_find_it(
    lines: list[bytes], wanted: int, end: bytes
) -> None:
    data = b"\n".join(lines) + end
    ends = ends_of(data)
    expected = ends[-wanted] if 0 < wanted <= len(ends) else 0 if wanted else len(data)
    counter = EndCounter(ALL_STREAMS, is_newest=True)
    found = tail_found(lambda at, size: data[at : at + size], len(data), wanted, counter)
    assert (found.at, found.lines) == (expected, min(wanted, len(ends)))


def test_only_lines_of_the_streams_that_are_asked_for_count() -> None:
    data = b"\n".join([line(b"a", stream="stderr"), *[line(b"b")] * 50, b""])
    counter = EndCounter({LogStream.STDERR}, is_newest=True)
    found = tail_found(lambda at, size: data[at : at + size], len(data), 1, counter)
    assert found == (0, 1)


@given(written(), st.integers(1, 70_000))
def test_ends_are_found_forward_however_the_file_is_cut(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    size = max(size, len(data) // 50 + 1)
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    parts = {at for at in ends_of(data) if (part := part_of(data[at:])) and part.is_last}
    assert set(line_ends(chunks, ALL_STREAMS)) == parts
