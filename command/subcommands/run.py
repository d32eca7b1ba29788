"""``actorlet run``: the agent itself, in this process and by its own rules."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

PROGRAM: Final = Path(__file__).parents[2] / "run.py"


@click.command(
    "run",
    short_help="The agent itself; `actorlet run --help` has its flags",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run the agent; `actorlet run --help` has its flags.

    The process becomes the agent: its signals, exit codes and memory are those of run.py.
    """
    os.environ["ACTORLET_PROGRAM"] = "actorlet run"  # what its help calls it
    os.execv(sys.executable, [sys.executable, str(PROGRAM), *arguments])  # noqa: S606 - no shell
