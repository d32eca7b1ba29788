"""Measuring in a process of its own, so that the memory and the garbage of one thing never slow another."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def apart(measure: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what ``measure`` returns in a fresh interpreter, which then ends."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
        return one.submit(measure, *args, **kwargs).result()


def behave_like_the_agent() -> None:
    """Log as the agent does, only to nowhere, and collect garbage as rarely as it does."""
    # In here, since whoever only polls an agent has no use for all of its modules.
    from agent.garbage import settle  # noqa: PLC0415
    from agent.logs import configure_logs  # noqa: PLC0415

    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends
    configure_logs("text", 0, nowhere)
    settle()
