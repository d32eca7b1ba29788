"""What documents of the endpoints must have for a command to make sense of them. Pure."""

from __future__ import annotations

from command.failures import StrangeAnswerError
from command.reading import Document, parts, value


def rows_of(document: Document, name: str, path: str) -> list[Document]:
    """Return the objects of the list ``name``. Raises ``StrangeAnswerError`` if there is no such list."""
    found = value(document, name)
    rows = parts(document, name)
    if not isinstance(found, list) or len(rows) != len(found):
        raise StrangeAnswerError(
            f"the answer to {path} has no list of {name}: the agent is of another version, or none"
        )
    return rows
