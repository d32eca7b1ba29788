"""The command that tries whether tests notice bugs: what it says of each kind of entry."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tools.mutants import (
    LIST,
    ROOT,
    Mutant,
    failing,
    folder_for_copies,
    read_mutants,
    tried,
    verdict_of_tests,
    verdict_on,
)

GRACE = Mutant(
    id="G1",
    says="two seconds are the least grace",
    file="grace.py",
    old="max(2, asked)",
    new="asked",
    tests=("test_grace.py",),
)
PRODUCT = "def grace(asked: int) -> int:\n    return max(2, asked)\n"
NOTICES = "from grace import grace\n\ndef test_grace() -> None:\n    assert grace({asked}) >= 2\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "grace.py").write_text(PRODUCT)
    (tmp_path / "test_grace.py").write_text(NOTICES.format(asked=1))
    (tmp_path / "conftest.py").touch()
    return tmp_path


def test_a_bug_that_a_test_fails_for_is_noticed_and_taken_back(checkout: Path) -> None:
    assert verdict_on(GRACE, checkout) == ""
    assert (checkout / "grace.py").read_text() == PRODUCT


def test_a_bug_with_which_all_tests_pass_has_survived(checkout: Path) -> None:
    (checkout / "test_grace.py").write_text(NOTICES.format(asked=3))
    assert verdict_on(GRACE, checkout) == "SURVIVED"
    assert (checkout / "grace.py").read_text() == PRODUCT


@pytest.mark.parametrize("text", ["", PRODUCT.replace("max(2, asked)", "asked"), PRODUCT * 2])
def test_an_entry_whose_line_is_not_there_once_is_stale(checkout: Path, text: str) -> None:
    (checkout / "grace.py").write_text(text)
    assert "STALE" in verdict_on(GRACE, checkout)
    assert (checkout / "grace.py").read_text() == text


@pytest.mark.parametrize("tests", [("test_none.py",), ("test_grace.py::test_none",), ("grace.py",)])
def test_an_entry_of_which_no_test_runs_proves_nothing(checkout: Path, tests: tuple[str]) -> None:
    assert "NO TEST RAN" in verdict_on(replace(GRACE, tests=tests), checkout)


def test_an_entry_has_all_fields_and_no_other() -> None:
    with pytest.raises(TypeError):
        read_mutants('[[mutant]]\nid = "G1"\ntests = []\n')


def test_every_entry_of_the_list_is_one_change_of_this_checkout() -> None:
    mutants = read_mutants(LIST.read_text("utf-8"))
    assert len({each.id for each in mutants}) == len(mutants)
    for each in mutants:
        assert (ROOT / each.file).read_text("utf-8").count(each.old) == 1, each.id
        assert each.old != each.new, each.id
        assert each.tests, each.id
        for test in each.tests:
            assert (ROOT / test.partition("::")[0]).exists(), f"{each.id}: {test}"


def test_mutants_are_tried_in_copies_of_the_checkout() -> None:
    mutant = read_mutants(LIST.read_text("utf-8"))[0]
    harmless = replace(mutant, new=f"({mutant.old})", tests=("tests/unit/tools/test_none.py",))
    before = (ROOT / mutant.file).read_text("utf-8")
    [(_, verdict)] = tried([harmless], processes=1)
    assert "NO TEST RAN" in verdict
    assert (ROOT / mutant.file).read_text("utf-8") == before


HOLDS_ITS_FOLDER = """
import sys, tempfile
from tools.mutants import folder_for_copies
tempfile.tempdir = sys.argv[1]
with folder_for_copies() as folder:
    (folder / "copy").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_folders_of_processes_that_were_killed_are_removed_and_those_in_use_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    others = tmp_path / "actorlet-else"
    others.mkdir()
    command = [sys.executable, "-c", HOLDS_ITS_FOLDER, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        with folder_for_copies() as own:
            assert {*tmp_path.iterdir()} == {others, theirs, own}
        process.kill()
    assert {*tmp_path.iterdir()} == {others, theirs}
    with folder_for_copies() as own:
        assert {*tmp_path.iterdir()} == {others, own}
    assert {*tmp_path.iterdir()} == {others}


def test_tests_that_hang_have_not_noticed_anything(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text("import signal\ndef test_it(): signal.pause()\n")
    verdict = verdict_of_tests(["test_hangs.py"], tmp_path, within=5.0)
    assert verdict == "HUNG: its tests take more than 5 s"


def test_tests_that_fail_before_anything_is_changed_are_told() -> None:
    mutant = read_mutants(LIST.read_text("utf-8"))[0]
    assert "no tests ran" in failing([replace(mutant, tests=("tests/unit/none.py",))], processes=0)
    assert not failing([replace(mutant, tests=("tests/unit/tools/test_flakes.py",))], processes=0)
    assert not failing([], processes=0)
