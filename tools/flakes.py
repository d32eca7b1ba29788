"""Keeps what became of the last runs of the tests, and shows per test how often it failed: ``make flakes``.

``make test`` has pytest write a junit file into a folder outside of the checkout, so that fresh clones and
``make clean`` lose nothing. What a run left out does not count for it.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import click

KEPT: Final = 50
"""How many runs are kept."""
EXPECTED: Final = "pytest.xfail"
"""How junit has the failure of a test that may fail now and then (tests/flaky.toml)."""


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where all checkouts of a user on this machine keep what they learn from their tests."""
    state = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "actorlet-tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one test in one run."""

    test: str
    took: float
    """Seconds."""
    failed: bool
    at: str
    """When its run began: ISO 8601."""


@dataclass(slots=True)
class Story:
    """What became of one test in all runs that had it."""

    runs: int = 0
    failures: int = 0
    slowest: float = 0.0
    last_failed: str = ""
    """When the last run began in which it failed; empty if it never did."""

    def add(self, outcome: Outcome) -> None:
        """Count one run."""
        self.runs += 1
        self.slowest = max(self.slowest, outcome.took)
        if outcome.failed:
            self.failures += 1
            self.last_failed = max(self.last_failed, outcome.at)


def new_run(folder: Path, now: datetime, process: int) -> Path:
    """Return the path for the junit file of a new run. Pack the earlier ones, and remove the oldest."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.xml"):
        if _is_whole(path):
            _pack(path)
    for path in sorted(folder.glob("*.xml*"))[: -(KEPT - 1)]:
        path.unlink(missing_ok=True)
    return folder / f"{now:%Y-%m-%dT%H-%M-%S}-{process}.xml"


def _is_whole(path: Path) -> bool:
    """Return whether a junit file is written to its end: another run may be writing it just now."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 20))
        return file.read().rstrip().endswith(b"</testsuites>")


def _pack(path: Path) -> None:
    packed = path.with_suffix(".xml.gz")
    with path.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    path.unlink(missing_ok=True)


def outcomes(path: Path) -> Iterator[Outcome]:
    """Yield what became of each test of one run, once. Nothing for a file that is no junit file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            suites = ET.parse(file).getroot()  # noqa: S314 - made by our own tests
        except ET.ParseError:
            return
    found: dict[str, Outcome] = {}
    for suite in suites.iter("testsuite"):
        for case in suite.iter("testcase"):
            one = _outcome(case, suite.get("timestamp", ""))
            if one is not None:
                # What fails in its end is told twice: as itself, and as its end.
                before = found.get(one.test, one)
                took, failed = one.took + before.took * (before is not one), one.failed
                found[one.test] = Outcome(
                    test=one.test, took=took, failed=failed or before.failed, at=one.at
                )
    yield from found.values()


def _outcome(case: ET.Element, at: str) -> Outcome | None:
    """Return what became of a test; None if it was skipped."""
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("type") != EXPECTED:
        return None
    failed = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
    name = f"{case.get('classname', '')}::{case.get('name', '')}".removeprefix("::")
    return Outcome(test=name, took=float(case.get("time", 0)), failed=failed, at=at)


def stories(runs: Iterable[Path]) -> dict[str, Story]:
    """Return what became of each test in these runs."""
    told: dict[str, Story] = {}
    for path in runs:
        for outcome in outcomes(path):
            told.setdefault(outcome.test, Story()).add(outcome)
    return told


def page(told: Mapping[str, Story], slowest: int) -> Iterator[str]:
    """Yield the lines of the page: the tests that failed, most often first, then the slowest."""
    failed = sorted(
        (name for name in told if told[name].failures),
        key=lambda name: (-told[name].failures, name),
    )
    yield f"{len(failed)} of {len(told)} tests failed at least once"
    yield from _table(told, failed)
    slow = sorted(told, key=lambda name: (-told[name].slowest, name))[:slowest]
    yield f"the {len(slow)} slowest"
    yield from _table(told, slow)


def _table(told: Mapping[str, Story], names: Iterable[str]) -> Iterator[str]:
    yield f"{'runs':>6}{'failed':>8}{'slowest':>10}  {'last failed':<20}test"
    for name in names:
        one = told[name]
        numbers = f"{one.runs:6}{one.failures:8}{one.slowest:8.1f} s"
        yield f"{numbers}  {one.last_failed[:19] or 'never':<20}{name}"


@click.group(help=__doc__)
def main() -> None:
    """Do one of the commands."""


@main.command()
def new() -> None:
    """Print where a run that begins writes its junit file."""
    click.echo(new_run(state_folder() / "runs", datetime.now(UTC), os.getpid()))


@main.command()
@click.option("--slowest", default=20, show_default=True, help="How many of the slowest are shown.")
def show(slowest: int) -> None:
    """Print what became of the tests of the last runs."""
    folder = state_folder() / "runs"
    runs = sorted(folder.glob("*.xml*"))
    click.echo(f"{len(runs)} runs in {folder}")
    click.echo("\n".join(page(stories(runs), slowest)))
    sys.exit(0)


if __name__ == "__main__":
    main()
