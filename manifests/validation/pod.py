"""What the API server would refuse in a new pod (rule S15): the pod as a whole.

Parts have modules of their own. Everything is checked, so that one reading tells all that is wrong;
the types are known to be right and the defaults to be filled in. Two more checks stand here: fields that
a pod for one operating system must not have, and containers that a field names and the pod lacks. The API
server takes such a name; the pod then waits forever for a value that nothing can fill in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from manifests.findings import Findings, Place, told_twice
from manifests.names import (
    dns_label,
    dns_subdomain,
    ip_address,
    qualified_name,
    search_path,
)
from manifests.quantities import amount
from manifests.validation.containers import (
    validate_containers,
    validate_pod_resources,
    validate_resource_name,
)
from manifests.validation.metadata import validate_labels, validate_metadata
from manifests.validation.security import validate_pod_security
from manifests.validation.selectors import (
    validate_affinity,
    validate_spread,
    validate_toleration,
)
from manifests.validation.volumes import validate_volumes

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_NAMESERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_LEN = 2048
_MAX_HOSTNAME_LEN = 64
_MAX_DEADLINE = 2**31 - 1

_CONTAINER_LISTS = ("initContainers", "containers")

_LINUX_POD_CONTEXT = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
)
_LINUX_CONTAINER_CONTEXT = (
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
)
_LINUX_SPEC = ("hostIPC", "hostPID", "hostUsers", "shareProcessNamespace")


def validate_pod(pod: dict[str, Any], findings: Findings) -> None:
    """Tell everything in ``pod`` that the API server would refuse, and what it would put up with.

    Changes a negative grace period, see ``_settle_grace_period``, and nothing else.
    """
    validate_metadata(Place(pod["metadata"], ("metadata",), findings))
    spec = Place(pod["spec"], ("spec",), findings)
    # Before the containers, since the longest sleep of their hooks depends on it.
    _settle_grace_period(spec)
    validate_volumes(spec)
    validate_containers(spec)
    validate_pod_security(spec)
    validate_os(spec)
    _validate_choices(spec)
    _validate_names(spec)
    _validate_network(spec)
    _validate_host_namespaces(spec)
    _validate_scheduling(spec)
    _validate_amounts(spec)
    warn_of_missing_containers(spec)


def _settle_grace_period(spec: Place) -> None:
    """Make a negative grace period one second, as API servers and kubelets since 1.27 do."""
    given = spec.get("terminationGracePeriodSeconds")
    if given < 0:
        spec.warn(f"counts as 1, not {given}", "terminationGracePeriodSeconds")
        spec.value["terminationGracePeriodSeconds"] = 1


def _validate_choices(spec: Place) -> None:
    spec.within("activeDeadlineSeconds", 1, _MAX_DEADLINE)
    spec.one_of("restartPolicy", ("Always", "OnFailure", "Never"))
    spec.one_of("dnsPolicy", _DNS_POLICIES)
    spec.one_of("preemptionPolicy", ("PreemptLowerPriority", "Never"))


def _validate_names(spec: Place) -> None:
    for name in ("serviceAccountName", "priorityClassName", "runtimeClassName"):
        spec.obeys(name, dns_subdomain)
    for secret in spec.each("imagePullSecrets"):
        # The image may be public, so it can be pulled without a Secret that cannot exist.
        if not secret.get("name") or dns_subdomain(secret.get("name")):
            secret.warn("can be the name of no Secret", "name")
    claims = list(spec.each("resourceClaims"))
    for claim in claims:
        claim.named("name", dns_label)
        claim.only_one(("resourceClaimName", "resourceClaimTemplateName"))
    told_twice(claims, "name", "is the name of more than one claim")
    for gate in spec.each("readinessGates"):
        gate.named("conditionType", qualified_name)
    for gate in spec.each("schedulingGates"):
        gate.wrong("a static pod is bound to its node, so nothing can gate its scheduling")


def _validate_network(spec: Place) -> None:
    for name in ("hostname", "subdomain"):
        spec.obeys(name, dns_label)
    spec.obeys("hostnameOverride", dns_subdomain)
    if len(spec.get("hostnameOverride", "")) > _MAX_HOSTNAME_LEN:
        spec.wrong(f"must be no longer than {_MAX_HOSTNAME_LEN} characters", "hostnameOverride")
    if spec.get("hostnameOverride") and spec.get("setHostnameAsFQDN"):
        spec.wrong("cannot stand beside setHostnameAsFQDN", "hostnameOverride")
    for alias in spec.each("hostAliases"):
        alias.named("ip", ip_address)
        alias.each_obeys("hostnames", dns_subdomain)
    dns = spec.child("dnsConfig")
    if dns is not None:
        _validate_dns(dns)
    if spec.get("dnsPolicy") == "None" and not spec.get("dnsConfig", {}).get("nameservers"):
        spec.wrong("needs at least one nameserver when dnsPolicy is None", "dnsConfig")


def _validate_dns(dns: Place) -> None:
    if len(dns.get("nameservers", ())) > _MAX_NAMESERVERS:
        dns.wrong(f"must be no more than {_MAX_NAMESERVERS}", "nameservers")
    dns.each_obeys("nameservers", ip_address)
    searches = dns.get("searches", ())
    if len(searches) > _MAX_SEARCHES or len(" ".join(searches)) > _MAX_SEARCH_LEN:
        text = f"must be no more than {_MAX_SEARCHES} with {_MAX_SEARCH_LEN} characters in all"
        dns.wrong(text, "searches")
    dns.each_obeys("searches", search_path)
    for option in dns.each("options"):
        option.required("name")


def _validate_host_namespaces(spec: Place) -> None:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        spec.wrong("cannot be true beside hostPID", "shareProcessNamespace")
    if spec.get("hostUsers") is False:
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(name):
                spec.wrong("cannot be true with hostUsers: false", name)


def _validate_scheduling(spec: Place) -> None:
    validate_labels(spec, "nodeSelector")
    for toleration in spec.each("tolerations"):
        validate_toleration(toleration)
    affinity = spec.child("affinity")
    if affinity is not None:
        validate_affinity(affinity)
    constraints = list(spec.each("topologySpreadConstraints"))
    for constraint in constraints:
        validate_spread(constraint)
    pairs: set[tuple[str, str]] = set()
    for constraint in constraints:
        pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        if pair in pairs:
            constraint.wrong("has a constraint of the same kind already", "topologyKey")
        pairs.add(pair)


def _validate_amounts(spec: Place) -> None:
    resources = spec.child("resources")
    if resources is not None:
        validate_pod_resources(resources)
    for name, text in spec.get("overhead", {}).items():
        if complaint := validate_resource_name(name):
            spec.wrong(complaint, "overhead", name)
        if amount(text) < 0:
            spec.wrong("must not be negative", "overhead", name)


def warn_of_missing_containers(spec: Place) -> None:
    """Warn of each ``containerName`` in ``spec`` that no container of it has."""
    names = {container.get("name") for container in _containers(spec)}
    for holder in _holders(spec):
        if reference := holder.child("resourceFieldRef"):
            # Without a name it means its own container. In a volume, that is refused elsewhere.
            name = reference.get("containerName")
            if name and name not in names:
                reference.warn("is the name of no container of the pod", "containerName")


def _containers(spec: Place) -> Iterator[Place]:
    for name in _CONTAINER_LISTS:
        yield from spec.each(name)


def _holders(spec: Place) -> Iterator[Place]:
    """Yield what can hold a ``resourceFieldRef``: variables and files of volumes."""
    for container in _containers(spec):
        for variable in container.each("env"):
            if source := variable.child("valueFrom"):
                yield source
    for volume in spec.each("volumes"):
        yield from _items(volume)
        if projected := volume.child("projected"):
            for source in projected.each("sources"):
                yield from _items(source)


def _items(holder: Place) -> Iterator[Place]:
    if downward := holder.child("downwardAPI"):
        yield from downward.each("items")


def validate_os(spec: Place) -> None:
    """Tell which fields do not fit ``spec.os``, if that is set."""
    system = spec.child("os")
    if system is None:
        return
    if system.required("name"):
        system.one_of("name", ("linux", "windows"))
    windows = system.get("name") == "windows"
    if windows:
        _refuse(spec, _LINUX_SPEC, "windows")
    _refuse_foreign(spec, _LINUX_POD_CONTEXT, windows=windows)
    for name in ("containers", "initContainers"):
        for container in spec.each(name):
            _refuse_foreign(container, _LINUX_CONTAINER_CONTEXT, windows=windows)


def _refuse_foreign(holder: Place, linux_only: tuple[str, ...], *, windows: bool) -> None:
    context = holder.child("securityContext")
    if context is None:
        return
    if windows:
        _refuse(context, linux_only, "windows")
    else:
        _refuse(context, ("windowsOptions",), "linux")


def _refuse(place: Place, names: tuple[str, ...], system: str) -> None:
    for name in names:
        if place.has(name):
            place.wrong(f"cannot be set when os.name is {system}", name)
