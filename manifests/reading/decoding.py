"""Decodes bytes into one document: UTF-8, then JSON if it looks like JSON, else YAML.

A text that begins with ``{`` is read as JSON only, so that a mistake is told as one in JSON (rule S1),
although most of JSON is YAML too.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from manifests.findings import FieldFinding
from manifests.reading.document import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_WEIGHT,
    Document,
    DocumentError,
    Located,
    refuse_heavy,
    too_deep,
    too_heavy,
)
from manifests.reading.yaml11 import read_yaml
from manifests.reading.yaml_scalars import integer, whole
from manifests.texts import one_line
from messages.sources import RejectReason

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_BYTE_ORDER_MARK = "\ufeff"


def read_document(data: bytes) -> Document:
    """Return the first document of ``data``. Raises ``DocumentError`` if none can be used."""
    if len(data) >= MAX_BYTES:
        raise too_large()
    text = text_of(data)
    return read_json(text) if is_json(text) else read_yaml(text)


def text_of(data: bytes) -> str:
    """Return ``data`` as text. Raises ``DocumentError`` if it is not UTF-8."""
    try:
        return data.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        raise DocumentError(RejectReason.SYNTAX, _not_utf8(data, error.start)) from error


def is_json(text: str) -> bool:
    """Return whether ``text`` is read as JSON."""
    return text.lstrip().startswith("{")


def too_large() -> DocumentError:
    """Return the error for a document of too many bytes."""
    return DocumentError(RejectReason.TOO_LARGE, "10 MiB or more")


def canonical_json(value: Any) -> str:
    """Return ``value`` as JSON with sorted keys and no spaces: equal for equal documents.

    Raises ``DocumentError`` for text with half a surrogate pair: it has no UTF-8.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        sentence = "a string holds half a surrogate pair, which is no character"
        raise DocumentError(RejectReason.SYNTAX, sentence) from error
    return text


def _not_utf8(data: bytes, position: int) -> str:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "not UTF-8: it looks like UTF-16, save it as UTF-8"
    line = data.count(b"\n", 0, position) + 1
    return f"line {line}: not UTF-8"


class _Hooks:
    """What Python's parser calls for objects and numbers. Refuses what Kubernetes would refuse."""

    def __init__(self) -> None:
        self.repeats = False
        """Some object has a key twice."""
        self._numbers = 0

    def object_of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object; the last of equal keys wins."""
        value = dict(pairs)
        self.repeats = self.repeats or len(value) < len(pairs)
        return value

    def whole_number(self, digits: str) -> int | float:
        """Return an integer, or a float where 64 bits are too few."""
        return self._counted(integer(digits))

    def any_number(self, literal: str) -> int | float:
        """Return a number with a point or an exponent."""
        return self._counted(whole(float(literal)))

    def constant(self, name: str) -> Any:
        """Refuse a word such as ``NaN``, which Python reads as a number and JSON does not have."""
        raise DocumentError(RejectReason.SYNTAX, f"not JSON: {name} is no number")

    def _counted(self, number: float) -> int | float:
        # Gives up early, since five million calls take long.
        self._numbers += 1
        if self._numbers > MAX_WEIGHT:
            raise too_heavy()
        if not math.isfinite(number):
            raise DocumentError(RejectReason.SYNTAX, "not JSON: a number is too large")
        return number


def read_json(text: str, first_line: int = 1) -> Document:
    """Return the document of a JSON text that begins on ``first_line``. Raises ``DocumentError``."""
    _refuse_deep_json(text)
    hooks = _Hooks()
    try:
        value = json.loads(
            text,
            object_pairs_hook=hooks.object_of,
            parse_int=hooks.whole_number,
            parse_float=hooks.any_number,
            parse_constant=hooks.constant,
        )
    except json.JSONDecodeError as error:
        raise not_json(error) from error
    refuse_heavy(value)
    repeats = _repeated_keys(text, first_line) if hooks.repeats else []
    return Document(value, lambda: _located(text, first_line), repeats)


def not_json(error: json.JSONDecodeError) -> DocumentError:
    """Return the error for a text that begins like JSON and is none."""
    sentence = one_line(f"line {error.lineno}: not JSON, which it begins like: {error.msg}")
    return DocumentError(RejectReason.SYNTAX, sentence)


def _refuse_deep_json(text: str) -> None:
    """Raise if brackets are nested too deeply, since Python's parser recurses, or if there are too many."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = opened = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        if token[0] in "[{":
            depth += 1
            opened += 1
            if opened > MAX_WEIGHT:
                raise too_heavy()
            if depth > MAX_DEPTH:
                raise too_deep()
        elif token[0] in "]}":
            depth -= 1


def _located(text: str, first_line: int) -> Located | None:
    """Return the lines of a JSON document: it is read again as YAML, which keeps them.

    Called only if somebody asks for a line. ``None`` for the little of JSON that is no YAML.
    """
    if "\n" not in text:
        return Located(None, {}, first_line)  # everything is on one line
    try:
        return read_yaml(text, first_line=first_line).locate()
    except DocumentError:
        return None


def _repeated_keys(text: str, first_line: int) -> list[FieldFinding]:
    try:
        return read_yaml(text, first_line=first_line).warnings
    except DocumentError:
        return [FieldFinding((), "a key stands twice in one object; the last one counts")]
