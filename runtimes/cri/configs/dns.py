"""The name of a pod, its ``/etc/hosts``, and how it resolves other names. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from manifests.names import dns_label, dns_subdomain
from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import ConfigNotice, not_now, spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.node import CriNode, ResolvConf

LONGEST_HOSTNAME: Final = 63
LONGEST_KERNEL_NAME: Final = 64
"""Characters that the kernel has for a host's name."""

NODE_HOSTS_FILE: Final = "/etc/hosts"
_STANDARD: Final = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)

LARGEST_RESOLV_CONF: Final = 10 << 20
"""Bytes. What is beyond is not read."""

MOST_SERVERS: Final = 3
MOST_SEARCHES: Final = 32
LONGEST_SEARCH: Final = 253
"""Characters of one domain: resolvers abort at longer ones."""
LONGEST_SEARCHES: Final = 2048
"""Characters of all domains, with a space between."""
_CLUSTER_OPTIONS: Final = ("ndots:5",)

_NO_CLUSTER_DNS: Final = ConfigNotice(
    "MissingClusterDNS",
    "clusterDNS is not set on this node: its pods ask the node's own name servers, which know no Services",
    is_of_node=True,
)


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


def hosts_content(pod: Pod, ips: Sequence[str], cluster_domain: str) -> str:
    """Return what a pod's file says. On the node's network it is what follows the node's own file."""
    lines = [] if is_on_host_network(spec_of(pod)) else [*_own_lines(pod, ips, cluster_domain)]
    lines += _alias_lines(spec_of(pod))
    return "".join(f"{line}\n" for line in lines)


def node_hosts_file(pod: Pod) -> str:
    """Return the file of the node whose content comes first; empty for a pod with a network of its own."""
    return NODE_HOSTS_FILE if is_on_host_network(spec_of(pod)) else ""


def _own_lines(pod: Pod, ips: Sequence[str], cluster_domain: str) -> Iterator[str]:
    hostname = pod_hostname(pod, cluster_domain)
    yield "# Written by the node's agent. What is changed here is lost with the container."
    yield from _STANDARD
    names = [hostname.full, hostname.name] if hostname.domain else [hostname.name]
    for ip in ips:
        yield "\t".join((ip, *names))


def _alias_lines(spec: JsonObject) -> Iterator[str]:
    aliases = spec.get("hostAliases") or ()
    if aliases:
        yield ""
        yield "# From the pod's hostAliases."
    for alias in aliases:
        yield "\t".join((alias.get("ip") or "", *(alias.get("hostnames") or ())))


def parse_resolv_conf(content: bytes) -> ResolvConf:
    """Return what ``content`` says. Lines that say nothing that can be understood are passed over.

    As for the C library the last ``search`` counts, and of options of one name the last one. ``domain`` is
    not heeded, as by kubelets.
    """
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    for line in content[:LARGEST_RESOLV_CONF].decode(errors="replace").splitlines():
        fields = line.strip().split()
        if not fields or fields[0].startswith(("#", ";")):
            continue
        match fields[0]:
            case "nameserver" if len(fields) > 1:
                servers.append(fields[1])
            case "search":
                searches = tuple(_without_dot(domain) for domain in fields[1:])
            case "options":
                options.update({option.partition(":")[0]: option for option in fields[1:]})
            case _:
                pass
    return ResolvConf(servers=tuple(servers), searches=searches, options=tuple(options.values()))


def _without_dot(domain: str) -> str:
    return domain if domain == "." else domain.removesuffix(".")


def pod_dns(pod: Pod, node: CriNode) -> tuple[ResolvConf, tuple[ConfigNotice, ...]]:
    """Return how ``pod`` resolves names, and what people should know of that."""
    base, notices = _by_policy(pod, node)
    return _within_limits(_merged(base, spec_of(pod).get("dnsConfig") or {}), notices)


def _by_policy(pod: Pod, node: CriNode) -> tuple[ResolvConf, tuple[ConfigNotice, ...]]:
    spec = spec_of(pod)
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    if policy == "None":
        return ResolvConf(), ()
    if policy == "Default" or (policy == "ClusterFirst" and is_on_host_network(spec)):
        return _of_node(node), ()
    if not node.dns.cluster_servers:
        return _of_node(node), (_NO_CLUSTER_DNS,) if node.dns.is_of_cluster else ()
    searches = node.dns.node.searches if node.dns.node is not None else ()
    return (
        ResolvConf(
            servers=node.dns.cluster_servers,
            searches=_cluster_searches(pod.namespace, node.dns.cluster_domain, searches),
            options=_CLUSTER_OPTIONS,
        ),
        (),
    )


def _of_node(node: CriNode) -> ResolvConf:
    if node.dns.node is not None:
        return node.dns.node
    # Nothing would mean the runtime's own choice, which is the node's file: a pod here resolves nothing.
    loopbacks = ("::1" if _is_ipv6(ip) else "127.0.0.1" for ip in node.ips)
    return ResolvConf(servers=_unique(loopbacks) or ("127.0.0.1",), searches=(".",))


def _cluster_searches(namespace: str, domain: str, searches: tuple[str, ...]) -> tuple[str, ...]:
    if not domain:
        return searches
    return _unique((f"{namespace}.svc.{domain}", f"svc.{domain}", domain, *searches))


def _merged(base: ResolvConf, config: JsonObject) -> ResolvConf:
    options = {option.partition(":")[0]: option for option in base.options}
    for option in config.get("options") or ():
        name, value = option.get("name") or "", option.get("value")
        options[name] = f"{name}:{value}" if value else name
    return ResolvConf(
        servers=_unique((*base.servers, *(config.get("nameservers") or ()))),
        searches=_unique((*base.searches, *(config.get("searches") or ()))),
        options=tuple(options.values()),
    )


def _within_limits(
    wanted: ResolvConf, notices: tuple[ConfigNotice, ...]
) -> tuple[ResolvConf, tuple[ConfigNotice, ...]]:
    servers, searches = wanted.servers[:MOST_SERVERS], _fitting_searches(wanted.searches)
    if servers != wanted.servers:
        text = (
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied "
            f"nameserver line is: {' '.join(servers)}"
        )
        notices += (ConfigNotice("DNSConfigForming", text),)
    if searches != wanted.searches:
        text = (
            "Search Line limits were exceeded, some search paths have been omitted, the applied "
            f"search line is: {' '.join(searches)}"
        )
        notices += (ConfigNotice("DNSConfigForming", text),)
    return ResolvConf(servers=servers, searches=searches, options=wanted.options), notices


def _fitting_searches(searches: tuple[str, ...]) -> tuple[str, ...]:
    fitting = [domain for domain in searches[:MOST_SEARCHES] if len(domain) <= LONGEST_SEARCH]
    while len(" ".join(fitting)) > LONGEST_SEARCHES:
        fitting.pop()
    return tuple(fitting)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _is_ipv6(ip: str) -> bool:
    try:
        return ipaddress.ip_address(ip).version == 6
    except ValueError:
        return False
