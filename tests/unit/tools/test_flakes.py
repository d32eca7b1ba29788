"""The page of what became of the tests in the last runs."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tools.flakes import KEPT, Story, new_run, page, state_folder, stories

BEGAN = datetime(2026, 11, 23, 20, 0, tzinfo=UTC)
CASE = '<testcase classname="tests.test_a" name="test_one" time="{took}">{end}</testcase>'
PASSES = CASE.replace("{end}", "")
FAILS = CASE.format(took=1, end="<failure>no</failure>")
SKIPPED = CASE.format(took=0, end='<skipped type="pytest.skip"/>')


def run_of(folder: Path, number: int, *cases: str) -> Path:
    """Write the junit file of a run, one hour after the one before."""
    began = BEGAN + timedelta(hours=number)
    path = new_run(folder, began, 1)
    suite = f'<testsuite name="pytest" timestamp="{began.isoformat()}">{"".join(cases)}</testsuite>'
    path.write_text(f"<testsuites>{suite}</testsuites>", "utf-8")
    return path


def test_a_test_has_its_runs_failures_slowest_and_last_failure(tmp_path: Path) -> None:
    runs = (PASSES.format(took=2.5), FAILS, FAILS, PASSES.format(took=1))
    for number, case in enumerate(runs):
        run_of(tmp_path, number, case)
    told = stories(tmp_path.iterdir())
    assert told == {"tests.test_a::test_one": Story(4, 2, 2.5, "2026-11-23T22:00:00+00:00")}


def test_what_a_run_left_out_or_skipped_does_not_count_for_it(tmp_path: Path) -> None:
    other = '<testcase classname="tests.test_b" name="test_two" time="1" />'
    for number, cases in enumerate([(SKIPPED, other), (other,), (PASSES.format(took=1), other)]):
        run_of(tmp_path, number, *cases)
    told = stories(tmp_path.iterdir())
    assert {name: story.runs for name, story in told.items()} == {
        "tests.test_a::test_one": 1,
        "tests.test_b::test_two": 3,
    }


def test_a_failure_that_does_not_count_in_its_run_is_one_on_the_page(tmp_path: Path) -> None:
    expected = SKIPPED.replace("pytest.skip", "pytest.xfail")
    assert stories([run_of(tmp_path, 0, expected)])["tests.test_a::test_one"].failures == 1


def test_a_test_that_fails_at_its_end_has_run_once(tmp_path: Path) -> None:
    end = FAILS.replace("failure", "error")
    [story] = stories([run_of(tmp_path, 0, PASSES.format(took=2), end)]).values()
    assert (story.runs, story.failures, story.slowest) == (1, 1, 3.0)


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite>"])
def test_a_run_that_was_killed_while_it_wrote_counts_nothing_and_is_not_packed(
    tmp_path: Path, text: str
) -> None:
    killed = run_of(tmp_path, 0)
    killed.write_text(text)
    run_of(tmp_path, 1, FAILS)
    assert killed.exists()
    assert len(stories(tmp_path.iterdir())) == 1


def test_the_last_runs_are_kept_and_packed_and_the_oldest_goes(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        run_of(tmp_path, number, FAILS)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == KEPT
    assert names[0].startswith("2026-11-23T22")
    assert [name for name in names if not name.endswith(".gz")] == names[-1:]
    assert b"test_one" in gzip.decompress((tmp_path / names[0]).read_bytes())
    assert stories(tmp_path.iterdir())["tests.test_a::test_one"].failures == KEPT


def test_the_page_has_those_that_failed_most_often_first_and_then_the_slowest() -> None:
    told = {
        "once": Story(9, 1, 1.0, "2026-11-23T22:00:00+00:00"),
        "twice": Story(9, 2, 1.0, "2026-11-23T22:00:00+00:00"),
        "slow": Story(9, 0, 70.25, ""),
    }
    assert list(page(told, slowest=1)) == [
        "2 of 3 tests failed at least once",
        "  runs  failed   slowest  last failed         test",
        "     9       2     1.0 s  2026-11-23T22:00:00 twice",
        "     9       1     1.0 s  2026-11-23T22:00:00 once",
        "the 1 slowest",
        "  runs  failed   slowest  last failed         test",
        "     9       0    70.2 s  never               slow",
    ]


def test_runs_are_kept_outside_of_the_checkout_where_state_of_a_user_belongs() -> None:
    assert state_folder({"XDG_STATE_HOME": "/state"}) == Path("/state/actorlet-tests")
    assert state_folder({}) == Path.home() / ".local" / "state" / "actorlet-tests"
