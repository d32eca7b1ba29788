"""Writes ``manifests/pod_schema.json``: the fields of a v1 Pod and their types.

The kubernetes client's models have them, but importing these takes longer than everything else at the
agent's start. So the agent reads this table, and a test checks that it agrees with the models. Run this
after an upgrade of the client: ``python -m tools.generate_pod_schema``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kubernetes.client import models

SCHEMA_FILE = Path(__file__).parent.parent / "manifests" / "pod_schema.json"

SCALARS = {"str": "str", "bool": "bool", "int": "int32", "float": "float", "datetime": "time"}

INT64 = frozenset(
    {
        "activeDeadlineSeconds",
        "defaultUser",
        "deletionGracePeriodSeconds",
        "expirationSeconds",
        "fsGroup",
        "generation",
        "gid",
        "observedGeneration",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "supplementalGroups",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "uid",
        "user",
    },
)
"""Fields of 64 bits. The models do not tell them from those of 32."""

QUANTITIES = frozenset({"sizeLimit", "divisor"})
QUANTITY_MAPS = frozenset({"limits", "requests", "overhead", "allocatedResources", "capacity"})
"""Fields that hold quantities. To the models these are strings."""


def pod_schema() -> dict[str, dict[str, str]]:
    """Return the fields of ``V1Pod`` and of every model it reaches: field name to type.

    A type is a model's name, ``str bool int32 int64 float time quantity int-or-string object``,
    or ``[type]`` for a list, ``{type}`` for a map from strings.
    """
    schema: dict[str, dict[str, str]] = {}
    waiting = ["V1Pod"]
    while waiting:
        name = waiting.pop()
        if name not in schema:
            schema[name] = dict(sorted(_fields(name)))
            waiting += [kind.strip("[]{}") for kind in schema[name].values() if "V1" in kind]
    return dict(sorted(schema.items()))


def _fields(model_name: str) -> Iterator[tuple[str, str]]:
    model = getattr(models, model_name)
    for attribute, declared in model.openapi_types.items():
        field = model.attribute_map[attribute]
        yield field, _type(field, declared)


def _type(field: str, declared: str) -> str:
    if item := re.fullmatch(r"List\[(.+)\]", declared):
        return f"[{_type(field, item[1])}]"
    if item := re.fullmatch(r"Dict\[str, (.+)\]", declared):
        return "{quantity}" if field in QUANTITY_MAPS else f"{{{_type(field, item[1])}}}"
    if declared == "object":
        return "int-or-string" if field == "port" else "object"
    if field in QUANTITIES:
        return "quantity"
    if declared == "int" and field in INT64:
        return "int64"
    return SCALARS.get(declared, declared)


def schema_text() -> str:
    """Return the table as it is committed: one model a line, so that a change reads well."""
    rows = (f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in pod_schema().items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text())
