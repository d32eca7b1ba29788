"""``actorlet objects``: the Secrets and ConfigMaps that the agent keeps. No value is ever shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from command.agent_api import AgentApi
from command.options import all_namespaces_option, output_option, server_option
from command.reading import Document, count, number, rows_of, text
from command.tables import Column, Sheet
from command.wording import current_as_of
from command.written import ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing

COLUMNS = (
    Column(title="OBJECT", is_folded=True, is_name=True),
    Column(title="STATE", is_toned=True),
    Column(title="PODS", is_right=True),
    Column(title="CURRENT"),
    Column(title="FROM", is_wide=True),
    Column(title="VERSION", is_wide=True),
    Column(title="RECONNECTS", is_wide=True, is_right=True),
    Column(title="LAST ERROR", is_folded=True),
)


@click.command("objects", short_help="The Secrets and ConfigMaps that pods need")
@all_namespaces_option
@server_option
@output_option()
def command(api: AgentApi, output: str) -> None:
    """Show the Secrets and ConfigMaps that pods need: state, age and last error, never a value."""
    document = api.document("/watchz")
    objects = rows_of(document, "objects", "/watchz")

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        if objects:
            drawing.sheet(sheet(objects), wide=wide)
        else:
            drawing.line("No pod needs a Secret or a ConfigMap.")

    show(ShownAnswer(document=document, names=lambda: map(object_name, objects), draw=draw), output)


def object_name(row: Document) -> str:
    """Return the name by which people call an object: ``secret/NAMESPACE/NAME``."""
    return f"{text(row, 'kind').lower()}/{text(row, 'namespace')}/{text(row, 'name')}"


def sheet(objects: list[Document]) -> Sheet:
    """Return the table of objects."""
    rows = [
        (
            object_name(each),
            text(each, "state"),
            f"{count(each, 'references'):,}",
            current_as_of(number(each, "ageSeconds")),
            text(each, "origin"),
            text(each, "resourceVersion"),
            f"{count(each, 'reconnects'):,}",
            text(each, "lastError"),
        )
        for each in objects
    ]
    return Sheet(columns=COLUMNS, rows=rows)
