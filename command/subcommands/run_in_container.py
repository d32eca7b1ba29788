"""``actorlet exec POD -- COMMAND``: runs a command in a container."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import click

from command.agent_api import AgentApi
from command.completing import pod_names
from command.failures import StrangeAnswerError
from command.options import control_options, control_place, foreign_option, namespace_option
from command.reading import number, text
from command.server_names import PATIENCE
from command.subcommands.logs import pod_of
from command.wording import plain

NO_TERMINAL = "exec has no terminal and no input: leave -i and -t out"
SPARE = 10.0
"""Seconds that an answer may take beside its command."""


@click.command("exec", short_help="Run a command in a container")
@click.argument("pod", shell_complete=pod_names)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@namespace_option("The pod is in this namespace.")
@click.option(
    "-c", "--container", default="", help="The container; not needed if there is only one."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, max=600, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds after which it is killed.",
)
@foreign_option("-i", "--stdin", says=NO_TERMINAL)
@foreign_option("-t", "--tty", says=NO_TERMINAL)
@control_options
@click.pass_context
def command(
    context: click.Context,
    /,
    pod: str,
    words: tuple[str, ...],
    timeout: float,
    api: AgentApi,
    root_dir: Path | None,
    **where: str,
) -> None:
    """Run a command in a container, and show what it wrote once it has ended. Its exit code is this one's.

    It is 127 if the container has no such program, and 126 if that cannot be executed, as with a shell.
    Only root and the agent's own user may. There is no terminal, and no input.
    """
    place = control_place(root_dir, api)
    uid = text(pod_of(AgentApi(place, PATIENCE), pod, where["namespace"]), "metadata", "uid")
    query = urlencode({"container": where["container"]} if where["container"] else {})
    answer = AgentApi(place, timeout + SPARE).act(
        f"/control/pods/{quote(uid, safe='')}/exec?{query}",
        {"command": list(words), "timeoutSeconds": timeout},
    )
    code = number(answer, "exitCode")
    if code is None:
        raise StrangeAnswerError("the agent does not say how the command ended: another version?")
    sys.stdout.buffer.write(text(answer, "output").encode(errors="replace"))
    if note := text(answer, "note"):
        click.echo(plain(note), err=True)
    context.exit(int(code) & 0xFF)
