"""``actorlet pods``: the pods of this node, one in a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain

import click

from command.agent_api import AgentApi, ListedAnswer
from command.lists import in_pages
from command.options import foreign_option, namespace_option, output_option, server_option
from command.pod_words import is_well, pod_name, readiness, restarts, since, source_of, state
from command.reading import Document, count, text
from command.selecting import in_namespace, pods_path
from command.tables import FAINT, Column
from command.wording import age, counted
from command.written import JSON, NAME, TABLE, WIDE, YAML, list_as_json, list_as_yaml, show_names

FOLLOWING = (
    "pods shows how they are now: actorlet top is live, and actorlet events -f tells what happens"
)
STALE = "Actorlet-Statuses"
"""A header that says that the statuses are not those of this moment."""
TOTAL = ("summary", "pods")
"""Where an agent says how many pods there are."""
COLUMNS = (
    Column(title="POD", is_folded=True, is_name=True),
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
@namespace_option("Only pods of this namespace.")
@foreign_option("-w", "--watch", says=FOLLOWING)
@click.option(
    "--troubled",
    is_flag=True,
    help="Only pods in trouble: not ready and not succeeded, or with a failure less than ten minutes ago.",
)
@server_option
@output_option()
def command(api: AgentApi, namespace: str, troubled: bool, output: str) -> None:  # noqa: FBT001
    """Show the pods of this node, one in a line. `actorlet pod NAME` says why one is not ready."""
    is_brief = output not in {JSON, YAML}
    path = pods_path(is_brief=is_brief, namespace=namespace, only_troubled=troubled)
    with api.listed(path, "items") as listed:
        asked = PodsShown(listed, namespace, only_troubled=troubled)
        if output == NAME:
            for page in asked.in_order():
                show_names(map(pod_name, page))
                sys.stdout.flush()
        elif output in {TABLE, WIDE}:
            _draw(asked, wide=output == WIDE)
        else:
            write = list_as_json if output == JSON else list_as_yaml
            rows = chain.from_iterable(asked.pages())
            sys.stdout.writelines(write(listed.head, "items", rows, listed.rest))


class PodsShown:
    """The pods that somebody wants to see, of those that arrive."""

    def __init__(self, listed: ListedAnswer, namespace: str, *, only_troubled: bool) -> None:
        self._listed = listed
        self._only_troubled = only_troubled
        self.namespace = namespace
        self.in_namespace = 0
        """How many pods there are in the namespace, once all pages are read."""

    @property
    def staleness(self) -> str:
        """Since when the statuses are those of another moment; empty if they are those of this one."""
        return self._listed.headers.get(STALE, "")

    def pages(self) -> Iterator[list[Document]]:
        """Yield the pods in the order of the agent."""
        for page in self._listed.pages:
            pods = in_namespace(page, self.namespace)
            self.in_namespace += len(pods)
            yield [each for each in pods if not (self._only_troubled and is_well(each))]
        # An agent that leaves out those that are well says how many there are.
        self.in_namespace = count(self._listed.head, *TOTAL) or self.in_namespace

    def in_order(self) -> Iterator[list[Document]]:
        """Yield them in the order of their names, in which agents of other versions do not have them."""
        if "summary" in self._listed.head:
            return self.pages()
        return in_pages(sorted(chain.from_iterable(self.pages()), key=pod_name))


def _draw(asked: PodsShown, *, wide: bool) -> None:
    from command.drawing import drawing  # noqa: PLC0415 - only tables need it

    drawn, now = drawing(), time.time()
    pages = (rows(page, now) for page in asked.in_order() if page)
    first = next(pages, None)
    if first is None:
        drawn.line(_nothing(asked))
    else:
        drawn.pages(COLUMNS, chain([first], pages), wide=wide)
    if asked.staleness:
        drawn.line(f"Statuses are {asked.staleness}.", style=FAINT)


def _nothing(asked: PodsShown) -> str:
    where = f" in the namespace {asked.namespace}" if asked.namespace else ""
    if asked.in_namespace:
        return f"{counted(asked.in_namespace, 'pod')}{where}, and nothing is wrong with any."
    return f"There are no pods{where}. `actorlet sources` says what became of each manifest."


def rows(pods: Iterable[Document], now: float) -> list[tuple[str, ...]]:
    """Return the rows of pods in the table."""
    return [
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
