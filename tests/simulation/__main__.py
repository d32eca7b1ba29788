"""Tells the histories of some seeds, and of each that is broken the shortest: ``make simulate``."""

from __future__ import annotations

import time
from typing import NoReturn

import click
import structlog

from tests.simulation.history import History


def _drop(*_: object) -> NoReturn:
    raise structlog.DropEvent


@click.command(help=__doc__)
@click.argument("first", type=int)
@click.argument("last", type=int)
@click.option("--shorten/--whole", default=True, help="Whether to look for a shorter history.")
def main(first: int, last: int, *, shorten: bool) -> None:
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)
    failed, began = 0, time.process_time()
    for seed in range(first, last + 1):
        history = History.of(seed)
        if broken := history.broken():
            failed += 1
            shortest = history.shortened() if shorten else history
            found = shortest.broken() if shorten else broken
            click.echo("\n".join((f"seed {seed}", *shortest.lines(), *found)))
    took = time.process_time() - began
    click.echo(f"{last - first + 1} histories, {failed} of them broken, in {took:.0f} s of CPU")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
