"""Documents in the form that was asked for: JSON, YAML or names for scripts, a table for people.

They are written as fast as they can be: ten thousand pods are 23 MB. ``json`` with an indentation takes
three times as long, PyYAML thirty times.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any, Final

from command.reading import Document
from command.wording import plain

if TYPE_CHECKING:
    from command.drawing import Drawing

_PLAIN: Final = re.compile(r"[A-Za-z/](?:[A-Za-z0-9_./@()-]| (?=[A-Za-z0-9])|:(?=[A-Za-z0-9/]))*")
"""Texts that YAML reads as texts without quotes, unless they are one of the next ones."""
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_KEY: Final = 100
"""Characters, each up to 10 as an escape. Beyond 1,024, YAML takes no key that is not marked as one."""

_DEEPER: Final = "\n  "
_DEEPEST: Final = "\n    "

TABLE: Final = "table"
WIDE: Final = "wide"
JSON: Final = "json"
YAML: Final = "yaml"
NAME: Final = "name"


def as_json(document: Any) -> Iterator[str]:
    """Yield the text of ``document`` as JSON, indented by two."""
    yield _json(document, "\n")
    yield "\n"


def as_yaml(document: Any) -> Iterator[str]:
    """Yield the text of ``document`` as YAML."""
    yield _yaml(document, "\n").removeprefix("\n").removeprefix(" ")
    yield "\n"


def list_as_json(
    head: Document, name: str, rows: Iterable[Any], rest: Callable[[], Document]
) -> Iterator[str]:
    """Yield the text of the document that has the list called ``name`` between ``head`` and ``rest``."""
    before = "{"
    for key, each in head.items():
        yield f"{before}\n  {quoted(key)}: {_json(each, _DEEPER)}"
        before = ","
    yield f"{before}\n  {quoted(name)}: ["
    before = ""
    for row in rows:
        yield f"{before}\n    {_json(row, _DEEPEST)}"
        before = ","
    yield "\n  ]" if before else "]"
    for key, each in rest().items():
        yield f",\n  {quoted(key)}: {_json(each, _DEEPER)}"
    yield "\n}\n"


def list_as_yaml(
    head: Document, name: str, rows: Iterable[Any], rest: Callable[[], Document]
) -> Iterator[str]:
    """Yield the same as YAML."""
    for key, each in head.items():
        yield _pairs({key: each}, "\n") + "\n"
    yield f"{_key(name)}"
    is_empty = True
    for row in rows:
        is_empty = False
        yield f"\n-{_in_list(row, _DEEPER)}"
    yield " []\n" if is_empty else "\n"
    for key, each in rest().items():
        yield _pairs({key: each}, "\n") + "\n"


def _json(value: Any, line: str) -> str:
    """Return ``value`` as it stands after ``line``: a line feed, and what its own lines begin with."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        if not value:
            return "{}"
        inner = line + "  "
        told = [f"{quoted(str(key))}: {_json(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(told)}{line}}}"
    if isinstance(value, list | tuple):
        if not value:
            return "[]"
        inner = line + "  "
        return f"[{inner}{f',{inner}'.join([_json(each, inner) for each in value])}{line}]"
    return json.dumps(value)


def _yaml(value: Any, line: str, *, is_value: bool = False) -> str:
    """Return ``value`` as it stands behind ``key:``, or alone."""
    if isinstance(value, str):
        return f" {_scalar(value)}"
    if isinstance(value, dict):
        return line + _pairs(value, line) if value else " {}"
    if isinstance(value, list | tuple):
        if not value:
            return " []"
        before = line[:-2] if is_value else line  # as far to the left as the key
        return "".join([f"{before}-{_in_list(each, before + '  ')}" for each in value])
    return f" {_number(value)}"


def _in_list(value: Any, line: str) -> str:
    """Return ``value`` as it stands behind a dash."""
    if isinstance(value, dict) and value:
        return f" {_pairs(value, line)}"
    return _yaml(value, line)


def _pairs(value: dict[Any, Any], line: str) -> str:
    told = [
        _key(str(key)) + _yaml(each, line + "  ", is_value=True)
        if len(key) < _LONGEST_KEY
        else f"? {_scalar(key)}{line}:{_yaml(each, line + '  ')}"
        for key, each in value.items()
    ]
    return line.join(told)


def _key(key: str) -> str:
    return f"{_scalar(key)}:"


@lru_cache(maxsize=4096)  # most of what pods say, other pods say too
def _scalar(said: str) -> str:
    if _PLAIN.fullmatch(said) and said.lower() not in _WORDS:
        return said
    if said.isascii() and said.isprintable():
        doubled = said.replace("'", "''")
        return f"'{doubled}'"
    return f'"{"".join([_escaped(each) for each in said])}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isascii() and character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _number(value: Any) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - the one number that is not itself
            return ".nan"
        if value in {float("inf"), float("-inf")}:
            return ".inf" if value > 0 else "-.inf"
        said = repr(value)
        return said.replace("e", ".0e") if "e" in said and "." not in said else said
    return json.dumps(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """One answer in each of its forms, made when it is asked for."""

    document: Any
    names: Callable[[], Iterable[str]]
    draw: Callable[[Drawing, bool], None]
    """Draws it for people; with what else there is if that is asked for."""


def show(answer: ShownAnswer, output: str) -> None:
    """Write ``answer`` to the standard output."""
    if output in {TABLE, WIDE}:
        from command.drawing import drawing  # noqa: PLC0415 - only tables need it

        answer.draw(drawing(), output == WIDE)
    elif output == NAME:
        show_names(answer.names())
    else:
        write = as_json if output == JSON else as_yaml
        sys.stdout.writelines(write(answer.document))


def show_names(names: Iterable[str]) -> None:
    """Write one name in each line."""
    sys.stdout.writelines(f"{plain(each)}\n" for each in names)
