"""Help and mistakes, as the process answers them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the agent with ``arguments`` until it ends."""
    command = [sys.executable, str(ROOT / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    ("flag", "shown"), [("--help", "Where pods come from:"), ("--version", "actorlet ")]
)
def test_a_question_about_the_program_is_answered(flag: str, shown: str) -> None:
    ended = run(flag)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert shown in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--no-such-flag"], "actorlet: No such option '--no-such-flag' (--help lists the flags)"),
        (["--config=/dev/null"], "actorlet: /dev/null: there is no document"),
        (["--hostname-override=a_b"], "actorlet: 'a_b' cannot be the name of a node: letters, dig"),
        (["--pod-manifest-path=/dev/null"], "actorlet: the manifest path /dev/null is a device; i"),
        (
            ["--healthz-bind-address=0.0.0.0"],
            "actorlet: healthzPort on 0.0.0.0 would answer anybody who can re",
        ),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(arguments: list[str], said: str) -> None:
    assert_is_refused(run(*arguments), 2, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config=/none"], "actorlet: cannot read the configuration file /none: No such file or"),
        (["--config=/proc"], "actorlet: cannot read the configuration file /proc: Is a directory"),
        (["--config-dir=/none"], "actorlet: cannot read the drop-in folder /none: No such file or"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_code_1(arguments: list[str], said: str) -> None:
    # It may be there a moment later: a late mount, a tool that swaps it.
    assert_is_refused(run(*arguments), 1, said)


def assert_is_refused(ended: subprocess.CompletedProcess[str], code: int, said: str) -> None:
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith(said)
    assert ended.stderr.count("\n") == 1
