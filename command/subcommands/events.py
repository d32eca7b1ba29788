"""``actorlet events -f``: what happens to pods, objects and actors, as it happens."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import click

from command.agent_api import AgentApi
from command.event_lines import Happening, happenings, sentence
from command.failures import UnreachableError
from command.options import output_option, server_option
from command.showing import JSON


@click.command("events", short_help="What happens, as it happens")
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C, or until the agent ends.")
@click.option("--only", multiple=True, metavar="KIND", help="Only events of this kind; may repeat.")
@server_option
@output_option(only=(JSON,))
def command(api: AgentApi, follow: bool, only: tuple[str, ...], output: str) -> None:  # noqa: FBT001
    """Show what happens to pods and their objects, one event in a line.

    With -o json each line is a JSON object, with the kind of the event as `event`.
    """
    if not follow:
        raise click.UsageError(
            "events needs -f: the agent keeps none, and tells them as they happen"
        )
    tell = _as_json if output == JSON else _as_text()
    with api.lines("/events?replay=false") as lines:
        for event in happenings(lines):
            if event.comment.startswith("dropped"):
                raise UnreachableError(f"the agent at {api.name} says: {event.comment}")
            if event.name and (not only or event.name in only):
                tell(event)
    raise UnreachableError(f"the agent at {api.name} has ended the stream: it stops, or restarts")


def _as_json(event: Happening) -> None:
    sys.stdout.write(json.dumps({"event": event.name, **event.data}) + "\n")
    sys.stdout.flush()


def _as_text() -> Callable[[Happening], None]:
    from command.drawing import drawing  # noqa: PLC0415 - rich takes 60 ms

    drawn = drawing()

    def tell(event: Happening) -> None:
        at = time.strftime("%H:%M:%S")
        drawn.item(sentence(event), mark=f"{at}  {event.name:8}")
        sys.stdout.flush()

    return tell
