"""Every page that is made from the code: where it is, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools.reference.command import command_page
from tools.reference.endpoints import endpoints_page
from tools.reference.events import events_page
from tools.reference.fields import fields_page
from tools.reference.flags import flags_page
from tools.reference.man import man_page
from tools.reference.metrics import metrics_page

ROOT: Final = Path(__file__).parents[2]

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "docs/reference/flags.md": flags_page,
    "docs/reference/fields.md": fields_page,
    "docs/reference/endpoints.md": endpoints_page,
    "docs/reference/metrics.md": metrics_page,
    "docs/reference/events.md": events_page,
    "docs/reference/command.md": command_page,
    "docs/man/actorlet.1": man_page,
}
"""What returns the text of each page, by its path in the checkout."""


def written(path: str, text: str) -> bool:
    """Write a page if that changes it; return whether it did."""
    file = ROOT / path
    if file.exists() and file.read_text() == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return True
