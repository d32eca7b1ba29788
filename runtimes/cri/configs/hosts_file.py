"""The content of a pod's ``/etc/hosts``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import spec_of
from runtimes.cri.configs.hostname import pod_hostname
from runtimes.cri.configs.namespaces import is_on_host_network

NODE_HOSTS_FILE: Final = "/etc/hosts"
_STANDARD: Final = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hosts_content(pod: Pod, ips: Sequence[str], cluster_domain: str) -> str:
    """Return what a pod's file says. On the node's network it is what follows the node's own file."""
    lines = [] if is_on_host_network(spec_of(pod)) else [*_own(pod, ips, cluster_domain)]
    lines += _aliases(spec_of(pod))
    return "".join(f"{line}\n" for line in lines)


def node_hosts_file(pod: Pod) -> str:
    """Return the file of the node whose content comes first; empty for a pod with a network of its own."""
    return NODE_HOSTS_FILE if is_on_host_network(spec_of(pod)) else ""


def _own(pod: Pod, ips: Sequence[str], cluster_domain: str) -> Iterator[str]:
    hostname = pod_hostname(pod, cluster_domain)
    yield "# Written by the node's agent. What is changed here is lost with the container."
    yield from _STANDARD
    names = [hostname.full, hostname.name] if hostname.domain else [hostname.name]
    for ip in ips:
        yield "\t".join((ip, *names))


def _aliases(spec: JsonObject) -> Iterator[str]:
    aliases = spec.get("hostAliases") or ()
    if aliases:
        yield ""
        yield "# From the pod's hostAliases."
    for alias in aliases:
        yield "\t".join((alias.get("ip") or "", *(alias.get("hostnames") or ())))
