"""The night: each step has its share of the time, and a failure of any is told in the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.project.checkout import ROOT
from tools.night import MACHINE, SHARES, Ended, load, ran


@pytest.mark.parametrize(
    ("code", "says", "failed"),
    [(0, "well", False), (3, "FAILED (3)", True)],
)
def test_a_step_ends_well_or_has_failed(code: int, says: str, *, failed: bool) -> None:
    ended = ran("step", [sys.executable, "-c", f"raise SystemExit({code})"], 600.0)
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
    ended = ran("step", [sys.executable, "-c", story], 2.0)
    assert (ended.code, ended.failed) == (None, False)
    assert ended.line().endswith("its time was over")
    assert not left.exists() or not Path("/proc", left.read_text()).exists()


def test_the_load_beside_ends_with_its_block() -> None:
    with load(1):
        pass


def test_the_steps_share_all_of_the_time_and_the_folders_are_there() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert all((ROOT / "tests" / each).is_dir() for each in MACHINE)
    assert Ended(name="a", code=0, took=90.0).line() == "a               1.5 min  well"
