"""Tells histories by seeds, and of each that is broken the shortest: ``make simulate``.

Without ``--runtime`` each seed has one history of each runtime, in turn. What is broken is printed with its
seed, the events that it takes and what did not come to rest, and kept beside what ``make flakes`` reads.
A table at the end has each rule of the oracle: how often it judged something, and how often an exemption kept
it silent. A rule that judged nothing has proven nothing.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from tests.environment.oracle.oracle import RULES
from tests.environment.oracle.rule import Judgements
from tests.simulation.families import FAMILIES
from tests.simulation.telling import Finding, found
from tools.flakes import state_folder

KEPT: Final = 50
"""How many runs are kept in which something was broken."""


def _for(seconds: float, first: int) -> Iterator[int]:
    """Yield seeds from ``first`` on, for so many seconds."""
    ends_at = time.monotonic() + seconds
    for seed in itertools.count(first):
        if time.monotonic() >= ends_at:
            return
        yield seed


@dataclass(slots=True)
class Counted:
    """How many histories there were, how many of them are broken, and how often each rule judged in all."""

    told: int = 0
    failed: int = 0
    judgements: dict[str, Judgements] = field(
        default_factory=lambda: {each.__name__: Judgements() for each in RULES}
    )

    def table(self) -> Iterator[str]:
        """Yield a line for each rule, below one that says what its columns are."""
        yield f"{'rule':16} {'judged':>10} {'exempt':>10}"
        for rule, each in self.judgements.items():
            yield f"{rule:16} {each.judged:10} {each.exempt:10}"


def counted(found: Iterable[Finding], folder: Path) -> Counted:
    """Print what histories have found, keep it in a file of the folder, and return what they were."""
    count = Counted()
    file = folder / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{os.getpid()}.txt"
    for each in found:
        count.told, count.failed = count.told + 1, count.failed + bool(each.lines)
        for rule, judgements in each.judgements.items():
            count.judgements[rule].add(judgements)
        if each.lines:
            click.echo("\n".join(each.lines))
            _keep(file, each.lines)
    if count.failed:
        click.echo(f"kept in {file}")
    return count


def _keep(file: Path, lines: Sequence[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as kept:
        kept.writelines(f"{line}\n" for line in lines)
    for old in sorted(file.parent.glob("*.txt"))[:-KEPT]:
        old.unlink(missing_ok=True)


@click.command(help=__doc__)
@click.argument("first", type=int, required=False)
@click.argument("last", type=int, required=False)
@click.option(
    "--seconds", type=float, help="Tell new histories for so long, in place of FIRST to LAST."
)
@click.option(
    "--from", "begin", type=int, help="The first of the new seeds. By default the time is."
)
@click.option("--jobs", type=int, default=os.cpu_count() or 1, help="How many processes tell them.")
@click.option("--shorten/--whole", default=True, help="Whether to look for a shorter history.")
@click.option(
    "--runtime", type=click.Choice(list(FAMILIES)), help="What runs the pods. By default all do."
)
def main(  # noqa: PLR0913  # an option each
    first: int | None,
    last: int | None,
    *,
    seconds: float | None,
    begin: int | None,
    jobs: int,
    shorten: bool,
    runtime: str | None,
) -> None:
    if (seconds is None) == (first is None):
        raise click.UsageError("give either FIRST and LAST, or --seconds")
    if seconds is not None:
        begin = int(time.time()) if begin is None else begin
        click.echo(f"seeds from {begin}, for {seconds:g} s")
        seeds: Iterable[int] = _for(seconds, begin)
    else:
        assert first is not None
        seeds = range(first, (first if last is None else last) + 1)
    runtimes = list(FAMILIES) if runtime is None else [runtime]
    histories = ((each, seed) for seed in seeds for each in runtimes)
    count = counted(found(histories, jobs, shorten=shorten), state_folder() / "histories")
    used = os.times()
    took = used.children_user + used.children_system
    click.echo("\n".join(count.table()))
    click.echo(f"{count.told} histories, {count.failed} of them broken, in {took:.0f} s of CPU")
    raise SystemExit(count.failed > 0)


if __name__ == "__main__":
    main()
