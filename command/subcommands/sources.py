"""``actorlet sources``: where pods come from, and what became of each manifest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from command.options import output_option, server_option
from command.reading import Document, count, flag, part, parts, rows_of, text, texts
from command.tables import BAD, DOUBTFUL, FAINT, Column, Sheet
from command.wording import ago, counted_words
from command.written import ShownAnswer, show

if TYPE_CHECKING:
    from command.agent_api import AgentApi
    from command.drawing import Drawing

SOURCES = (
    Column(title="SOURCE"),
    Column(title="READY", is_toned=True),
    Column(title="LISTED"),
    Column(title="MANIFESTS", is_folded=True),
    Column(title="ERROR", is_folded=True),
)
MANIFESTS = (
    Column(title="MANIFEST", is_folded=True, is_name=True),
    Column(title="VERDICT", is_toned=True),
    Column(title="OF", is_folded=True),
    Column(title="UID", is_wide=True),
)
FINE = frozenset({"accepted", "ignored"})
"""Verdicts that need no action."""


@click.command("sources", short_help="Where pods come from, and each manifest's verdict")
@click.option(
    "--troubled", is_flag=True, help="Only manifests that are not accepted, or warned of."
)
@server_option
@output_option()
def command(api: AgentApi, troubled: bool, output: str) -> None:  # noqa: FBT001
    """Show where pods come from, and the verdict on each manifest, with the line that is wrong."""
    document = api.document("/sourcez?troubled=true" if troubled else "/sourcez")
    sources = rows_of(document, "sources", "/sourcez")
    shown = [_troubled(each) for each in sources] if troubled else sources

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        drawing.sheet(sheet(sources, time.time()), wide=wide)
        for each in shown:
            draw_manifests(drawing, verdicts(each), wide=wide)

    show(
        ShownAnswer(
            document={**document, "sources": shown},
            names=lambda: (text(each, "name") for each in sources),
            draw=draw,
        ),
        output,
    )


def _troubled(source: Document) -> Document:
    found = [each for each in verdicts(source) if is_troubled(each)]
    return {**source, "manifests": found}


def verdicts(source: Document) -> list[Document]:
    """Return the verdicts on the manifests of a source."""
    return parts(source, "manifests")


def verdict_counts(source: Document) -> Mapping[str, int]:
    """Return how many manifests of a source there are of each verdict.

    An agent that is asked for some of them tells how many there are. One of another version tells them all.
    """
    if told := part(source, "verdicts"):
        return {word: count(told, word) for word in told}
    return Counter(text(each, "verdict") for each in verdicts(source))


def is_troubled(verdict: Document) -> bool:
    """Return whether somebody has to look at a manifest."""
    return text(verdict, "verdict") not in FINE or bool(verdict.get("warnings"))


def sheet(sources: list[Document], now: float) -> Sheet:
    """Return the table of sources."""
    rows = [
        (
            text(each, "name"),
            "yes" if flag(each, "ready") else "no",
            ago(text(each, "lastListed"), now) or "never",
            counted_words(verdict_counts(each)) or "none",
            text(each, "error"),
        )
        for each in sources
    ]
    return Sheet(columns=SOURCES, rows=rows)


def manifest_sheet(found: list[Document], folder: str = "") -> Sheet:
    """Return the table of manifests, by their paths below ``folder``."""
    rows = [
        (
            text(each, "path").removeprefix(folder and f"{folder}/"),
            text(each, "verdict"),
            text(each, "pod") or text(each, "object"),
            text(each, "uid"),
        )
        for each in found
    ]
    return Sheet(columns=MANIFESTS, rows=rows)


def draw_manifests(drawing: Drawing, found: list[Document], *, wide: bool) -> None:
    """Draw the table of manifests, and below it what is wrong with some of them."""
    folder = _folder(found)
    if found:
        drawing.title(f"In {folder}" if folder else "Manifests")
        drawing.sheet(manifest_sheet(found, folder), wide=wide)
    troubles = [each for one in found for each in troubles_of(one)]
    if troubles:
        drawing.title("Why")
    for style, said in troubles:
        drawing.item(said, style=style)


def _folder(found: list[Document]) -> str:
    """Return the directory that all of them are in; empty if there is none."""
    folders = {str(PurePath(text(each, "path")).parent) for each in found}
    return folders.pop() if len(folders) == 1 and "://" not in text(found[0], "path") else ""


def troubles_of(verdict: Document) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a manifest, and the colour of it."""
    path, word, reason = (text(verdict, name) for name in ("path", "verdict", "reason"))
    if reason or word not in FINE:
        style = BAD if word == "rejected" else FAINT if word in FINE else DOUBTFUL
        yield style, f"{path}: {word}{reason and f': {reason}'}"
    for warning in texts(verdict, "warnings"):
        yield DOUBTFUL, f"{path}: warning: {warning}"
