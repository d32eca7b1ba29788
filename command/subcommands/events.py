"""``actorlet events``: how everything is, and what happens then; or what has happened before."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection
from urllib.parse import urlencode

import click

from command.agent_api import AgentApi
from command.event_lines import Happening, begins, happenings, is_complete, reach, sentence
from command.failures import UnreachableError
from command.options import all_namespaces_option, output_option, server_option
from command.reading import Document, rows_of, text
from command.wording import local_time
from command.written import JSON

NEW, PAST = "new", "past"
PAST_EVENTS = "/ui/events"
PAGE = 500
"""Rows that an agent tells at once."""
EVENTS = "text/event-stream"
"""What an agent calls its events; a server of something else says another type."""


@click.command("events", short_help="How everything is, and what happens then")
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C, or until the agent ends.")
@click.option(
    "--new",
    "told",
    flag_value=NEW,
    help="Leave out how everything is: only what happens from now on.",
)
@click.option(
    "--past",
    "told",
    flag_value=PAST,
    help="What has happened since the agent started, the newest last.",
)
@click.option(
    "--since", metavar="ID", default="", help="Only what came after the event with this id."
)
@click.option("--only", multiple=True, metavar="KIND", help="Only events of this kind; may repeat.")
@all_namespaces_option
@server_option
@output_option(only=(JSON,))
def command(
    api: AgentApi,
    *,
    follow: bool,
    told: str | None,
    since: str,
    only: tuple[str, ...],
    output: str,
) -> None:
    """Show how everything is, one event in a line, and with -f what happens from then on, without a gap.

    With --past, show what the agent remembers: events of pods and of the node, and changes of Secrets and
    ConfigMaps, each with the time when it was last. What came again and again is one line.

    With -o json each line is a JSON object, with `event`, the kind, and `id`, from which --since goes on.
    """
    if told == PAST and (follow or since):
        raise click.UsageError("--past is about what has happened: -f and --since are not")
    if not follow and (told == NEW or since):
        raise click.UsageError("--new and --since need -f: they are about what happens")
    if told == PAST:
        _tell_past(api, only, is_json=output == JSON)
        return
    tell = _as_json(only) if output == JSON else _as_text(only)
    _tell(api, f"/events{_query(since, new=told == NEW)}", tell, follows=follow)


def _tell(api: AgentApi, path: str, tell: Callable[[Happening], None], *, follows: bool) -> None:
    """Tell events as they come. Raises ``UnreachableError`` when the agent ends them."""
    with api.pieces(path, is_endless=follows, media_type=EVENTS) as pieces:
        for events in happenings(pieces):
            for event in events:
                if event.comment.startswith("dropped"):
                    raise UnreachableError(f"the agent at {api.name} says: {event.comment}")
                if event.name:
                    tell(event)
                if not follows and is_complete(event):
                    return
            sys.stdout.flush()
    raise UnreachableError(f"the agent at {api.name} has ended the stream: it stops, or restarts")


def _query(since: str, *, new: bool) -> str:
    wanted = {**({"since": since} if since else {}), **({"replay": "false"} if new else {})}
    return f"?{urlencode(wanted)}" if wanted else ""


def _tell_past(api: AgentApi, only: Collection[str], *, is_json: bool) -> None:
    """Tell what has happened. How far back that reaches is the first line, and for scripts a ``state``."""
    head, rows = _past(api)
    chosen = [each for each in reversed(rows) if not only or text(each, "event") in only]
    if is_json:
        told = {"event": "state", "state": "past", **head}
        lines = [told, *chosen] if not only or "state" in only else chosen
        sys.stdout.writelines(f"{json.dumps(each)}\n" for each in lines)
        return
    from command.drawing import drawing  # noqa: PLC0415 - only tables need it

    drawn = drawing()
    drawn.line(f"{reach(head)}{':' if chosen else '.'}")
    for each in chosen:
        kind = text(each, "event")
        said = sentence(Happening(name=kind, data=each))
        drawn.item(said, mark=f"{local_time(text(each, 'last')):19}  {kind:8}")


def _past(api: AgentApi) -> tuple[Document, list[Document]]:
    """Return how far back the agent remembers, and what, the newest first. Raises ``NoAnswerError``."""
    page = api.document(f"{PAST_EVENTS}?limit={PAGE}")
    head = {name: page.get(name) for name in ("since", "total", "forgotten")}
    rows = [*rows_of(page, "events", PAST_EVENTS)]
    while after := text(page, "next"):
        page = api.document(f"{PAST_EVENTS}?{urlencode({'limit': PAGE, 'after': after})}")
        rows += rows_of(page, "events", PAST_EVENTS)
    # By its key a row is found in pages. It says nothing of what happened.
    return head, [{name: said for name, said in row.items() if name != "key"} for row in rows]


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
