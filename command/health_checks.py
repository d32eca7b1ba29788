"""Reads how well an agent is: the lines of a verbose health endpoint, and what runs its pods. Pure.

A line is ``[+]name ok`` or ``[-]name failed: why``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from command.reading import Document, flag, text
from command.tables import BAD, DOUBTFUL

_LINE: Final = re.compile(r"\[(?P<sign>[+-])\](?P<name>\S+) (?:ok|failed)(?:: (?P<text>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One check of the agent."""

    name: str
    is_well: bool
    text: str = ""


def check_lines(body: str) -> Iterator[CheckLine]:
    """Yield the checks in ``body``. Other lines are passed over."""
    for line in body.splitlines():
        if found := _LINE.fullmatch(line):
            yield CheckLine(
                name=found["name"], is_well=found["sign"] == "+", text=found["text"] or ""
            )


def runtime_style(runtime: Document) -> str:
    """Return the style of the line about what runs the pods. That hollow pods do not run is to be seen."""
    if not flag(runtime, "ok"):
        return BAD
    return DOUBTFUL if text(runtime, "kind") == "hollow" else ""
