"""The variables and the command line of a container, from its pod and the objects that it uses. Pure.

The rules are Kubernetes': a later variable may use an earlier one as ``$(NAME)``, ``$$`` stands for one
dollar sign, and what cannot be replaced stays as it is. Names from ``envFrom`` come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from messages.pods import JsonObject, Pod

Resolve: TypeAlias = Callable[[Pod, str, str], Mapping[str, bytes]]
"""Returns the values of an object of the pod's namespace, by kind and name. Raises LookupError."""

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]+)\))")
_MAP_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def environment_of(pod: Pod, container: JsonObject, resolve: Resolve) -> dict[str, str]:
    """Return the variables of ``container``. Raises LookupError for what is missing, without any value."""
    variables: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        variables |= _all_of(pod, source, resolve)
    for variable in container.get("env") or ():
        value = _value_of(pod, variable, variables, resolve)
        if value is not None:
            variables[variable["name"]] = value
    return variables


def command_line(container: JsonObject, variables: Mapping[str, str]) -> list[str]:
    """Return ``command`` and ``args`` of ``container``. Empty if only its image could say them."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return [expanded(word, variables) for word in words] if container.get("command") else []


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return ``text`` with each ``$(NAME)`` replaced that ``variables`` have."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(replaced, text)


def _all_of(pod: Pod, source: JsonObject, resolve: Resolve) -> dict[str, str]:
    kind = "Secret" if "secretRef" in source else "ConfigMap"
    reference = source.get("secretRef") or source.get("configMapRef") or {}
    values = _values(pod, kind, reference, resolve) or {}
    prefix = source.get("prefix") or ""
    return {prefix + key: _text(value) for key, value in values.items()}


def _value_of(
    pod: Pod, variable: JsonObject, earlier: Mapping[str, str], resolve: Resolve
) -> str | None:
    origin = variable.get("valueFrom")
    if not origin:
        return expanded(variable.get("value") or "", earlier)
    if "fieldRef" in origin:
        return _field(pod, origin["fieldRef"].get("fieldPath") or "")
    for kind, key in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
        if key in origin:
            return _one_of(pod, kind, origin[key], resolve)
    raise LookupError(f"variable {variable['name']} comes from a place that is not known here")


def _one_of(pod: Pod, kind: str, reference: JsonObject, resolve: Resolve) -> str | None:
    values = _values(pod, kind, reference, resolve)
    key = reference.get("key") or ""
    if values is not None and key in values:
        return _text(values[key])
    if reference.get("optional"):
        return None
    raise LookupError(f"{kind} {pod.namespace}/{reference.get('name')} has no key {key}")


def _values(
    pod: Pod, kind: str, reference: JsonObject, resolve: Resolve
) -> Mapping[str, bytes] | None:
    try:
        return resolve(pod, kind, reference.get("name") or "")
    except LookupError:
        if reference.get("optional"):
            return None
        raise


def _field(pod: Pod, path: str) -> str:
    metadata: Mapping[str, Any] = pod.document.get("metadata") or {}
    spec: Mapping[str, Any] = pod.document.get("spec") or {}
    if found := _MAP_FIELD.fullmatch(path):
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    known = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
    }
    if path not in known:
        raise LookupError(f"field {path} is not known here")
    return str(known[path])


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")
