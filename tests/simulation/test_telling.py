"""``make simulate``: which histories it tells, and how it says what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.simulation.__main__ import KEPT, counted, main
from tests.simulation.telling import again


def test_histories_of_a_range_are_told_by_several_processes_and_nothing_broken_ends_with_0() -> (
    None
):
    ended = CliRunner().invoke(main, ["2", "3", "--jobs", "2", "--runtime", "hollow"])
    assert ended.exit_code == 0
    assert ended.output.startswith("2 histories, 0 of them broken")


def test_of_each_seed_one_history_of_each_runtime_is_told_unless_one_is_named() -> None:
    ended = CliRunner().invoke(main, ["2", "2", "--jobs", "1"])
    assert ended.output.startswith("3 histories, 0 of them broken")


def test_what_is_broken_is_printed_and_kept_for_those_who_come_when_the_output_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [again("hollow", 7), "    the agent is killed; then 2 s (5)", "12.00 s: a is left"]
    assert counted([[], broken, [], broken[:1]], tmp_path / "new") == (4, 2)
    (file,) = (tmp_path / "new").iterdir()
    assert file.read_text().splitlines() == [*broken, again("hollow", 7)]
    assert capsys.readouterr().out.splitlines() == [*broken, broken[0], f"kept in {file}"]


def test_a_run_in_which_nothing_is_broken_keeps_nothing(tmp_path: Path) -> None:
    assert counted([[], []], tmp_path) == (2, 0)
    assert not list(tmp_path.iterdir())


def test_of_the_runs_that_are_kept_the_oldest_go(tmp_path: Path) -> None:
    for number in range(KEPT):
        (tmp_path / f"2000-01-01T00-00-{number:02}-1.txt").touch()
    counted([["broken"]], tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert (len(left), left[0]) == (KEPT, "2000-01-01T00-00-01-1.txt")


def test_new_seeds_are_told_from_one_that_is_printed_so_that_they_can_be_told_again() -> None:
    ended = CliRunner().invoke(main, ["--seconds", "0", "--from", "2"])
    assert ended.exit_code == 0
    assert ended.output.startswith("seeds from 2, for 0 s\n0 histories, 0 of them broken")


def test_either_a_range_or_seconds_have_to_be_given() -> None:
    assert CliRunner().invoke(main, []).exit_code == 2
    assert CliRunner().invoke(main, ["1", "2", "--seconds", "60"]).exit_code == 2
