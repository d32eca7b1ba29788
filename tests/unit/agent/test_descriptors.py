"""The limit of open descriptors."""

from __future__ import annotations

import subprocess
import sys
from resource import RLIM_INFINITY

import pytest

from agent.listeners import ENOUGH, raised
from tests.support.project.checkout import ROOT

RAISE = """
import resource
from agent.listeners import raise_descriptor_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 500))
print(raise_descriptor_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1_024, 4_096, 4_096),
        (4_096, 4_096, 4_096),
        (1_024, 1_073_741_816, ENOUGH),
        (1_024, RLIM_INFINITY, ENOUGH),
        (100_000, 1_073_741_816, 100_000),
        (RLIM_INFINITY, RLIM_INFINITY, RLIM_INFINITY),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_is_enough(soft: int, hard: int, expected: int) -> None:
    assert raised(soft, hard) == expected


def test_the_limit_of_the_process_is_raised() -> None:
    # In a process of its own: a hard limit that was lowered cannot be raised again.
    command = [sys.executable, "-c", RAISE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["500", "500", "500"]
