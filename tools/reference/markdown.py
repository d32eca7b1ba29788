"""Tables and headings of Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MADE_BY = "<!-- Made by `make reference` from the code. Do not edit. -->"


def page(title: str, *parts: str) -> str:
    """Return a page that says that it is made from the code."""
    return "\n\n".join([f"# {title}", MADE_BY, *(part.strip("\n") for part in parts)]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. A bar in a cell is a bar."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines
    )


def section(title: str, *parts: str) -> str:
    """Return a heading of the second level, and what stands below it."""
    return "\n\n".join([f"## {title}", *parts])


def code(text: str) -> str:
    """Return ``text`` as code; nothing for nothing."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """Return several words as code, with commas between them."""
    return ", ".join(map(code, texts))
