"""``actorlet pods``: the pods of this node, one in a line."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from command.agent_api import AgentApi
from command.answers import rows_of
from command.options import output_option, server_option
from command.pod_words import is_well, pod_name, readiness, restarts, since, source_of, state
from command.reading import Document, text
from command.selecting import in_namespace
from command.showing import ShownAnswer, show
from command.tables import FAINT, Column, Sheet
from command.wording import age, counted

if TYPE_CHECKING:
    from command.drawing import Drawing

STALE = "Actorlet-Statuses"
"""A header that says that the statuses are not those of this moment."""
COLUMNS = (
    Column(title="POD", is_folded=True),
    Column(title="READY"),
    Column(title="STATUS", is_toned=True),
    Column(title="RESTARTS"),
    Column(title="AGE"),
    Column(title="FROM", is_wide=True),
    Column(title="IP", is_wide=True),
    Column(title="QOS", is_wide=True),
    Column(title="UID", is_wide=True),
)


@click.command("pods", short_help="The pods of this node")
@click.option("-n", "--namespace", default="", help="Only pods of this namespace.")
@click.option("--troubled", is_flag=True, help="Only pods that are not ready and did not succeed.")
@server_option
@output_option()
def command(api: AgentApi, namespace: str, troubled: bool, output: str) -> None:  # noqa: FBT001
    """Show the pods of this node, one in a line. `actorlet pod NAME` says why one is not ready."""
    document, headers = api.answered("/pods")
    pods = in_namespace(rows_of(document, "items", "/pods"), namespace)
    shown = [each for each in pods if not (troubled and is_well(each))]

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        if shown:
            drawing.sheet(sheet(shown, time.time()), wide=wide)
        else:
            drawing.line(_nothing(pods, namespace))
        if headers.get(STALE):
            drawing.line(f"Statuses are {headers[STALE]}.", style=FAINT)

    answer = {**document, "items": shown}
    show(ShownAnswer(document=answer, names=lambda: map(pod_name, shown), draw=draw), output)


def _nothing(pods: list[Document], namespace: str) -> str:
    where = f" in the namespace {namespace}" if namespace else ""
    if pods:
        return f"{counted(len(pods), 'pod')}{where}, and nothing is wrong with any."
    return f"There are no pods{where}. `actorlet sources` says what became of each manifest."


def sheet(pods: Iterable[Document], now: float) -> Sheet:
    """Return the table of pods, by their names."""
    rows = [
        (
            pod_name(each),
            readiness(each),
            state(each),
            restarts(each, now),
            age(since(each), now),
            source_of(each),
            text(each, "status", "podIP"),
            text(each, "status", "qosClass"),
            text(each, "metadata", "uid"),
        )
        for each in pods
    ]
    return Sheet(columns=COLUMNS, rows=sorted(rows))
