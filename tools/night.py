"""Looks for what a commit has no time for: ``make night``, two hours in all unless ``ARGS="--minutes N"``.

New seeds of histories, all mutants, new examples of hypothesis, and up to twenty rounds of the tests that
touch the machine, in random order, with twice the processes and a load beside. What has not ended in its
share of the time is interrupted, which is no failure. Exit code 1 if anything failed.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import click

from tools.flakes import new_run, state_folder
from tools.mutants import ROOT

MACHINE: Final = ("process", "cluster", "containers", "browser", "wire", "contracts")
"""Folders of the tests that touch the machine."""
ROUNDS: Final = 20
SHARES: Final = {"histories": 0.3, "mutants": 0.15, "examples": 0.1, "machine": 0.45}
"""Of the time. What a step leaves over, those after it have."""
LETS_GO: Final = 120.0
"""Seconds for the end of what is interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of one command."""

    name: str
    code: int | None
    """Exit code; None if its time was over."""
    took: float
    """Seconds."""

    @property
    def failed(self) -> bool:
        """Whether it found something."""
        return self.code not in {0, None}

    def line(self) -> str:
        """Return the line of the summary."""
        verdict = {0: "well", None: "its time was over"}.get(self.code, f"FAILED ({self.code})")
        return f"{self.name:12} {self.took / 60:6.1f} min  {verdict}"


def ran(name: str, words: Sequence[str], seconds: float) -> Ended:
    """Run a command for at most so many seconds, in a group of its own, and return what became of it."""
    click.echo(f"--- {name}: {shlex.join(words)}", err=True)
    began = time.monotonic()
    process = subprocess.Popen(words, cwd=ROOT, start_new_session=True)  # noqa: S603 - our own tools
    try:
        code: int | None = process.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end(process)
    return Ended(name=name, code=code, took=time.monotonic() - began)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt what still runs, so that tests clean up; kill what does not listen."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, signum)
        try:
            process.wait(LETS_GO)
        except subprocess.TimeoutExpired:
            continue


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep so many cores busy for the ``with`` block."""
    words = (sys.executable, "-c", "while True: pass")
    busy = [subprocess.Popen(words) for _ in range(processes)]  # noqa: S603 - our own
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def machine_tests(seed: int, processes: int) -> list[str]:
    """Return the command for one round of the tests that touch the machine, in the order of a seed."""
    junit = new_run(state_folder() / "runs", datetime.now(UTC), os.getpid())
    words = [sys.executable, "-m", "pytest", "-q", "-n", f"{processes}", f"--junitxml={junit}"]
    words += ["--random-order", f"--random-order-seed={seed}"]
    return [*words, *(f"tests/{each}" for each in MACHINE)]


def night(seconds: float, rounds: int) -> Iterator[Ended]:
    """Do all of it within so many seconds. Yield what became of each command."""
    cores, begins = os.cpu_count() or 1, time.monotonic()
    python, until = (sys.executable, "-m"), 0.0
    steps = {
        "histories": (*python, "tests.simulation", "--seconds", f"{seconds * SHARES['histories']:.0f}"),
        "mutants": (*python, "tools.mutants"),
        "examples": (*python, "pytest", "-q", f"-n{cores}", "--hypothesis-profile=night", "tests/properties"),
    }  # fmt: skip
    for name, words in steps.items():
        until += seconds * SHARES[name]
        # The histories end by themselves, but for those that are shortened just then.
        yield ran(name, words, begins + until * 1.1 - time.monotonic())
    with load(cores):
        for number in range(1, rounds + 1):
            left = begins + seconds - time.monotonic()
            if left <= 0:
                return
            seed = random.SystemRandom().randrange(10**6)
            yield ran(f"machine {number}", machine_tests(seed, 4 * cores), left)


@click.command(help=__doc__)
@click.option("--minutes", default=120.0, show_default=True, help="For all of it.")
@click.option("--rounds", default=ROUNDS, show_default=True, help="Of what touches the machine.")
def main(minutes: float, rounds: int) -> None:
    """Do all of it, and print the summary."""
    found = list(night(minutes * 60, rounds))
    click.echo("--- the night; make flakes shows what failed in which rounds")
    click.echo("\n".join(each.line() for each in found))
    sys.exit(any(each.failed for each in found))


if __name__ == "__main__":
    main()
