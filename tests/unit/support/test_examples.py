"""Each test of hypothesis has fixed examples and new ones, and only the profiles say how many."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project.checkout import ROOT

WRITES = """
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from pathlib import Path

def note(value):
    with Path("seen").open("a") as seen:
        seen.write(f"{value} ")
    assert value >= 0 or not Path("breaks").exists()

@given(st.integers())
def test_a_number(value):
    note(value)

class Machine(RuleBasedStateMachine):
    @rule(value=st.integers())
    def step(self, value):
        note(value)

TestMachine = Machine.TestCase
"""


def seen_in(folder: Path, which: str, profile: str) -> tuple[list[str], str]:
    """Run one of the tests on its own. Return its examples in order, and what pytest prints."""
    (folder / "test_writes.py").write_text(WRITES)
    (folder / "seen").unlink(missing_ok=True)
    words = ["-p", "tests.support.examples", f"--hypothesis-profile={profile}"]
    words += ["-p", "no:cacheprovider", f"--rootdir={folder}", "-c", os.devnull]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", which, *words, "test_writes.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    return (folder / "seen").read_text().split(), ended.stdout


@pytest.mark.parametrize("which", ["test_a_number", "Machine"])
def test_a_commit_has_the_same_examples_each_time_and_new_ones_after_them(
    tmp_path: Path, which: str
) -> None:
    first, second = (seen_in(tmp_path, which, "ci")[0] for _ in range(2))
    same = next(n for n, pair in enumerate(zip(first, second, strict=False)) if len({*pair}) > 1)
    assert 40 <= same < len(first)


def test_an_example_that_fails_is_told_and_is_the_first_of_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "breaks").touch()
    _, printed = seen_in(tmp_path, "test_a_number", "new")
    assert "reproduce_failure" in printed
    again, _ = seen_in(tmp_path, "test_a_number", "new")
    assert again[0] == "-1"


def test_no_test_says_for_itself_how_many_examples_it_has() -> None:
    own = re.compile(r"(max_examples|stateful_step_count|derandomize)=")
    files = (path for path in (ROOT / "tests").rglob("*.py") if own.search(path.read_text("utf-8")))
    assert [str(path.relative_to(ROOT)) for path in files] == ["tests/support/examples.py"]
