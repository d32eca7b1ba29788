"""Checks that a document has the fields and types of its kind, and makes a copy that has nothing else.

The fields come from ``pod_schema.json``, which ``tools/generate_pod_schema.py`` makes from the kubernetes
client's models: to import those takes half a second and 35 MB. As in Kubernetes, ``null`` means absent, names
are matched by case, and unknown fields are left out, not refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from manifests.findings import KEPT, Findings, Path
from manifests.quantities import is_quantity
from manifests.texts import QUOTED_LEN
from manifests.times import is_rfc3339

_SCHEMA_FILE = FilePath(__file__).with_name("pod_schema.json")

Conform: TypeAlias = Callable[[Any, Path, Findings], Any]
"""Returns a copy of a value that conforms to one type; adds what does not fit to the findings."""

_ZERO: dict[str, Any] = {
    "str": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "quantity": "0",
    "int-or-string": 0,
}
"""What ``null`` stands for as an item of a list or a value of a map, where it cannot be absent."""


def conform_pod(value: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """Return a copy of ``value`` with the fields that a v1 Pod has, without those that are ``null``.

    Adds wrong types to ``findings`` as problems, and other fields as unknown. If there are problems the
    copy is of no use. It shares nothing with ``value`` that can be changed.
    """
    return _conformed(_conform("V1Pod"), value, findings)


def conform_fields(
    fields: dict[str, str], value: dict[str, Any], findings: Findings
) -> dict[str, Any]:
    """As ``conform_pod``, for an object with ``fields``: names and types as ``pod_schema.json`` has them."""
    return _conformed(_object_of(fields), value, findings)


def _conformed(conform: Conform, value: dict[str, Any], findings: Findings) -> dict[str, Any]:
    conformed: dict[str, Any] = conform(value, (), findings)
    return conformed


@cache
def _schema() -> dict[str, dict[str, str]]:
    schema: dict[str, dict[str, str]] = json.loads(_SCHEMA_FILE.read_bytes())
    return schema


@cache
def _conform(kind: str) -> Conform:
    """Return what conforms a value to ``kind``; the notation is that of the generated table."""
    if kind.startswith("["):
        return _list_of(kind[1:-1])
    if kind.startswith("{"):
        return _map_of(kind[1:-1])
    if kind in _SCALARS:
        return _SCALARS[kind]
    return _object_of(_schema()[kind])


def _object_of(fields: dict[str, str]) -> Conform:
    kinds: dict[str, Conform] = {}

    def conform(value: Any, path: Path, findings: Findings) -> Any:
        if not isinstance(value, dict):
            return _mismatch("an object", value, path, findings)
        conformed = {}
        for name, item in value.items():
            if name not in fields:
                findings.unknown_field((*path, name), _unknown(name, fields, findings))
            elif item is not None:
                if name not in kinds:
                    kinds[name] = _conform(fields[name])
                conformed[name] = kinds[name](item, (*path, name), findings)
        return conformed

    return conform


def _list_of(kind: str) -> Conform:
    of_item = _conform(kind)
    zero = _ZERO.get(kind, {})

    def conform(value: Any, path: Path, findings: Findings) -> Any:
        if not isinstance(value, list):
            return _mismatch("a list", value, path, findings)
        return [
            of_item(zero if item is None else item, (*path, index), findings)
            for index, item in enumerate(value)
        ]

    return conform


def _map_of(kind: str) -> Conform:
    of_item = _conform(kind)
    zero = _ZERO.get(kind)

    def conform(value: Any, path: Path, findings: Findings) -> Any:
        if not isinstance(value, dict):
            return _mismatch("an object", value, path, findings)
        return {
            key: of_item(zero if item is None else item, (*path, key), findings)
            for key, item in value.items()
        }

    return conform


def _text(value: Any, path: Path, findings: Findings) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        hint = "put it in quotes (plain y, n, yes, no, on, off, true, false are booleans in YAML)"
    elif isinstance(value, (int, float)):
        hint = "put it in quotes"
    else:
        return _mismatch("a string", value, path, findings)
    findings.problem(path, f"must be a string, not {_kind_of(value)}: {hint}")
    return value


def _boolean(value: Any, path: Path, findings: Findings) -> Any:
    return value if isinstance(value, bool) else _mismatch("true or false", value, path, findings)


def _integer_of(bits: int) -> Conform:
    limit = 2 ** (bits - 1)

    def conform(value: Any, path: Path, findings: Findings) -> Any:
        if isinstance(value, float) and value.is_integer():
            # Parsers have a whole number that is too large for them as one with a fraction.
            findings.problem(path, f"must be a whole number from {-limit} to {limit - 1}")
            return value
        if isinstance(value, float):
            findings.problem(path, "must be a whole number, not one with a fraction")
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            return _mismatch("a whole number", value, path, findings)
        if not -limit <= value < limit:
            findings.problem(path, f"must be a whole number from {-limit} to {limit - 1}")
        return value

    return conform


def _quantity(value: Any, path: Path, findings: Findings) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return _mismatch("a quantity", value, path, findings)
    text = str(value).strip()
    if not is_quantity(text):
        findings.problem(path, "must be a quantity such as 100m, 0.5, 64Mi or 1G")
    return text


def _number_or_name(value: Any, path: Path, findings: Findings) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _INT32(value, path, findings)
    return _mismatch("a number or a name", value, path, findings)


def _time(value: Any, path: Path, findings: Findings) -> Any:
    if not isinstance(value, str):
        return _mismatch("a time", value, path, findings)
    if not is_rfc3339(value):
        findings.problem(path, "must be a time such as 2006-01-02T15:04:05Z")
    return value


def _anything(value: Any, path: Path, findings: Findings) -> Any:  # noqa: ARG001 - one of a kind
    return json.loads(json.dumps(value))


_INT32 = _integer_of(32)

_SCALARS: dict[str, Conform] = {
    "str": _text,
    "bool": _boolean,
    "int32": _INT32,
    "int64": _integer_of(64),
    "quantity": _quantity,
    "int-or-string": _number_or_name,
    "time": _time,
    "object": _anything,
}


def _mismatch(wanted: str, value: Any, path: Path, findings: Findings) -> Any:
    findings.problem(path, f"must be {wanted}, not {_kind_of(value)}")
    return value


def _kind_of(value: Any) -> str:
    """Return what a value is, without showing it: it may be a secret in a wrong place."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _unknown(name: str, fields: dict[str, str], findings: Findings) -> str:
    # Comparing is slow, so it is done only for findings that are kept.
    if findings.unknown.total < KEPT and len(name) <= QUOTED_LEN:
        by_small = {field.lower(): field for field in fields}
        for near in get_close_matches(name.lower(), by_small, n=1, cutoff=0.75):
            return f"unknown field, did you mean {by_small[near]}?"
    return "unknown field"
