"""A saved pod as a line of JSON, and back. Pure.

What is read may be torn, or somebody else's. It becomes a value of the right types or a ``ValueError``.
Nothing but the standard library is needed, since a library that does this takes 10 MB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from runtimes.hollow.saved import SavedPod


def encoded(pod: SavedPod) -> bytes:
    """Return ``pod`` as one line, without its end."""
    return json.dumps(_plain(pod), separators=(",", ":")).encode()


def decoded(line: bytes) -> SavedPod:
    """Return the pod of a line. Raises ``ValueError`` for one that ``encoded`` has not made."""
    try:
        pod: SavedPod = _typed(SavedPod, json.loads(line))
    except RecursionError:
        raise ValueError("too deep") from None
    if any(sandbox.pod.uid != pod.uid for sandbox in pod.sandboxes):
        raise ValueError("a record of several pods")
    return pod


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        plain = {}
        for name, _, default in _fields_of(type(value)):
            given = getattr(value, name)
            if given != default:
                plain[name] = _plain(given)
        return plain
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@lru_cache
def _fields_of(kind: type) -> tuple[tuple[str, Any, Any], ...]:
    """Return the fields of a data class or named tuple: name, type, and default or MISSING."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return tuple((each.name, hints[each.name], each.default) for each in fields(kind))
    return tuple((name, hint, MISSING) for name, hint in hints.items())


def _typed(kind: Any, value: Any) -> Any:
    """Return ``value`` as one of type ``kind``. Raises ``ValueError``."""
    kind = getattr(kind, "__supertype__", kind)
    arguments = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        (some,) = (each for each in arguments if each is not NoneType)
        return None if value is None else _typed(some, value)
    if get_origin(kind) is tuple:
        return tuple(_typed(arguments[0], each) for each in _checked(list, value))
    if get_origin(kind) is Mapping:
        return _checked(dict, value)
    if is_dataclass(kind) and isinstance(kind, type):
        return _data(kind, _checked(dict, value))
    return _simple(kind, value)


def _simple(kind: Any, value: Any) -> Any:
    if issubclass(kind, Enum):
        return kind(value)
    if issubclass(kind, tuple):
        parts = _fields_of(kind)
        items = _checked(list, value)
        return kind(*(_typed(hint, item) for (_, hint, _), item in zip(parts, items, strict=True)))
    if kind is float and type(value) in {int, float} and isfinite(value):
        return value
    return _checked(kind, value)


def _data(kind: type, value: dict[str, Any]) -> Any:
    known = _fields_of(kind)
    if value.keys() - {name for name, _, _ in known}:
        raise ValueError("unknown fields")
    given = {name: _typed(hint, value[name]) for name, hint, _ in known if name in value}
    if any(default is MISSING and name not in given for name, _, default in known):
        raise ValueError("missing fields")
    return kind(**given)


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"should be {kind.__name__}")
    return value
