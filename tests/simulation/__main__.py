"""Tells histories by seeds, and of each that is broken the shortest: ``make simulate``."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator

import click

from tests.simulation.families import FAMILIES
from tests.simulation.telling import found


def _for(seconds: float, first: int) -> Iterator[int]:
    """Yield seeds from ``first`` on, for so many seconds."""
    ends_at = time.monotonic() + seconds
    for seed in itertools.count(first):
        if time.monotonic() >= ends_at:
            return
        yield seed


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
    "--runtime", type=click.Choice(list(FAMILIES)), default="cri", help="What runs the pods."
)
def main(  # noqa: PLR0913  # an option each
    first: int | None,
    last: int | None,
    *,
    seconds: float | None,
    begin: int | None,
    jobs: int,
    shorten: bool,
    runtime: str,
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
    told = failed = 0
    for lines in found(seeds, jobs, shorten=shorten, runtime=runtime):
        told, failed = told + 1, failed + bool(lines)
        if lines:
            click.echo("\n".join(lines))
    used = os.times()
    took = used.children_user + used.children_system
    click.echo(f"{told} histories, {failed} of them broken, in {took:.0f} s of CPU")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
