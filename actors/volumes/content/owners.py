"""Whose the files of a pod's volumes are, and what that does to their modes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from messages.pods import JsonObject, Pod

GROUP_READS: Final = 0o440
"""What a file of a pod with an ``fsGroup`` has in any case."""
TOKEN_MODE: Final = 0o600
"""Of a token that one user or group is meant to read."""


def group_of(pod: Pod) -> int | None:
    """Return the pod's ``fsGroup``; None if it has none."""
    return _number(_security(_spec(pod)).get("fsGroup"))


def only_user_of(pod: Pod) -> int | None:
    """Return the user that all containers run as by the specification; None if there is no such one."""
    users = set(_users(_spec(pod)))
    return users.pop() if len(users) == 1 else None


def _users(spec: JsonObject) -> Iterator[int | None]:
    whole = _security(spec).get("runAsUser")
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            own = _security(container).get("runAsUser")
            yield _number(whole if own is None else own)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _spec(pod: Pod) -> JsonObject:
    return pod.document.get("spec") or {}


def _security(place: JsonObject) -> JsonObject:
    return place.get("securityContext") or {}
