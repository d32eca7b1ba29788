"""How pods resolve names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.cri.configs.dns import pod_dns
from runtimes.cri.configs.node import CriNode, NodeDns, ResolvConf
from runtimes.cri.configs.resolv_conf import parse_resolv_conf
from tests.support.builders import make_pod

NODES_OWN = ResolvConf(servers=("192.0.2.1",), searches=("lan",), options=("timeout:1",))
DNS = NodeDns(cluster_servers=("10.0.0.10",), cluster_domain="cluster.local", node=NODES_OWN)
NODE = CriNode(name="node", root_dir="/r", dns=DNS, ips=("192.0.2.7", "2001:db8::7"))
IN_CLUSTER = ResolvConf(
    servers=("10.0.0.10",),
    searches=("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"),
    options=("ndots:5",),
)


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
