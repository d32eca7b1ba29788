"""The night: each step has its share of the time, and a failure of any is told in the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.project.checkout import ROOT
from tools.night import (
    FINDINGS,
    KEPT,
    MACHINE,
    SHARES,
    Ended,
    cut_off,
    done,
    found_in,
    load,
    new_folder,
    ran,
    summary,
)


@pytest.mark.parametrize(
    ("code", "says", "failed"),
    [(0, "well", False), (3, "FAILED (3)", True)],
)
def test_a_step_ends_well_or_has_failed(
    tmp_path: Path, code: int, says: str, *, failed: bool
) -> None:
    ended = ran("step", [sys.executable, "-c", f"raise SystemExit({code})"], 600.0, tmp_path)
    assert (ended.code, ended.failed) == (code, failed)
    assert ended.line().endswith(says)


def test_a_step_whose_time_is_over_is_interrupted_with_all_that_it_started_and_is_no_failure(
    tmp_path: Path,
) -> None:
    left = tmp_path / "left"
    story = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"pathlib.Path({str(left)!r}).write_text(str(child.pid))\n"
        "try: child.wait()\n"
        "except KeyboardInterrupt: child.wait()\n"
    )
    ended = ran("step", [sys.executable, "-c", story], 2.0, tmp_path)
    assert (ended.code, ended.failed) == (None, False)
    assert ended.line().endswith("its time was over")
    assert not left.exists() or not Path("/proc", left.read_text()).exists()


def test_the_load_beside_ends_with_its_block() -> None:
    with load(1):
        pass


def test_the_steps_share_all_of_the_time_and_the_folders_are_there() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert all((ROOT / each).is_dir() for each in MACHINE)
    assert Ended(name="a", code=0, took=90.0).line() == "a               1.5 min  well"


def test_what_a_step_found_before_its_time_was_over_counts_and_what_came_of_the_interrupt_does_not(
    tmp_path: Path,
) -> None:
    story = (
        "import signal\n"
        "print('[gw1] [  5%] FAILED tests/wire/test_a.py::test_b', flush=True)\n"
        "try: signal.pause()\n"
        "except KeyboardInterrupt: print('FAILED tests/wire/test_a.py::test_c', flush=True)\n"
    )
    ended = ran("machine 1", [sys.executable, "-c", story], 5.0, tmp_path)
    assert (ended.code, ended.failed) == (None, True)
    assert ended.found == ("FAILED tests/wire/test_a.py::test_b",)
    assert ended.line().endswith("FAILED, and its time was over")
    assert "test_c" in (tmp_path / "machine-1.txt").read_text()


def test_a_test_that_failed_is_told_once_by_its_name_with_its_parameters() -> None:
    said = (
        "[gw0] [  5%] FAILED tests/wire/test_a.py::test_b[a crash] \n"
        "[gw0] [  6%] PASSED tests/wire/test_a.py::test_c\n"
        "FAILED tests/wire/test_a.py::test_b[a crash] - assert 1 == 2\n"
        "ERROR tests/wire/test_a.py::test_d - OSError\n"
    )
    assert found_in(said) == (
        "FAILED tests/wire/test_a.py::test_b[a crash]",
        "ERROR tests/wire/test_a.py::test_d",
    )


def test_of_histories_the_shortest_is_told_and_of_mutants_those_that_nobody_noticed() -> None:
    told = (
        "seeds from 7, for 30 s\n"
        "seed 9\n    an actor crashes; then 0 s (3)\n5.00 s: it lives twice\n"
        "3 histories, 1 of them broken\n"
    )
    assert found_in(told, FINDINGS["histories"]) == tuple(told.splitlines()[1:4])
    tried = "K1       noticed: a (b.py)\nK7       SURVIVED: c (d.py)\n1 noticed, 1 not\n"
    assert found_in(tried, FINDINGS["mutants"]) == ("K7       SURVIVED: c (d.py)",)


def test_the_end_says_in_which_rounds_a_test_failed_and_where_the_files_are(tmp_path: Path) -> None:
    often, once = "FAILED tests/wire/test_a.py::test_b", "FAILED tests/wire/test_a.py::test_a"
    steps = [
        Ended(name="histories", code=1, took=60.0, found=("seed 9", "5.00 s: it lives twice")),
        Ended(name="mutants", code=2, took=60.0),
        Ended(name="examples", code=0, took=60.0),
        Ended(name="machine 1", code=1, took=60.0, found=(once, often)),
        Ended(name="machine 2", code=0, took=60.0),
        Ended(name="machine 3", code=None, took=60.0, found=(often,)),
    ]
    assert list(summary(steps, tmp_path))[7:] == [
        *("--- histories", "seed 9", "5.00 s: it lives twice"),
        *("--- mutants", "no line of its file says what failed"),
        *("--- machine, 3 rounds", f"{often}: in 2 (1, 3)", f"{once}: in 1 (1)"),
        f"--- what each has said: {tmp_path}/",
    ]
    well = [replace(each, code=0, found=()) for each in steps]
    assert list(summary(well, tmp_path))[-1] == f"--- nothing failed: {tmp_path}/"


def test_who_ends_a_night_is_told_what_was_found_until_then() -> None:
    first = Ended(name="histories", code=0, took=1.0)

    def steps() -> Iterator[Ended]:
        yield first
        raise KeyboardInterrupt

    assert done(steps()) == [first]


def test_the_files_of_the_last_nights_are_kept(tmp_path: Path) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    made = [new_folder(tmp_path, begin + timedelta(days=number)) for number in range(KEPT + 2)]
    assert sorted(tmp_path.iterdir()) == made[2:]


@pytest.mark.parametrize(
    ("codes", "cut"),
    [
        ({}, ["histories", "mutants", "examples", "machine"]),
        ({"histories": 0, "mutants": 1, "examples": 0, "machine 1": 0, "machine 2": None}, []),
        ({"histories": 0, "mutants": None, "examples": 0, "machine 1": 0}, ["mutants"]),
        ({"histories": 0, "mutants": 0, "examples": 0, "machine 1": None}, ["machine"]),
    ],
)
def test_a_night_that_did_not_look_everywhere_has_not_ended_well(
    tmp_path: Path, codes: dict[str, int | None], cut: list[str]
) -> None:
    ended = [Ended(name=name, code=code, took=1.0) for name, code in codes.items()]
    assert cut_off(ended) == cut
    assert (f"--- cut off: {', '.join(cut)}" in summary(ended, tmp_path)) is bool(cut)
