"""The names of pods, their /etc/hosts, and how they resolve other names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.container_runtime import RuntimeFailureKind
from messages.pods import Pod
from runtimes.cri.configs.dns import (
    hosts_content,
    kernel_hostname,
    node_hosts_file,
    parse_resolv_conf,
    pod_dns,
    pod_hostname,
)
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.node import CriNode, NodeDns, ResolvConf
from tests.support.builders import make_pod

DOMAIN = "cluster.local"

NODES_OWN = ResolvConf(servers=("192.0.2.1",), searches=("lan",), options=("timeout:1",))
DNS = NodeDns(cluster_servers=("10.0.0.10",), cluster_domain="cluster.local", node=NODES_OWN)
NODE = CriNode(name="node", root_dir="/r", dns=DNS, ips=("192.0.2.7", "2001:db8::7"))
IN_CLUSTER = ResolvConf(
    servers=("10.0.0.10",),
    searches=("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"),
    options=("ndots:5",),
)


def pod_of(name: str = "web", **spec: Any) -> Pod:
    return make_pod(name, namespace="shop", spec=spec)


@pytest.mark.parametrize(
    ("pod", "name", "domain"),
    [
        (pod_of(), "web", ""),
        (pod_of(hostname="db"), "db", ""),
        (pod_of(hostname="db", subdomain="sub"), "db", "sub.shop.svc.cluster.local"),
        (pod_of(subdomain="sub"), "web", "sub.shop.svc.cluster.local"),
        (pod_of(hostnameOverride="a.b.c", hostname="db", subdomain="sub"), "a.b.c", ""),
        (pod_of("x" * 62 + ".y"), "x" * 62, ""),
        (pod_of("x" * 80), "x" * 63, ""),
    ],
)
def test_a_pod_is_called_as_it_says_or_else_by_its_name(pod: Pod, name: str, domain: str) -> None:
    assert pod_hostname(pod, DOMAIN) == (name, domain)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (pod_of(hostname="db", subdomain="sub"), "db"),
        (pod_of(setHostnameAsFQDN=True), "web"),
        (pod_of(setHostnameAsFQDN=True, subdomain="sub"), "web.sub.shop.svc.cluster.local"),
        (pod_of(hostNetwork=True, hostname="db"), ""),
    ],
)
def test_the_kernel_knows_the_short_name_unless_the_pod_says_otherwise(
    pod: Pod, expected: str
) -> None:
    assert kernel_hostname(pod, DOMAIN) == expected


def test_a_full_name_that_the_kernel_cannot_have_is_refused_for_now() -> None:
    pod = pod_of("x" * 40, setHostnameAsFQDN=True, subdomain="sub")
    with pytest.raises(ConfigRefusedError) as raised:
        kernel_hostname(pod, DOMAIN)
    assert raised.value.kind is RuntimeFailureKind.REFUSED
    assert raised.value.message == (
        "failed to construct FQDN from pod hostname and cluster domain, FQDN "
        f"{'x' * 40}.sub.shop.svc.cluster.local is too long (64 characters is the max, "
        "67 characters requested)"
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"hostname": "Not Ok"},
        {"subdomain": "a.b"},
        {"hostnameOverride": "-x"},
        {"hostname": "a\nb"},
    ],
)
def test_a_name_that_is_none_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ConfigRefusedError, match=next(iter(spec))):
        kernel_hostname(pod_of(**spec), DOMAIN)


def test_a_name_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(ConfigRefusedError, match="leaves no hostname"):
        pod_hostname(pod_of("." * 70), DOMAIN)


def lines(pod: Pod, *ips: str) -> list[str]:
    content = hosts_content(pod, ips, DOMAIN)
    assert content.endswith("\n") or not content
    return [line for line in content.splitlines() if line and not line.startswith("#")]


def test_the_hosts_file_names_localhost_and_the_pod() -> None:
    assert lines(pod_of(subdomain="sub"), "10.0.0.1", "fd00::1") == [
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
        "10.0.0.1\tweb.sub.shop.svc.cluster.local\tweb",
        "fd00::1\tweb.sub.shop.svc.cluster.local\tweb",
    ]
    assert lines(pod_of(), "10.0.0.1")[-1] == "10.0.0.1\tweb"
    assert node_hosts_file(pod_of()) == ""


def test_aliases_follow_also_on_the_nodes_network_where_the_nodes_file_comes_first() -> None:
    aliases = [{"ip": "192.0.2.1", "hostnames": ["a", "b"]}, {"ip": "192.0.2.2"}]
    assert lines(pod_of(hostAliases=aliases), "10.0.0.1")[-2:] == ["192.0.2.1\ta\tb", "192.0.2.2"]
    on_host = pod_of(hostNetwork=True, hostAliases=aliases)
    assert lines(on_host, "10.0.0.1") == ["192.0.2.1\ta\tb", "192.0.2.2"]
    assert node_hosts_file(on_host) == "/etc/hosts"
    assert hosts_content(pod_of(hostNetwork=True), ("10.0.0.1",), DOMAIN) == ""


def dns_of(node: CriNode = NODE, **spec: Any) -> ResolvConf:
    resolving, notices = pod_dns(make_pod(namespace="shop", spec=spec), node)
    assert notices == ()
    return resolving


def with_dns(**fields: Any) -> CriNode:
    return replace(NODE, dns=replace(DNS, **fields))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, IN_CLUSTER),
        ({"dnsPolicy": "ClusterFirst"}, IN_CLUSTER),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, NODES_OWN),
        ({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True}, IN_CLUSTER),
        ({"dnsPolicy": "ClusterFirstWithHostNet"}, IN_CLUSTER),
        ({"dnsPolicy": "Default"}, NODES_OWN),
        ({"dnsPolicy": "None"}, ResolvConf()),
        ({"dnsPolicy": "WhateverComesNext"}, IN_CLUSTER),
    ],
)
def test_the_policy_says_whose_servers_are_asked(
    spec: dict[str, Any], expected: ResolvConf
) -> None:
    assert dns_of(**spec) == expected


def test_without_a_domain_only_the_nodes_domains_are_searched() -> None:
    assert dns_of(with_dns(cluster_domain="")).searches == ("lan",)


def test_a_domain_is_searched_once() -> None:
    node = with_dns(node=replace(NODES_OWN, searches=("lan", "svc.cluster.local", "lan")))
    assert dns_of(node).searches == IN_CLUSTER.searches


def test_without_servers_of_the_cluster_the_nodes_are_asked_and_people_are_told() -> None:
    resolving, (notice,) = pod_dns(make_pod(uid="u1"), with_dns(cluster_servers=()))
    assert resolving == NODES_OWN
    assert notice.reason == "MissingClusterDNS"
    assert notice.message == (
        "clusterDNS is not set on this node: its pods ask the node's own name servers, which know no "
        "Services"
    )
    assert notice.is_of_node


def test_where_there_is_no_cluster_nobody_is_told_that_its_servers_are_missing() -> None:
    alone = with_dns(cluster_servers=(), is_of_cluster=False)
    assert pod_dns(make_pod(), alone) == (NODES_OWN, ())


def test_a_node_without_a_file_resolves_nothing() -> None:
    node = with_dns(node=None)
    assert dns_of(node, dnsPolicy="Default") == ResolvConf(
        servers=("127.0.0.1", "::1"), searches=(".",)
    )
    assert dns_of(replace(node, ips=()), dnsPolicy="Default").servers == ("127.0.0.1",)
    assert dns_of(replace(node, ips=("what",)), dnsPolicy="Default").servers == ("127.0.0.1",)
    assert dns_of(node).searches == IN_CLUSTER.searches[:3]


def test_what_the_pod_configures_is_added_and_its_options_are_stronger() -> None:
    config = {
        "nameservers": ["10.0.0.10", "192.0.2.9"],
        "searches": ["mine", "lan"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    assert dns_of(dnsConfig=config) == ResolvConf(
        servers=("10.0.0.10", "192.0.2.9"),
        searches=(*IN_CLUSTER.searches, "mine"),
        options=("ndots:2", "edns0"),
    )
    assert dns_of(dnsPolicy="None", dnsConfig=config).servers == ("10.0.0.10", "192.0.2.9")


def test_three_servers_are_asked_and_people_are_told_which() -> None:
    config = {"nameservers": [f"192.0.2.{number}" for number in range(20, 24)]}
    resolving, (notice,) = pod_dns(make_pod(spec={"dnsConfig": config}), NODE)
    assert resolving.servers == ("10.0.0.10", "192.0.2.20", "192.0.2.21")
    assert notice.reason == "DNSConfigForming"
    assert notice.message == (
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied "
        "nameserver line is: 10.0.0.10 192.0.2.20 192.0.2.21"
    )


@pytest.mark.parametrize(
    ("searches", "applied"),
    [
        ([f"d{number}" for number in range(40)], 32),
        ([f"{number}{'x' * 99}" for number in range(10, 32)], 20),
        (["short", "x" * 254, "too"], 2),
        (["x" * 253] * 1, 1),
    ],
)
def test_domains_that_are_too_many_or_too_long_are_left_out(
    searches: list[str], applied: int
) -> None:
    spec = {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"], "searches": searches}}
    resolving, notices = pod_dns(make_pod(spec=spec), NODE)
    assert len(resolving.searches) == applied
    assert len(" ".join(resolving.searches)) <= 2048
    if applied < len(searches):
        assert notices[0].reason == "DNSConfigForming"
        assert notices[0].message == (
            "Search Line limits were exceeded, some search paths have been omitted, the applied "
            f"search line is: {' '.join(resolving.searches)}"
        )
    else:
        assert notices == ()


def test_a_file_is_read_as_resolvers_read_it() -> None:
    content = b"""# nameserver 9.9.9.9
; domain old
domain ignored.example
nameserver 192.0.2.1 and more
  nameserver\t192.0.2.2
nameserver
search first second
search lan. . example.org
options timeout:1 rotate
options timeout:2
sortlist 1.2.3.4
"""
    assert parse_resolv_conf(content) == ResolvConf(
        servers=("192.0.2.1", "192.0.2.2"),
        searches=("lan", ".", "example.org"),
        options=("timeout:2", "rotate"),
    )


@given(st.binary(max_size=300))
def test_a_hostile_file_is_read_somehow(content: bytes) -> None:
    parse_resolv_conf(content)
    parse_resolv_conf(b"nameserver " + content)
