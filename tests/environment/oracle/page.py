"""The table of the oracle's rules in docs/testing.md: each as its class says it, with all of its exceptions.

``make reference`` writes it.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Final

from tests.environment.oracle.oracle import RULES

PAGE: Final = Path(__file__).parents[3] / "docs" / "testing.md"
BEGIN: Final = "<!-- The rules of the oracle: make reference writes them. -->\n"
END: Final = "<!-- The end of the rules. -->\n"


def table() -> str:
    """Return the rules as a table in Markdown."""
    rows = (f"| `{each.__name__}` | {_said(each)} |" for each in RULES)
    return "\n".join(("| rule | what holds, and when not |", "|---|---|", *rows)) + "\n"


def with_table(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _said(rule: type) -> str:
    return re.sub(r"``(\w+)``", r"`\1`", " ".join((inspect.getdoc(rule) or "").split()))


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
