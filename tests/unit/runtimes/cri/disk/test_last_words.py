"""Reading why a container ended, from real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtimes.cri.disk.last_words import read_last_words
from runtimes.cri.disk.pod_files import LastWords

STAMP = "2030-01-01T00:00:00.000000001Z stdout"
LOG = ("shop_web_u1", "main", "0.log")


def of_file(path: Path) -> str:
    return read_last_words(LastWords(file=str(path)))


def of_log(root: Path, log: tuple[str, ...] = LOG) -> str:
    return read_last_words(LastWords(logs_dir=str(root), log=log))


def write_log(root: Path, *lines: str) -> Path:
    path = root.joinpath(*LOG)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{STAMP} {line}\n" for line in lines))
    return path


def test_the_message_is_what_the_file_ends_with(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("x" * 5000 + "the end")
    found = of_file(path)
    assert len(found) == 4096
    assert found.endswith("xthe end")


def test_what_is_no_text_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    tmp_path.joinpath("words").write_bytes(b"\xff ok")
    assert of_file(tmp_path / "words") == "\ufffd ok"


def test_anything_but_a_file_says_nothing_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    tmp_path.joinpath("secret").write_text("precious")
    tmp_path.joinpath("link").symlink_to("secret")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("fifo", "link", "missing", "."):
        assert of_file(tmp_path / name) == ""
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_log_counts_only_where_the_file_says_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, "F from the log")
    words = LastWords(file=str(tmp_path / "words"), logs_dir=str(tmp_path), log=LOG)
    assert read_last_words(words) == "from the log\n"
    tmp_path.joinpath("words").write_text("from the file")
    assert read_last_words(words) == "from the file"


def test_the_last_lines_of_the_log_count(tmp_path: Path) -> None:
    write_log(tmp_path, *(f"F {number}" for number in range(100)))
    assert of_log(tmp_path).split() == [str(number) for number in range(20, 100)]


def test_a_last_line_without_an_end_is_one_of_them(tmp_path: Path) -> None:
    write_log(tmp_path, *(f"F {number}" for number in range(100)), "P and", "P  more")
    lines = of_log(tmp_path).split("\n")
    assert (len(lines), lines[0], lines[-1]) == (80, "21", "and more")


def test_the_text_of_the_log_is_bounded_and_its_end_counts(tmp_path: Path) -> None:
    write_log(tmp_path, *(["F " + "x" * 5000] * 200), "F the end")
    found = of_log(tmp_path)
    assert len(found) == 2048
    assert found.endswith("x\nthe end\n")


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    log = write_log(tmp_path, "F good")
    log.write_text(log.read_text() + "garbage\n\n")
    assert of_log(tmp_path) == "good\n"


@pytest.mark.parametrize("place", ["", "shop_web_u1", "shop_web_u1/main"])
def test_no_link_is_followed_below_the_directory_of_logs(tmp_path: Path, place: str) -> None:
    outside, root = tmp_path / "outside", tmp_path / "logs"
    write_log(outside, "F precious")
    link = root / place / LOG[len(Path(place).parts)]
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / link.relative_to(root))
    assert of_log(root) == ""


def test_a_log_that_is_gone_says_nothing(tmp_path: Path) -> None:
    assert of_log(tmp_path) == ""
    assert of_log(tmp_path / "missing") == ""
