"""What the API server would refuse in environment variables and references to fields.

Never shows the value of a variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from manifests.downward import OLD_NAMES, SUBSCRIPT
from manifests.findings import REQUIRED, Place
from manifests.names import (
    dns_subdomain,
    environment_name,
    file_in_volume,
    object_key,
    qualified_name,
)
from manifests.quantities import amount

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
ENVIRONMENT_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    },
)

VOLUME_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.labels",
        "metadata.annotations",
    },
)
_RESOURCE = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)", re.DOTALL)
_CPU_DIVISORS = frozenset(map(amount, ("0", "1m", "1")))
_BYTE_DIVISORS = frozenset((amount("0"),)) | frozenset(
    amount(f"1{unit}")
    for unit in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)


def validate_environment(container: Place, volumes: Mapping[str, Any]) -> None:
    """Tell what is wrong with ``env`` and ``envFrom``; ``volumes`` are the pod's, by name."""
    for variable in container.each("env"):
        variable.named("name", environment_name)
        source = variable.child("valueFrom")
        if source is not None:
            if variable.get("value"):
                variable.wrong("cannot stand beside value", "valueFrom")
            _validate_source(source, volumes)
    for origin in container.each("envFrom"):
        origin.obeys("prefix", environment_name)
        kind = origin.only_one(("configMapRef", "secretRef"))
        if kind and (reference := origin.child(kind)):
            reference.named("name", dns_subdomain)


def validate_field_ref(reference: Place, fields: Collection[str]) -> None:
    """Tell when ``fieldRef`` names none of ``fields``, nor one label or annotation."""
    if reference.get("apiVersion") != "v1":
        reference.wrong("must be v1", "apiVersion")
    if not reference.required("fieldPath"):
        return
    path = reference.get("fieldPath")
    if subscript := SUBSCRIPT.fullmatch(path):
        key = subscript[2].lower() if subscript[1] == "annotations" else subscript[2]
        if complaint := qualified_name(key):
            reference.wrong(f"the key {complaint}", "fieldPath")
    elif OLD_NAMES.get(path, path) not in fields:
        names = ", ".join(sorted(fields))
        reference.wrong(f"must be one of {names}, or a single label or annotation", "fieldPath")


def validate_resource_ref(reference: Place, *, in_volume: bool) -> None:
    """Tell what is wrong with ``resourceFieldRef``; in a volume it must name its container."""
    if in_volume:
        reference.required("containerName")
    if not reference.required("resource"):
        return
    resource = _RESOURCE.fullmatch(reference.get("resource"))
    if resource is None:
        reference.wrong("must be a limit or request, as limits.cpu or requests.memory", "resource")
        return
    allowed = _CPU_DIVISORS if resource[2] == "cpu" else _BYTE_DIVISORS
    if amount(reference.get("divisor", "0")) not in allowed:
        reference.wrong("must be 1 or a unit that fits the resource", "divisor")


def _validate_source(source: Place, volumes: Mapping[str, Any]) -> None:
    kind = source.only_one(_SOURCES)
    reference = source.child(kind) if kind else None
    if reference is None:
        return
    if kind == "fieldRef":
        validate_field_ref(reference, ENVIRONMENT_FIELDS)
    elif kind == "resourceFieldRef":
        validate_resource_ref(reference, in_volume=False)
    elif kind == "fileKeyRef":
        _validate_file_key(reference, volumes)
    else:
        reference.named("key", object_key)
        reference.obeys("name", dns_subdomain)


def _validate_file_key(reference: Place, volumes: Mapping[str, Any]) -> None:
    reference.named("key", environment_name)
    reference.named("path", file_in_volume)
    if not reference.has("volumeName"):
        reference.wrong(REQUIRED, "volumeName")
    elif "emptyDir" not in volumes.get(reference.get("volumeName"), {}):
        reference.wrong("must be the name of a volume that is an emptyDir", "volumeName")
