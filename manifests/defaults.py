"""Fills in what the API would fill in: the v1 defaults of a Pod and of its volumes (rule S3).

Works in place on a copy that conforms to the schema. Empty text and zero count as absent where they do in
Kubernetes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from manifests.image_names import default_pull_policy
from manifests.requests import container_requests
from messages.pods import CONTAINER_LISTS

Json = dict[str, Any]

FILE_MODE = 0o644

_DEFAULTS: dict[str, Json] = {
    "secret": {"defaultMode": FILE_MODE},
    "configMap": {"defaultMode": FILE_MODE},
    "downwardAPI": {"defaultMode": FILE_MODE},
    "projected": {"defaultMode": FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "kind": "Shared",
        "readOnly": False,
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
"""The defaults of fields that are absent or empty, by kind of volume."""

TOKEN_SECONDS = 3600
CERTIFICATE_SECONDS = 24 * 3600


def default_volume(volume: Json) -> None:
    """Fill in the defaults of ``volume``. One without a source becomes an ``emptyDir``."""
    if not any(name != "name" for name in volume):
        volume["emptyDir"] = {}
    for kind, defaults in _DEFAULTS.items():
        if kind in volume:
            given = {name: value for name, value in volume[kind].items() if value != ""}
            volume[kind] = {**volume[kind], **defaults, **given}
    for item in volume.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
    for source in volume.get("projected", {}).get("sources", ()):
        _default_projection(source)
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
    if "spec" in template:
        template["spec"].setdefault("volumeMode", "Filesystem")
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = default_pull_policy(image.get("reference", ""))


def default_field_ref(holder: Json) -> None:
    """Fill in the version that ``holder.fieldRef`` is written for."""
    if "fieldRef" in holder and not holder["fieldRef"].get("apiVersion"):
        holder["fieldRef"]["apiVersion"] = "v1"
    if "fileKeyRef" in holder:
        holder["fileKeyRef"].setdefault("optional", False)


def _default_projection(source: Json) -> None:
    for item in source.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)
    if "podCertificate" in source:
        source["podCertificate"].setdefault("maxExpirationSeconds", CERTIFICATE_SECONDS)


_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_SHARED_RESOURCES = frozenset({"cpu", "memory"})
"""Resources that a pod can request as a whole for its containers."""

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def fill_defaults(pod: Json) -> None:
    """Add the default of every field of ``pod`` that has one and is not set."""
    spec = pod.setdefault("spec", {})
    for name, value in _SPEC.items():
        _fill(spec, name, value)
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("securityContext", {})
    # One account, two names: either is read, both are written.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes", ()):
        default_volume(volume)
    for container in containers(spec):
        _default_container(container)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    if "resources" in spec:
        _default_pod_requests(spec)


def containers(spec: Json) -> Iterator[Json]:
    """Yield the containers of all three lists."""
    for name in CONTAINER_LISTS:
        yield from spec.get(name, ())


def _fill(target: Json, name: str, value: Any) -> None:
    if not target.get(name):
        target[name] = value


def _default_container(container: Json) -> None:
    _fill(container, "imagePullPolicy", default_pull_policy(container.get("image", "")))
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    for port in container.get("ports", ()):
        _fill(port, "protocol", "TCP")
    for variable in container.get("env", ()):
        default_field_ref(variable.get("valueFrom", {}))
    for name in PROBES:
        if name in container:
            _default_probe(container[name])
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _default_http_get(handler)


def _default_probe(probe: Json) -> None:
    for name, value in _PROBE.items():
        _fill(probe, name, value)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")
    _default_http_get(probe)


def _default_http_get(handler: Json) -> None:
    if "httpGet" in handler:
        _fill(handler["httpGet"], "path", "/")
        _fill(handler["httpGet"], "scheme", "HTTP")


def _default_host_ports(spec: Json) -> None:
    """Set the host port of each container port: on the host's network they are the same."""
    for name in ("containers", "initContainers"):
        for container in spec.get(name, ()):
            for port in container.get("ports", ()):
                if "containerPort" in port:
                    _fill(port, "hostPort", port["containerPort"])


def _default_pod_requests(spec: Json) -> None:
    """Set requests of a pod that has limits: what its containers request together, else the limit."""
    resources = spec["resources"]
    if not resources.get("limits"):
        return
    together = {
        name: _as_quantity(total)
        for name, total in container_requests(spec).items()
        if name in _SHARED_RESOURCES
    }
    resources["requests"] = {**resources["limits"], **together, **resources.get("requests", {})}


def _as_quantity(total: Fraction) -> str:
    if total.denominator == 1:
        return str(total.numerator)
    return f"{math.ceil(total * 1000)}m"
