"""Tells histories in several processes."""

from __future__ import annotations

import gc
import itertools
import signal
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

import click
import structlog

from tests.environment.oracle.rule import Judgements
from tests.simulation.history import History
from tests.simulation.shortening import shortened
from tests.support.canary import look_and_drop

OBJECTS_BETWEEN: Final = 20_000
"""So many more objects there are when the collector of garbage looks at the young ones again."""


def quiet() -> None:
    """Have the agent of this process log nothing: what it would say is looked at alone."""
    structlog.configure(processors=[look_and_drop], cache_logger_on_first_use=False)


def _begin() -> None:
    """Make this process ready. An interrupt ends it: in a history it would be the crash of an actor.

    The collector of garbage leaves out what was imported, and looks less often: it took a twelfth of the
    time.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    quiet()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a history has found."""

    lines: Sequence[str]
    """What is broken, below the shortest history in which something is. Empty if nothing is."""
    judgements: Mapping[str, Judgements] = field(default_factory=dict)
    """How often each rule judged in it, by its name."""


def _told(runtime: str, seed: int, *, shorten: bool) -> Finding:
    """Tell the history of a seed, and return what it has found."""
    history = History.of(seed, runtime)
    judgements: Mapping[str, Judgements] = {}
    try:
        told = history.told()
        broken, judgements = told.broken, told.judgements
        if broken and shorten:
            click.echo(f"{runtime} {seed} is broken; a shorter history is looked for", err=True)
            history = shortened(history)
            broken = history.broken()
    except Exception:  # noqa: BLE001  # a bug in the environment: the other histories are told nevertheless
        broken = traceback.format_exc().splitlines()
    lines = [again(runtime, seed), *history.lines(), *broken] if broken else []
    return Finding(lines, judgements)


def again(runtime: str, seed: int) -> str:
    """Return what tells the history of a seed once more."""
    return f"make simulate ARGS='--runtime {runtime} {seed} {seed}'"


def found(histories: Iterable[tuple[str, int]], jobs: int, *, shorten: bool) -> Iterator[Finding]:
    """Tell histories, by runtime and seed, ``jobs`` at a time, and yield what each has found."""
    rest = iter(histories)
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin) as pool:

        def begun(count: int) -> set[Future[Finding]]:
            return {
                pool.submit(_told, *each, shorten=shorten) for each in itertools.islice(rest, count)
            }

        under_way = begun(jobs)
        while under_way:
            ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            under_way |= begun(len(ended))
            yield from (each.result() for each in ended)
