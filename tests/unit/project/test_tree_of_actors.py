"""The tree of actors in the document is that of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agent.composition import found
from agent.table import ESCALATE, ActorRow
from agent.tree import ACTORS, JOINED
from kernel import PooledActor
from tests.support.agent.table import Line, lines, rows
from tests.support.project.checkout import ROOT

WORDS: Final = {when.words for row in rows(ACTORS) for when in row.when}
Drawn = tuple[int, str, str, frozenset[str]]
"""The depth, the name, what it is, and on which conditions."""


def drawn() -> Iterator[Drawn]:
    """Yield the lines of the tree in the document. A condition on a line of its own is of those below it."""
    page = (ROOT / "docs/architecture.md").read_text()
    (block,) = re.findall(
        r"^## The tree of actors\n\n```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    of_part: set[str] = set()
    for line in block.splitlines():
        if alone := re.fullmatch(r"[ │]+(with .*):", line):
            of_part = {alone[1]}
            continue
        matched = re.fullmatch(r" ((?:[│ ]   )*)(├── |└── )?(\S+)( \*)? +(.*)", line)
        assert matched, line
        branches, leaf, name, star, words = matched.groups()
        depth = len(branches) // 4 + bool(leaf)
        of_part = of_part if depth > 1 else set()
        if name != "...":  # those are made while the agent runs
            what, *remarks = re.split(r"; ", words)
            known = WORDS.intersection(remarks)
            joined = {JOINED.words} if star else set()
            yield depth, name, what, frozenset(known | joined | of_part)


def expected(line: Line) -> str:
    """Return how the document begins to say what something is. More may follow."""
    if line.kind is None:
        return "dynamic supervisor" if line.is_dynamic else "supervisor"
    is_pooled = issubclass(line.kind, PooledActor)
    return f"{line.kind.__name__}, {'pooled' if is_pooled else 'a thread of its own'}"


def test_the_document_draws_the_table() -> None:
    table = list(lines(ACTORS))
    shown = list(drawn())
    assert [each[:2] for each in shown] == [(each.depth, each.name) for each in table]
    assert [each[3] for each in shown] == [each.whens for each in table]
    for (_, _, said, _), line in zip(shown, table, strict=True):
        assert said.startswith(expected(line))


def test_all_but_pod_manager_and_the_server_are_isolated() -> None:
    escalating = [
        found(row.key).path
        for row in rows(ACTORS)
        if isinstance(row, ActorRow) and row.on_exhausted is ESCALATE
    ]
    assert escalating == ["pod-manager", "http-server"]
