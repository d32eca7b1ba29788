"""``actorlet events``: how everything is, and what happens then."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection
from urllib.parse import urlencode

import click

from command.agent_api import AgentApi
from command.event_lines import Happening, begins, happenings, is_complete, sentence
from command.failures import UnreachableError
from command.options import output_option, server_option
from command.reading import text
from command.showing import JSON

EVENTS = "text/event-stream"
"""What an agent calls its events; a server of something else says another type."""


@click.command("events", short_help="How everything is, and what happens then")
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C, or until the agent ends.")
@click.option(
    "--new", is_flag=True, help="Leave out how everything is: only what happens from now on."
)
@click.option(
    "--since", metavar="ID", default="", help="Only what came after the event with this id."
)
@click.option("--only", multiple=True, metavar="KIND", help="Only events of this kind; may repeat.")
@server_option
@output_option(only=(JSON,))
def command(
    api: AgentApi,
    *,
    follow: bool,
    new: bool,
    since: str,
    only: tuple[str, ...],
    output: str,
) -> None:
    """Show how everything is, one event in a line, and with -f what happens from then on, without a gap.

    With -o json each line is a JSON object, with `event`, the kind, and `id`, from which --since goes on.
    """
    if not follow and (new or since):
        raise click.UsageError("--new and --since need -f: they are about what happens")
    tell = _as_json(only) if output == JSON else _as_text(only)
    path = f"/events{_query(since, new=new)}"
    with api.pieces(path, is_endless=follow, media_type=EVENTS) as pieces:
        for events in happenings(pieces):
            for event in events:
                if event.comment.startswith("dropped"):
                    raise UnreachableError(f"the agent at {api.name} says: {event.comment}")
                if event.name:
                    tell(event)
                if not follow and is_complete(event):
                    return
            sys.stdout.flush()
    raise UnreachableError(f"the agent at {api.name} has ended the stream: it stops, or restarts")


def _query(since: str, *, new: bool) -> str:
    wanted = {**({"since": since} if since else {}), **({"replay": "false"} if new else {})}
    return f"?{urlencode(wanted)}" if wanted else ""


def _as_json(only: Collection[str]) -> Callable[[Happening], None]:
    def tell(event: Happening) -> None:
        if not only or event.name in only:
            told = {"event": event.name, "id": event.id, **event.data}
            sys.stdout.write(json.dumps(told) + "\n")

    return tell


def _as_text(only: Collection[str]) -> Callable[[Happening], None]:
    from command.drawing import drawing  # noqa: PLC0415 - only tables need it

    drawn = drawing()
    is_present = False

    def tell(event: Happening) -> None:
        """Tell what happens with its time, and how everything is without: it is so since some time before."""
        nonlocal is_present
        at = time.strftime("%H:%M:%S")
        is_present = begins(event) or (is_present and not is_complete(event))
        if begins(event):
            why = text(event.data, "why")
            drawn.line(f"How everything is at {at}{why and f', since {why}'}:")
        elif not only or event.name in only:
            drawn.item(sentence(event), mark=f"{'' if is_present else at:8}  {event.name:8}")

    return tell
