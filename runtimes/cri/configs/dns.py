"""How a pod resolves names: its policy, its own configuration, and the limits of resolvers. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.node import CriNode, ResolvConf
from runtimes.cri.configs.refusals import ConfigNotice

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
