"""Fills in what the API would fill in: the v1 defaults of a Pod (rule S3).

Works in place on a copy that conforms to the schema. Volumes have a module of their own. Empty text
and zero count as absent where they do in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sources.manifests.images import image_pull_policy
from sources.manifests.quantity import amount
from sources.manifests.volume_defaults import default_field_ref, default_volume

Json = dict[str, Any]

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


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
    _fill(container, "imagePullPolicy", image_pull_policy(container.get("image", "")))
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    for port in container.get("ports", ()):
        _fill(port, "protocol", "TCP")
    for variable in container.get("env", ()):
        default_field_ref(variable.get("valueFrom", {}))
    for name in _PROBES:
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
    """On the host's network every port of a container is a port of the host."""
    for name in ("containers", "initContainers"):
        for container in spec.get(name, ()):
            for port in container.get("ports", ()):
                if "containerPort" in port:
                    _fill(port, "hostPort", port["containerPort"])


def _default_pod_requests(spec: Json) -> None:
    """Request what the pod limits: as much as its containers request, else as much as the limit."""
    resources = spec["resources"]
    requests = dict(resources.get("requests", {}))
    for name, limit in resources.get("limits", {}).items():
        if name not in requests:
            requests[name] = _container_requests(spec, name) or limit
    if requests:
        resources["requests"] = requests


def _container_requests(spec: Json, resource: str) -> str:
    """Return what the containers request together, or empty when none requests the resource.

    Init containers run one after another, before the rest; sidecars among them run beside it all.
    """

    def requested(container: Json) -> Any:
        return amount(container["resources"].get("requests", {}).get(resource, "0"))

    beside = sum(map(requested, spec.get("containers", ())))
    running, highest = 0, 0
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            running += requested(container)
            highest = max(highest, running)
        else:
            highest = max(highest, running + requested(container))
    total = max(beside + running, highest)
    return _as_quantity(total) if total else ""


def _as_quantity(total: Any) -> str:
    if total.denominator == 1:
        return str(total.numerator)
    return f"{-(-total * 1000 // 1)}m"
