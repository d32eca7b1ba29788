"""Texts for people: cut to a length, quoted, and without characters that a terminal would obey."""

from __future__ import annotations

import os
import re
from typing import Final

QUOTED_LEN: Final = 64
"""Characters of a quotation."""
SENTENCE_LEN: Final = 1_000
"""Characters of a sentence."""

_HALF: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates other than those that stand for bytes."""


def quoted(text: str) -> str:
    """Return ``text`` in quotes, cut to a length that fits into a sentence."""
    return f'"{cut(text, QUOTED_LEN)}"'


def cut(text: str, length: int) -> str:
    """Return at most ``length`` characters of ``text``, with an ellipsis where some are missing."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def one_line(text: str) -> str:
    """Return ``text`` without line breaks and other characters that a terminal would obey."""
    short = cut(text, SENTENCE_LEN)
    return "".join(letter if letter.isprintable() else " " for letter in short).strip()


def printable(path: os.PathLike[str] | str) -> str:
    """Return ``path`` as a text that can be written anywhere.

    Names of files need not be UTF-8, and may hold characters that a terminal would obey.
    """
    text = os.fsencode(path).decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def as_bytes(text: str) -> bytes:
    """Return ``text`` as a process or a file gets it.

    Halves of characters, which JSON can hold, become U+FFFD.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return _HALF.sub("\ufffd", text).encode(errors="surrogateescape")
