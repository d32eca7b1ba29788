"""Options that several subcommands have, with one name and one meaning each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from command.server_names import DEFAULT_SERVER, PATIENCE, ROOT_DIR, server_name
from command.showing import JSON, NAME, TABLE, WIDE, YAML

if TYPE_CHECKING:
    from command.agent_api import AgentApi

F = TypeVar("F", bound=Callable[..., Any])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _api(_context: click.Context, _parameter: click.Parameter, said: str) -> AgentApi:
    from command.agent_api import AgentApi  # noqa: PLC0415 - it takes 30 ms, and not all ask

    return AgentApi(server_name(said), PATIENCE)


def server_option(function: F) -> F:
    """Give a subcommand the agent that it asks, as ``api``."""
    return click.option(
        "--server",
        "api",
        metavar="HOST:PORT",
        default=DEFAULT_SERVER,
        show_default=True,
        callback=_api,
        help="Where the agent answers: its read-only port. $ACTORLET_SERVER sets it too.",
    )(function)


def root_dir_option(function: F) -> F:
    """Give a subcommand the root directory of the agent whose socket it uses, as ``root_dir``."""
    return click.option(
        "--root-dir",
        type=click.Path(path_type=Path, readable=False),  # whether it may be used is asked later
        default=ROOT_DIR,
        envvar="ACTORLET_ROOT_DIR",
        show_default=True,
        help="The agent's own --root-dir, where its socket is. $ACTORLET_ROOT_DIR sets it too.",
    )(function)


def output_option(*, only: tuple[str, ...] = (WIDE, JSON, YAML, NAME)) -> Callable[[F], F]:
    """Return what gives a subcommand the form of its answer, as ``output``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([TABLE, *only]),
        default=TABLE,
        help="The form of the answer: a table for people, or one for scripts.",
    )
