"""``make simulate``: which histories it tells, and how it says what is broken."""

from __future__ import annotations

from click.testing import CliRunner

from tests.simulation.__main__ import main


def test_histories_of_a_range_are_told_by_several_processes_and_nothing_broken_ends_with_0() -> (
    None
):
    ended = CliRunner().invoke(main, ["2", "3", "--jobs", "2"])
    assert ended.exit_code == 0
    assert ended.output.startswith("2 histories, 0 of them broken")


def test_new_seeds_are_told_from_one_that_is_printed_so_that_they_can_be_told_again() -> None:
    ended = CliRunner().invoke(main, ["--seconds", "0", "--from", "2"])
    assert ended.exit_code == 0
    assert ended.output.startswith("seeds from 2, for 0 s\n0 histories, 0 of them broken")


def test_either_a_range_or_seconds_have_to_be_given() -> None:
    assert CliRunner().invoke(main, []).exit_code == 2
    assert CliRunner().invoke(main, ["1", "2", "--seconds", "60"]).exit_code == 2
