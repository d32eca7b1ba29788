"""``actorlet top``: what goes on, live in the terminal."""

from __future__ import annotations

import os
import shutil
import sys

import click

from command.agent_api import AgentApi
from command.failures import WrongUsageError
from command.options import colour_option, server_option


@click.command("top", short_help="Pods, actors, objects, sources and events, live")
@click.option("--wait", is_flag=True, help="Begin also without an agent, and wait for one.")
@colour_option
@server_option
@click.pass_context
def command(context: click.Context, api: AgentApi, wait: bool) -> None:  # noqa: FBT001
    """Show pods, actors, objects, sources and events live in the terminal. The key ? says what keys do.

    What it shows is asked for anew as the agent's events tell changes. It says so when they are lost,
    and since when, and goes on by itself once they come again.
    """
    _need_a_terminal()
    from command.top.threads import TopThreads  # noqa: PLC0415

    size = shutil.get_terminal_size()
    threads = TopThreads(api, size.columns, size.lines)
    threads.start()
    try:
        from command.top.app import run_top  # noqa: PLC0415 - textual takes 150 ms; the agent answers meanwhile

        refusal = None if wait else threads.inbox.refusal()
        if refusal is not None:
            raise refusal
        context.exit(run_top(threads))
    finally:
        threads.close()


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
