"""What documents of the endpoints must have for a command to make sense of them. Pure."""

from __future__ import annotations

from command.failures import no_rows
from command.reading import Document, parts, value


def rows_of(document: Document, name: str, path: str) -> list[Document]:
    """Return the objects of the list ``name``. Raises ``StrangeAnswerError`` if there is no such list."""
    found = value(document, name)
    rows = parts(document, name)
    if not isinstance(found, list) or len(rows) != len(found):
        raise no_rows(name, path)
    return rows
