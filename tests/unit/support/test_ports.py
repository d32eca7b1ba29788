"""Ports for the programs of tests, several processes of which run at a time."""

from __future__ import annotations

import subprocess
import sys

from tests.support.project.checkout import ROOT
from tests.support.wire.ports import free_ports

OTHER = "from tests.support.wire.ports import free_ports; print(*free_ports(60)); input()"


def test_no_port_is_given_twice() -> None:
    assert len({*free_ports(60), *free_ports(60)}) == 120


def test_no_port_is_given_to_two_processes_that_run() -> None:
    command = [sys.executable, "-c", OTHER]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = {int(word) for word in other.stdout.readline().split()}
        ours = set(free_ports(60))
        other.communicate("\n")
    assert len(theirs) == 60
    assert theirs.isdisjoint(ours)
