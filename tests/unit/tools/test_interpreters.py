"""Which Python runs the agent: another one is told in one sentence, by whatever it was started."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from settings.interpreter import too_old, unfit
from tests.support.project.checkout import ROOT
from tools.installing import interpreters

READ_BY_ANY = (
    "run.py",
    "command/__init__.py",
    "command/__main__.py",
    "settings/__init__.py",
    "settings/interpreter.py",
    "tools/__init__.py",
    "tools/installing/__init__.py",
    "tools/installing/__main__.py",
)
NEEDS = "Python 3.11 or newer is needed, and /x/python is 3.9"
OLD_PYTHON = (
    "#!/bin/sh\ncase $1 in -c) exit 1;; esac\necho 'Python 3.11 or newer is needed' >&2; exit 1\n"
)
"""Answers as an interpreter that is too old does."""


def test_a_python_that_is_too_old_is_a_sentence_with_its_version_and_its_path() -> None:
    assert too_old((3, 9), "/x/python") == NEEDS
    assert not too_old((3, 11), "/x/python")
    assert not too_old((4, 0), "/x/python")


def test_a_python_without_the_packages_is_told_from_one_that_is_too_old() -> None:
    environment = "run it by .venv/bin/python, which `make .venv/agent` sets up"
    assert unfit((3, 9), "/x/python") == f"{NEEDS}: {environment}"
    said = unfit((3, 12), "/x/python", has=lambda name: name != "click")
    assert said == f"no module click in /x/python: {environment}"
    assert not unfit((3, 12), "/x/python", has=lambda _name: True)


@pytest.mark.parametrize("path", READ_BY_ANY)
def test_what_is_read_before_the_version_is_looked_at_is_grammar_to_python_3_8(path: str) -> None:
    ast.parse((ROOT / path).read_text(), feature_version=(3, 8))


@pytest.mark.parametrize(
    "started", [["run.py", "--help"], ["-m", "command", "status"], ["command/__main__.py", "pods"]]
)
def test_what_is_started_outside_of_its_environment_says_which_one_to_use(
    started: list[str], tmp_path: Path
) -> None:
    python = bare_environment(tmp_path / "bare")
    done = subprocess.run([python, *started], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr == (
        f"actorlet: no module click in {python}: "
        "run it by .venv/bin/python, which `make .venv/agent` sets up\n"
    )


@pytest.mark.parametrize("goal", ["run", "install", ".venv/agent"])
def test_make_says_in_one_sentence_that_its_python_is_too_old_and_makes_no_environment(
    goal: str, tmp_path: Path
) -> None:
    said = made(checkout(tmp_path), goal, PYTHON=program(tmp_path / "old", OLD_PYTHON))
    assert said.returncode == 2
    assert said.stderr.startswith("Python 3.11 or newer is needed\nmake:")
    assert not (tmp_path / "checkout/.venv").exists()


@pytest.mark.parametrize("left", ["an older Python", "a link to a Python that is gone"])
def test_an_environment_that_the_agent_does_not_run_by_is_made_anew_and_state_stays(
    left: str, tmp_path: Path
) -> None:
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib/python3.9/site-packages").mkdir(parents=True)
    (folder / "state/pods").mkdir(parents=True)
    if left == "an older Python":
        program(folder / "bin/python", OLD_PYTHON)
    else:
        (folder / "bin/python").symlink_to(tmp_path / "gone")
    interpreters.make_environment(folder)
    found = subprocess.run(
        [folder / "bin/python", "-c", "import pip, sys; print(sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == str(sys.version_info[:2])
    assert not (folder / "lib/python3.9").exists()
    assert (folder / "state/pods").is_dir()


def test_make_keeps_an_environment_that_the_agent_runs_by_whatever_python_there_is(
    tmp_path: Path,
) -> None:
    there = checkout(tmp_path)
    fit = "#!/bin/sh\ncase \"$*\" in *wrapper*) echo 'its wrapper';; esac\n"
    program(there / ".venv/bin/python", fit)
    done = made(there, ".venv/agent", PYTHON=program(tmp_path / "old", OLD_PYTHON))
    assert done.returncode == 0, done.stderr
    assert (there / ".venv/bin/actorlet").read_text() == "its wrapper\n"


def bare_environment(folder: Path) -> Path:
    """Make an environment without packages; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin/python"


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def checkout(tmp_path: Path) -> Path:
    """Return a folder with what ``make`` looks at."""
    there = tmp_path / "checkout"
    there.mkdir()
    for name in ("Makefile", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, there)
    return there


def made(there: Path, goal: str, **variables: Path) -> subprocess.CompletedProcess[str]:
    words = [f"{name}={path}" for name, path in variables.items()]
    # As somebody types it: not as a part of the make that may run the tests.
    others = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"}
    plain = {name: each for name, each in os.environ.items() if name not in others}
    return subprocess.run(
        ["make", goal, *words], cwd=there, env=plain, capture_output=True, text=True, check=False
    )
