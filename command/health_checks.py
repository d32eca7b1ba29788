"""Reads the lines of a verbose health endpoint: ``[+]name ok``, ``[-]name failed: why``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
