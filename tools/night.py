"""Looks for what a commit has no time for: ``make night``, two hours in all unless ``ARGS="--minutes N"``.

New seeds of histories, all mutants, new examples of hypothesis, and up to twenty rounds of the tests that
touch the machine, in random order, with twice the processes and a load beside. PATHS are other tests for
these rounds: ``ARGS="--minutes 2 --rounds 1 tests/wire/test_serving.py"`` tries whether all of it goes.

What has not ended in its share of the time is interrupted; what it has found by then counts. The end says
what failed, what was cut off, and where the files are with what each step said. Exit code 1 if anything
failed, or was cut off, but for the last round: who did not look everywhere has not found that all is well.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from tools.flakes import new_run, state_folder
from tools.mutants import ROOT

MACHINE: Final = tuple(
    f"tests/{each}" for each in ("process", "cluster", "containers", "browser", "wire", "contracts")
)
"""Folders of the tests that touch the machine."""
ROUNDS: Final = 20
SHARES: Final = {"histories": 0.3, "mutants": 0.15, "examples": 0.1, "machine": 0.45}
"""Of the time. What a step leaves over, those after it have."""
LETS_GO: Final = 120.0
"""Seconds for the end of what is interrupted."""
KEPT: Final = 14
"""Nights whose files are kept."""
LOAD: Final = "import os\nmine = os.getppid()\nwhile os.getppid() == mine: pass"
"""Keeps a core busy as long as the night goes on."""
TESTS: Final = re.compile(r"(?:FAILED|ERROR) tests/.+?(?= - | *$)")
FINDINGS: Final = {
    "histories": re.compile(r"^(?!seeds from|\d+ histories).+"),
    "mutants": re.compile(r"^\S+ +(?:SURVIVED|STALE|HUNG|NO TEST RAN): .*"),
}
"""What of the lines of a step says what it found, if that is not names of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of one command."""

    name: str
    code: int | None
    """Exit code; None if its time was over."""
    took: float
    """Seconds."""
    found: tuple[str, ...] = ()
    """What failed: the lines that say so."""

    @property
    def failed(self) -> bool:
        """Whether it found something."""
        return self.code not in {0, None} or bool(self.found)

    def line(self) -> str:
        """Return the line of the summary."""
        verdict = {0: "well", None: "its time was over"}.get(self.code, f"FAILED ({self.code})")
        if self.code is None and self.found:
            verdict = f"FAILED, and {verdict}"
        return f"{self.name:12} {self.took / 60:6.1f} min  {verdict}"


def ran(name: str, words: Sequence[str], seconds: float, folder: Path) -> Ended:
    """Run a command for at most so many seconds, in a group of its own, and return what became of it.

    What it says is in a file of the folder that has its name.
    """
    if seconds <= 0:
        return Ended(name=name, code=None, took=0.0)
    click.echo(f"--- {name}: {shlex.join(words)}", err=True)
    began, path = time.monotonic(), folder / f"{name.replace(' ', '-')}.txt"
    with path.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own tools
            words, cwd=ROOT, start_new_session=True, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # What fails from now on may do so because it is interrupted.
            said = path.read_text("utf-8", errors="replace")
            _end(process)
    found = found_in(said, FINDINGS.get(name, TESTS))
    ended = Ended(name=name, code=code, took=time.monotonic() - began, found=found)
    click.echo(ended.line(), err=True)
    return ended


def found_in(said: str, finding: re.Pattern[str] = TESTS) -> tuple[str, ...]:
    """Return what failed, by what a step said, each once."""
    hits = map(finding.search, said.splitlines())
    return tuple(dict.fromkeys(hit[0] for hit in hits if hit is not None))


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
    words = (sys.executable, "-c", LOAD)
    busy = [subprocess.Popen(words) for _ in range(processes)]  # noqa: S603 - our own
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def machine_round(
    number: int, paths: Sequence[str], processes: int, seconds: float, folder: Path
) -> Ended:
    """Do one round of the tests that touch the machine, in an order that is drawn."""
    seed = random.SystemRandom().randrange(10**6)
    junit = new_run(state_folder() / "runs", datetime.now(UTC), os.getpid())
    words = [sys.executable, "-m", "pytest", "-v", "-n", f"{processes}", f"--junitxml={junit}"]
    words += ["--random-order", f"--random-order-seed={seed}", *paths]
    ended = ran(f"machine {number}", words, seconds, folder)
    if ended.code is None:
        junit.unlink(missing_ok=True)  # what was interrupted is told there as failed
    return ended


def night(seconds: float, rounds: int, paths: Sequence[str], folder: Path) -> Iterator[Ended]:
    """Do all of it within so many seconds. Yield what became of each command."""
    cores, begins = os.cpu_count() or 1, time.monotonic()
    python, until = (sys.executable, "-m"), 0.0
    steps = {
        "histories": (*python, "tests.simulation", "--seconds", f"{seconds * SHARES['histories']:.0f}"),
        "mutants": (*python, "tools.mutants"),
        "examples": (*python, "pytest", "-v", f"-n{cores}", "--hypothesis-profile=night", "tests/properties"),
    }  # fmt: skip
    for name, words in steps.items():
        until += seconds * SHARES[name]
        # The histories end by themselves, but for those that are shortened just then.
        yield ran(name, words, begins + until * 1.1 - time.monotonic(), folder)
    with load(cores):
        for number in range(1, rounds + 1):
            left = begins + seconds - time.monotonic()
            if left <= 0:
                return
            yield machine_round(number, paths or MACHINE, 4 * cores, left, folder)


def summary(ended: Sequence[Ended], folder: Path) -> Iterator[str]:
    """Yield what somebody reads in the morning."""
    yield "--- the night"
    yield from (each.line() for each in ended)
    failed = [each for each in ended if each.failed]
    rounds = [each for each in ended if each.name.startswith("machine")]
    for each in failed:
        if each not in rounds:
            yield f"--- {each.name}"
            yield from each.found or ("no line of its file says what failed",)
    yield from _of_rounds(rounds)
    cut = cut_off(ended)
    if cut:
        yield f"--- cut off: {', '.join(cut)}"
    yield f"--- {'what each has said' if failed or cut else 'nothing failed'}: {folder}/"


def cut_off(ended: Sequence[Ended]) -> list[str]:
    """Return the names of steps that had no time to end. Of the rounds one has to."""
    ends = {each.name for each in ended if each.code is not None}
    cut = [name for name in SHARES if name not in ends]
    return [name for name in cut if name != "machine" or "machine 1" not in ends]


def _of_rounds(rounds: Sequence[Ended]) -> Iterator[str]:
    """Yield each test that failed in rounds, those first that failed most often, and in which."""
    where: dict[str, list[str]] = defaultdict(list)
    for each in rounds:
        for found in each.found or (("the round itself",) if each.failed else ()):
            where[found].append(each.name.removeprefix("machine "))
    if where:
        yield f"--- machine, {len(rounds)} rounds"
    for found, numbers in sorted(where.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"{found}: in {len(numbers)} ({', '.join(numbers)})"


def new_folder(nights: Path, now: datetime) -> Path:
    """Make the folder for the files of a night, and remove those of the oldest ones."""
    made = nights / f"{now:%Y-%m-%dT%H-%M-%S}"
    made.mkdir(parents=True)
    for old in sorted(nights.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return made


def done(steps: Iterable[Ended]) -> list[Ended]:
    """Return what became of each step; of those until then, if somebody ends the night."""
    ended: list[Ended] = []
    try:
        for each in steps:
            ended.append(each)  # noqa: PERF402 - those until then stay
    except KeyboardInterrupt:
        click.echo("--- somebody has ended the night")
    return ended


@click.command(help=__doc__)
@click.option("--minutes", default=120.0, show_default=True, help="For all of it.")
@click.option("--rounds", default=ROUNDS, show_default=True, help="Of what touches the machine.")
@click.argument("paths", nargs=-1)
def main(minutes: float, rounds: int, paths: tuple[str, ...]) -> None:
    """Do all of it, and print the summary."""
    # In the background of a shell it is ignored, also by all that is started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = new_folder(state_folder() / "nights", datetime.now(UTC))
    ended = done(night(minutes * 60, rounds, paths, folder))
    text = "\n".join(summary(ended, folder))
    (folder / "summary.txt").write_text(f"{text}\n", "utf-8")
    click.echo(text)
    sys.exit(bool(cut_off(ended)) or any(each.failed for each in ended))


if __name__ == "__main__":
    main()
