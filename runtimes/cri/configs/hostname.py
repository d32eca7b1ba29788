"""The name that a pod has for itself, and the domain that it is in. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from manifests.names import dns_label, dns_subdomain
from messages.pods import Pod
from runtimes.cri.configs.documents import spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.refusals import not_now

LONGEST_HOSTNAME: Final = 63
LONGEST_KERNEL_NAME: Final = 64
"""Characters that the kernel has for a host's name."""


class PodHostname(NamedTuple):
    """How a pod is called in its cluster."""

    name: str
    domain: str
    """Empty for a pod without a subdomain."""

    @property
    def full(self) -> str:
        """Name and domain."""
        return f"{self.name}.{self.domain}" if self.domain else self.name


def pod_hostname(pod: Pod, cluster_domain: str) -> PodHostname:
    """Return the name and the domain of a pod, or refuse what can be none."""
    spec = spec_of(pod)
    if override := spec.get("hostnameOverride"):
        _demand(dns_subdomain(override), "hostnameOverride", override)
        return PodHostname(_cut(override, LONGEST_KERNEL_NAME), "")
    if given := spec.get("hostname"):
        _demand(dns_label(given), "hostname", given)
    if subdomain := spec.get("subdomain"):
        _demand(dns_label(subdomain), "subdomain", subdomain)
    domain = f"{subdomain}.{pod.namespace}.svc.{cluster_domain}" if subdomain else ""
    return PodHostname(_cut(given or pod.name, LONGEST_HOSTNAME), domain)


def kernel_hostname(pod: Pod, cluster_domain: str) -> str:
    """Return the name that a pod's processes ask the kernel for. Empty if it is the node's own."""
    spec = spec_of(pod)
    if is_on_host_network(spec):
        return ""
    hostname = pod_hostname(pod, cluster_domain)
    if not spec.get("setHostnameAsFQDN") or not hostname.domain:
        return hostname.name
    if len(hostname.full) > LONGEST_KERNEL_NAME:
        raise not_now(
            "failed to construct FQDN from pod hostname and cluster domain, FQDN "
            f"{hostname.full} is too long ({LONGEST_KERNEL_NAME} characters is the max, "
            f"{len(hostname.full)} characters requested)"
        )
    return hostname.full


def _demand(complaint: str, field: str, value: str) -> None:
    if complaint:
        raise not_now(f"spec.{field} {value[:LONGEST_KERNEL_NAME]!r} {complaint}")


def _cut(name: str, longest: int) -> str:
    cut = name if len(name) <= longest else name[:longest].rstrip("-.")
    if not cut:
        raise not_now("the name of the pod leaves no hostname")
    return cut
