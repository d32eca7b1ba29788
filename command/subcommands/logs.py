"""``actorlet logs POD``: what a container has written, by the socket that only few may use."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

import click

from command.agent_api import AgentApi
from command.completing import pod_names
from command.failures import NothingFoundError
from command.options import beginning, control_options, control_place, namespace_option
from command.reading import Document, rows_of, text
from command.selecting import in_namespace, pods_path, selected_pod
from command.server_names import PATIENCE
from command.wording import plain


@click.command("logs", short_help="What a container has written")
@click.argument("pod", shell_complete=pod_names)
@namespace_option("The pod is in this namespace.")
@click.option(
    "-c", "--container", default="", help="The container; not needed if there is only one."
)
@click.option("-f", "--follow", is_flag=True, help="Go on until the container ends, or Ctrl-C.")
@click.option("--since", default="", help="Only lines of the last 10s, 5m, 1h30m, or since a time.")
@click.option("--tail", type=click.IntRange(min=0), help="So many of the last lines.")
@click.option(
    "-p",
    "--previous",
    is_flag=True,
    help="The instance before the one that runs, also of a static pod that was replaced.",
)
@click.option("--timestamps", is_flag=True, help="Begin each line with its time.")
@control_options
def command(
    pod: str, namespace: str, since: str, api: AgentApi, root_dir: Path | None, **wanted: object
) -> None:
    """Show the log of a container. Only root and the agent's own user may.

    POD may be written as for `actorlet pod`.
    """
    begins = f"{beginning(since, time.time()):.3f}" if since else ""
    asked = {name: _said(each) for name, each in {"since": begins, **wanted}.items()}
    api = AgentApi(control_place(root_dir, api), PATIENCE)
    uid = text(pod_of(api, pod, namespace), "metadata", "uid")
    query = urlencode({name: each for name, each in asked.items() if each})
    path = f"/control/pods/{quote(uid, safe='')}/log?{query}"
    with api.pieces(path, is_endless=True, heard=_note) as pieces:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            if wanted["follow"]:
                sys.stdout.buffer.flush()


def _note(headers: Mapping[str, str]) -> None:
    """Say what people should know of the log."""
    if note := headers.get("Actorlet-Note"):
        click.echo(f"actorlet: {plain(note)}", err=True)


def _said(wanted: object) -> str:
    """Return how an option is asked for; empty if it was not given."""
    if isinstance(wanted, bool):
        return "true" if wanted else ""
    return "" if wanted is None else str(wanted)


def pod_of(api: AgentApi, name: str, namespace: str) -> Document:
    """Return the pod that is meant. Raises ``NoAnswerError``."""
    path = pods_path(namespace=namespace, name=name)
    pods = in_namespace(rows_of(api.document(path), "items", "/pods"), namespace)
    found = selected_pod(pods, name)
    if found is None:
        raise NothingFoundError(f"there is no pod {name}: actorlet pods lists them")
    return found
