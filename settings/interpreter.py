"""Whether this Python can run the agent, and how whoever is run by another one ends.

It is asked before anything else is imported, so any Python since 3.8 has to be able to read this file and
those that import it first: ``run.py``, ``command/__main__.py`` and ``tools/installing/__main__.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import NoReturn

OLDEST = (3, 11)
UNFIT = 70
"""The exit code: for those who ask whether the agent is well, 1 is an answer."""
PACKAGES = ("click", "pykka")
"""Packages by which an environment of the agent is known."""
BY_ENVIRONMENT = "run it by .venv/bin/python, which `make .venv/agent` sets up"


def too_old(version: tuple[int, int], path: str) -> str:
    """Return what to say of the Python of ``version`` at ``path``; empty if the agent runs by it."""
    if version >= OLDEST:
        return ""
    oldest, found = (".".join(map(str, each)) for each in (OLDEST, version))
    return f"Python {oldest} or newer is needed, and {path} is {found}"


def unfit(version: tuple[int, int], path: str, has: Callable[[str], object] = find_spec) -> str:
    """Return why the agent and its command do not run by this Python; empty if they do.

    ``has`` tells whether there is a package of some name.
    """
    said = too_old(version, path)
    if not said:
        missing = [each for each in PACKAGES if not has(each)]
        said = f"no module {missing[0]} in {path}" if missing else ""
    return f"{said}: {BY_ENVIRONMENT}" if said else ""


def refuse(why: str) -> NoReturn:
    """End the process with one sentence that says ``why``."""
    sys.stderr.write(f"actorlet: {why}\n")
    sys.exit(UNFIT)
