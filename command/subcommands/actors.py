"""``actorlet actors``: the supervision tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from command.agent_api import AgentApi
from command.options import output_option, server_option
from command.reading import Document, count, rows_of, text
from command.tables import Column, Sheet
from command.written import ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing

COLUMNS = (
    Column(title="ACTOR", is_folded=True, is_name=True),
    Column(title="STATE", is_toned=True),
    Column(title="RESTARTS", is_right=True),
    Column(title="MAILBOX", is_right=True),
    Column(title="HANDLED", is_right=True),
    Column(title="TYPE", is_wide=True),
    Column(title="WHEN IT FAILS TOO OFTEN", is_wide=True),
    Column(title="LAST ERROR", is_folded=True),
)


@click.command("actors", short_help="The tree of actors")
@click.option("--all", "each_one", is_flag=True, help="Each actor of a pod or a probe by itself.")
@server_option
@output_option()
def command(api: AgentApi, each_one: bool, output: str) -> None:  # noqa: FBT001
    """Show the tree of actors: state, restarts, mailboxes and last errors."""
    document = api.document("/actorz")
    actors = rows_of(document, "actors", "/actorz")

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        drawing.sheet(sheet(actors if each_one else grouped(actors)), wide=wide)

    names = lambda: [text(each, "name") for each in actors]  # noqa: E731
    show(ShownAnswer(document=document, names=names, draw=draw), output)


def sheet(actors: list[Document]) -> Sheet:
    """Return the table of actors: each below its parent, and indented."""
    depths: dict[str, int] = {}
    rows = []
    for each in actors:
        depth = depths.get(text(each, "parent"), -1) + 1
        depths[text(each, "name")] = depth
        rows.append(_row(each, depth))
    return Sheet(columns=COLUMNS, rows=rows)


def _row(actor: Document, depth: int) -> tuple[str, ...]:
    return (
        "  " * depth + text(actor, "name"),
        text(actor, "state"),
        f"{count(actor, 'restarts'):,}",
        f"{count(actor, 'mailbox'):,}",
        f"{count(actor, 'handled'):,}",
        text(actor, "type"),
        text(actor, "onExhausted"),
        text(actor, "lastError"),
    )


def grouped(actors: list[Document]) -> list[Document]:
    """Return the actors, with one row for all those of a pod or a probe that are well."""
    groups: dict[str, list[Document]] = {}
    hidden: set[int] = set()
    for each in actors:
        if _is_one_of_many(each) and each.get("state") == "running" and not each.get("lastError"):
            groups.setdefault(each["parent"], []).append(each)
            hidden.add(id(each))
    found: list[Document] = []
    for each in actors:
        if id(each) not in hidden:
            found.append(each)
        name = each.get("name")
        if isinstance(name, str) and name in groups:
            found.append(_together(name, groups[name]))
    return found


def _is_one_of_many(actor: Document) -> bool:
    # There may be tens of thousands: they are read without a function for each field.
    parent, name = actor.get("parent"), actor.get("name")
    return bool(parent) and str(name).startswith(f"{parent}/")


def _together(parent: str, group: list[Document]) -> Document:
    sums = {
        name: sum(found for each in group if isinstance(found := each.get(name), int))
        for name in ("restarts", "mailbox", "handled")
    }
    return {"name": f"{parent}/*", "parent": parent, "state": f"{len(group):,} running", **sums}
