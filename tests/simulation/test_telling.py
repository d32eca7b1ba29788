"""``make simulate``: which histories it tells, and how it says what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.environment.oracle.oracle import RULES
from tests.environment.oracle.rule import Judgements
from tests.simulation.__main__ import KEPT, counted, main
from tests.simulation.telling import Finding, again


def summary_of(ended: Result) -> str:
    """Return what the last line of a run says, without how long it took."""
    return ended.output.splitlines()[-1].partition(", in ")[0]


def test_histories_of_a_range_are_told_by_several_processes_and_nothing_broken_ends_with_0() -> (
    None
):
    ended = CliRunner().invoke(main, ["2", "3", "--jobs", "2", "--runtime", "hollow"])
    assert ended.exit_code == 0
    assert summary_of(ended) == "2 histories, 0 of them broken"


def test_of_each_seed_one_history_of_each_runtime_is_told_unless_one_is_named() -> None:
    ended = CliRunner().invoke(main, ["2", "2", "--jobs", "1"])
    assert summary_of(ended) == "3 histories, 0 of them broken"


def test_what_is_broken_is_printed_and_kept_for_those_who_come_when_the_output_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [again("hollow", 7), "    the agent is killed; then 2 s (5)", "12.00 s: a is left"]
    found = map(Finding, ([], broken, [], broken[:1]))
    count = counted(found, tmp_path / "new")
    assert (count.told, count.failed) == (4, 2)
    (file,) = (tmp_path / "new").iterdir()
    assert file.read_text().splitlines() == [*broken, again("hollow", 7)]
    assert capsys.readouterr().out.splitlines() == [*broken, broken[0], f"kept in {file}"]


def test_a_run_in_which_nothing_is_broken_keeps_nothing(tmp_path: Path) -> None:
    assert counted([Finding([]), Finding([])], tmp_path).told == 2
    assert not list(tmp_path.iterdir())


def test_of_the_runs_that_are_kept_the_oldest_go(tmp_path: Path) -> None:
    for number in range(KEPT):
        (tmp_path / f"2000-01-01T00-00-{number:02}-1.txt").touch()
    counted([Finding(["broken"])], tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert (len(left), left[0]) == (KEPT, "2000-01-01T00-00-01-1.txt")


def test_a_table_says_how_often_each_rule_judged_and_how_often_it_was_exempt_in_all(
    tmp_path: Path,
) -> None:
    once = Finding([], {"BackOff": Judgements(judged=3, exempt=2), "Policy": Judgements(judged=1)})
    count = counted([once, Finding(["broken"]), once], tmp_path)
    heading, *rows = (line.split() for line in count.table())
    assert heading == ["rule", "judged", "exempt"]
    assert [each[0] for each in rows] == [each.__name__ for each in RULES]
    assert ["BackOff", "6", "4"] in rows
    assert ["Policy", "2", "0"] in rows
    assert ["NoSecret", "0", "0"] in rows


def test_new_seeds_are_told_from_one_that_is_printed_so_that_they_can_be_told_again() -> None:
    ended = CliRunner().invoke(main, ["--seconds", "0", "--from", "2"])
    assert ended.exit_code == 0
    assert ended.output.startswith("seeds from 2, for 0 s\n")
    assert summary_of(ended) == "0 histories, 0 of them broken"


def test_either_a_range_or_seconds_have_to_be_given() -> None:
    assert CliRunner().invoke(main, []).exit_code == 2
    assert CliRunner().invoke(main, ["1", "2", "--seconds", "60"]).exit_code == 2
