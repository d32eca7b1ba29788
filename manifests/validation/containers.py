"""What the API server would refuse in containers: their mounts, devices, requests and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.defaults import PROBES
from manifests.findings import REQUIRED, Place, told_twice
from manifests.names import (
    dns_label,
    ip_address,
    no_backsteps,
    port_name,
    printable_text,
    qualified_name,
    relative_path,
)
from manifests.quantities import amount
from manifests.validation.environment import validate_environment
from manifests.validation.probes import MAX_PORT, validate_lifecycle, validate_probes
from manifests.validation.security import validate_container_security
from manifests.validation.volumes import PULL_POLICIES

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE = "hugepages-"


def validate_container_resources(resources: Place, claims: frozenset[str]) -> None:
    """Tell what is wrong with the ``resources`` of a container.

    ``claims`` are the names of the pod's resource claims.
    """
    for kind in ("limits", "requests"):
        _validate_amounts(resources, kind)
    _validate_requests(resources)
    both = {*resources.get("limits", {}), *resources.get("requests", {})}
    if any(name.startswith(_HUGE) for name in both) and not both & _POD_LEVEL:
        resources.wrong("huge pages need cpu or memory beside them", "requests")
    for claim in resources.each("claims"):
        if claim.required("name") and claim.get("name") not in claims:
            claim.wrong("must be the name of one of spec.resourceClaims", "name")


def validate_pod_resources(resources: Place) -> None:
    """Tell what is wrong with the ``resources`` of a pod as a whole."""
    for kind in ("limits", "requests"):
        _validate_amounts(resources, kind)
        for name in resources.get(kind, {}):
            if name not in _POD_LEVEL and not name.startswith(_HUGE):
                resources.wrong("pods as a whole have cpu, memory and hugepages only", kind, name)
    _validate_requests(resources)
    if resources.has("claims"):
        resources.wrong("pods as a whole cannot have claims", "claims")


def validate_resource_name(name: str) -> str:
    """Return what is wrong with the name of a resource; empty when nothing is."""
    if complaint := qualified_name(name):
        return f"the name {complaint}"
    if "/" in name:
        extended = name.removeprefix("requests.") == name
        return "" if extended else "the name must not begin with 'requests.'"
    if name in _NATIVE or name.startswith(_HUGE):
        return ""
    return "must be cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with a domain"


def _validate_amounts(resources: Place, kind: str) -> None:
    for name, text in resources.get(kind, {}).items():
        if complaint := validate_resource_name(name):
            resources.wrong(complaint, kind, name)
            continue
        value = amount(text)
        if value < 0:
            resources.wrong("must not be negative", kind, name)
        if "/" in name and value.denominator != 1:
            resources.wrong("must be a whole number", kind, name)
        if name.startswith(_HUGE):
            _validate_pages(resources, kind, name)


def _validate_pages(resources: Place, kind: str, name: str) -> None:
    try:
        page = amount(name.removeprefix(_HUGE))
    except ValueError:
        page = amount("0")
    if page <= 0:
        resources.wrong("the size of a page must be a quantity, as in hugepages-2Mi", kind, name)
    elif (amount(resources.get(kind)[name]) / page).denominator != 1:
        resources.wrong("must be a whole number of pages", kind, name)


def _validate_requests(resources: Place) -> None:
    """Tell which requests exceed their limits, or differ from them if a resource cannot be overcommitted."""
    limits = resources.get("limits", {})
    for name, text in resources.get("requests", {}).items():
        fixed = "/" in name or name.startswith(_HUGE)
        if name in limits:
            if fixed and amount(text) != amount(limits[name]):
                resources.wrong("must be equal to its limit", "requests", name)
            elif amount(text) > amount(limits[name]):
                resources.wrong(
                    f"must be no more than its limit of {limits[name]}", "requests", name
                )
        elif fixed:
            resources.wrong("needs a limit, which must be equal to it", "requests", name)


_PROTOCOLS = ("TCP", "UDP", "SCTP")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_MAX_RESTART_RULES = 20

_PROPAGATIONS = ("None", "HostToContainer", "Bidirectional")
_BLOCK_KINDS = ("persistentVolumeClaim", "ephemeral")


def validate_containers(spec: Place) -> None:
    """Tell what is wrong with the containers of a pod."""
    spec.required("containers")
    for index, _ in enumerate(spec.get("ephemeralContainers", ())):
        text = "ephemeral containers can only be added to a pod that runs"
        spec.wrong(text, "ephemeralContainers", index)
    normal, first = list(spec.each("containers")), list(spec.each("initContainers"))
    volumes = {volume.get("name"): volume for volume in spec.get("volumes", ())}
    claims = frozenset(claim.get("name") for claim in spec.get("resourceClaims", ()))
    for container in (*normal, *first):
        _validate_container(container, spec, volumes)
        if resources := container.child("resources"):
            validate_container_resources(resources, claims)
    for container in first:
        _validate_init_container(container)
        _refuse_port_conflicts([container])
    _refuse_port_conflicts(normal)
    told_twice((*normal, *first), "name", "is the name of more than one container")


def _validate_container(container: Place, spec: Place, volumes: Mapping[str, Any]) -> None:
    container.named("name", dns_label)
    container.required("image")
    image: str = container.get("image", "")
    if image != image.strip():
        container.wrong("must not begin or end with a space", "image")
    container.obeys("image", printable_text)
    container.one_of("imagePullPolicy", PULL_POLICIES)
    container.one_of("terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    _validate_ports(container, on_host=bool(spec.get("hostNetwork")))
    validate_environment(container, volumes)
    validate_mounts(container, volumes)
    validate_probes(container)
    if lifecycle := container.child("lifecycle"):
        os_name = spec.get("os", {}).get("name", "")
        validate_lifecycle(lifecycle, spec.get("terminationGracePeriodSeconds", 0), os_name)
    if context := container.child("securityContext"):
        validate_container_security(context, spec)
    _validate_resize(container, spec)
    _validate_restart(container)


def _validate_init_container(container: Place) -> None:
    """One that runs to its end has nothing to probe; a sidecar is as any other."""
    if container.get("restartPolicy") == "Always":
        return
    for name in (*PROBES, "lifecycle"):
        if container.has(name):
            text = "init containers have this only with restartPolicy: Always"
            container.wrong(text, name)


def _validate_ports(container: Place, *, on_host: bool) -> None:
    ports = list(container.each("ports"))
    for port in ports:
        port.obeys("name", port_name)
        if port.get("containerPort"):
            port.within("containerPort", 1, MAX_PORT)
        else:
            text = f"must be between 1 and {MAX_PORT}, not 0"
            port.wrong(text if port.has("containerPort") else REQUIRED, "containerPort")
        if port.get("hostPort"):
            port.within("hostPort", 1, MAX_PORT)
            if on_host and port.get("hostPort") != port.get("containerPort"):
                port.wrong("must be the containerPort on the host's network", "hostPort")
        port.one_of("protocol", _PROTOCOLS)
        if port.get("hostIP") and ip_address(port.get("hostIP")):
            port.warn("is no IP address", "hostIP")
    told_twice(ports, "name", "is the name of more than one port")


def _refuse_port_conflicts(containers: list[Place]) -> None:
    taken = set()
    for container in containers:
        for port in container.each("ports"):
            key = (port.get("hostIP", ""), port.get("hostPort"), port.get("protocol"))
            if port.get("hostPort") and key in taken:
                port.wrong("is taken by another port of the pod", "hostPort")
            taken.add(key)


def _validate_resize(container: Place, spec: Place) -> None:
    policies = list(container.each("resizePolicy"))
    for policy in policies:
        if policy.required("resourceName"):
            policy.one_of("resourceName", ("cpu", "memory"))
        if policy.required("restartPolicy"):
            policy.one_of("restartPolicy", ("NotRequired", "RestartContainer"))
        if spec.get("restartPolicy") == "Never" and policy.get("restartPolicy") != "NotRequired":
            policy.wrong("must be NotRequired when the pod never restarts", "restartPolicy")
    told_twice(policies, "resourceName", "has more than one policy")


def _validate_restart(container: Place) -> None:
    container.one_of("restartPolicy", _RESTART_POLICIES)
    rules = list(container.each("restartPolicyRules"))
    if rules and not container.has("restartPolicy"):
        container.wrong("needs a restartPolicy beside it", "restartPolicyRules")
    if len(rules) > _MAX_RESTART_RULES:
        container.wrong(f"must be no more than {_MAX_RESTART_RULES}", "restartPolicyRules")
    for rule in rules:
        if rule.required("action"):
            rule.one_of("action", ("Restart", "RestartAllContainers"))
        if rule.required("exitCodes") and (codes := rule.child("exitCodes")):
            codes.required("operator", "values")
            codes.one_of("operator", ("In", "NotIn"))


def validate_mounts(container: Place, volumes: Mapping[str, Any]) -> None:
    """Tell what is wrong with volume mounts and devices; ``volumes`` are the pod's, by name."""
    mounts = list(container.each("volumeMounts"))
    devices = list(container.each("volumeDevices"))
    for mount in mounts:
        mount.required("mountPath")
        _validate_volume_name(mount, volumes)
        _validate_sub_path(mount)
        _validate_propagation(mount, container)
    for device in devices:
        device.required("devicePath")
        device.obeys("devicePath", no_backsteps)
        _validate_volume_name(device, volumes)
        source = volumes.get(device.get("name", ""), {})
        if source and not any(kind in source for kind in _BLOCK_KINDS):
            device.wrong("must be the name of a volume that is a persistent volume claim", "name")
    told_twice(mounts, "mountPath", "is mounted more than once")
    told_twice(devices, "devicePath", "is the path of more than one device")
    told_twice(devices, "name", "is the volume of more than one device")
    _refuse_overlaps(mounts, devices)


def _refuse_overlaps(mounts: list[Place], devices: list[Place]) -> None:
    paths = {mount.get("mountPath") for mount in mounts}
    names = {mount.get("name") for mount in mounts}
    for device in devices:
        if device.get("devicePath") in paths:
            device.wrong("is the path of a volume mount too", "devicePath")
        if device.get("name") in names:
            device.wrong("is the volume of a volume mount too", "name")


def _validate_volume_name(mount: Place, volumes: Mapping[str, Any]) -> None:
    if mount.required("name") and mount.get("name") not in volumes:
        mount.wrong("must be the name of one of spec.volumes", "name")


def _validate_sub_path(mount: Place) -> None:
    for name in ("subPath", "subPathExpr"):
        mount.obeys(name, relative_path)
    if mount.get("subPath") and mount.get("subPathExpr"):
        mount.wrong("cannot stand beside subPath", "subPathExpr")


def _validate_propagation(mount: Place, container: Place) -> None:
    propagation = mount.get("mountPropagation")
    mount.one_of("mountPropagation", _PROPAGATIONS)
    privileged = container.get("securityContext", {}).get("privileged", False)
    if propagation == "Bidirectional" and not privileged:
        mount.wrong("can be Bidirectional only in a privileged container", "mountPropagation")
    mount.one_of("recursiveReadOnly", ("Disabled", "IfPossible", "Enabled"))
    if mount.get("recursiveReadOnly") in {"IfPossible", "Enabled"}:
        if not mount.get("readOnly"):
            mount.wrong("needs readOnly: true", "recursiveReadOnly")
        if propagation not in {None, "None"}:
            mount.wrong("cannot be set with a mountPropagation", "recursiveReadOnly")
