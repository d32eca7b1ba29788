"""What ``$(NAME)`` becomes in variables, command and arguments. Pure.

``$(NAME)`` becomes the value of NAME, and stays as it is if there is no such variable. NAME is everything
up to the next ``)``, whatever it is. ``$$`` becomes ``$``, and begins nothing. Any other ``$`` stays. What
was put in is not looked at again, so variables that name each other end nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from runtimes.environment.situation import UnusableEnvironmentError

LONGEST_TEXT: Final = 2 * 1024 * 1024
"""Bytes, and characters before they are encoded. Linux gives a process 32 pages of memory for one variable
or argument: 128 KiB on most machines, and 2 MiB where pages have 64 KiB."""

_TOKEN: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return ``text`` with each ``$(NAME)`` replaced that ``variables`` have.

    Raises UnusableEnvironmentError if it becomes longer than any process could take.
    """
    if "$" not in text:
        return text
    # Behind the last ")" there is no reference. So each one that is looked at has its end, and a text with
    # many beginnings and no end is not searched from each of them.
    end = text.rfind(")") + 1
    parts, length, place = list[str](), len(text) - end, 0
    for found in _TOKEN.finditer(text, 0, end):
        name = found[1]
        value = "$" if name is None else variables.get(name, found[0])
        parts += (text[place : found.start()], value)
        length += found.start() - place + len(value)
        place = found.end()
        if length > LONGEST_TEXT:
            raise UnusableEnvironmentError("is longer than a process can be given")
    return "".join((*parts, text[place:end], text[end:].replace("$$", "$")))


def without_value(text: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that ``text`` refers to and that have no value, or an empty one. In order."""
    named = (found[1] for found in _TOKEN.finditer(text, 0, text.rfind(")") + 1))
    return tuple(sorted({name for name in named if name is not None and not variables.get(name)}))
