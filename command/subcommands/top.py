"""``actorlet top``: what goes on, live in the terminal."""

from __future__ import annotations

import os
import shutil
import sys

import click

from command.agent_api import AgentApi
from command.failures import WrongUsageError
from command.options import server_option


@click.command("top", short_help="Pods, actors, objects and sources, live")
@click.option("--wait", is_flag=True, help="Begin also without an agent, and wait for one.")
@server_option
@click.pass_context
def command(context: click.Context, api: AgentApi, wait: bool) -> None:  # noqa: FBT001
    """Show pods, actors, objects and sources live in the terminal. The key ? says which keys there are.

    What it shows is asked for anew as the agent's events tell changes. It says so when they are lost,
    and since when, and goes on by itself once they come again.
    """
    _need_a_terminal()
    from command.top.asking import document_at, required  # noqa: PLC0415

    if not wait:
        required(lambda path: document_at(api, path), "/ui/agent")
    from command.top.app import TopThreads, run_top  # noqa: PLC0415 - textual takes 200 ms

    size = shutil.get_terminal_size()
    watch = TopThreads(api, size.columns, size.lines)
    watch.start()
    try:
        code = run_top(watch)
    finally:
        watch.close()
    context.exit(code)


def _need_a_terminal() -> None:
    """Raise ``WrongUsageError`` where no screen can be shown."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise WrongUsageError(
            "top is for people at a terminal: in pipes use actorlet status, pods, actors, objects, sources"
        )
    if os.environ.get("TERM", "dumb") in {"", "dumb"}:
        raise WrongUsageError(
            "this terminal (TERM=dumb) can show lines only: actorlet status and pods say how things are"
        )
