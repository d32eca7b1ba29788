"""How pods are called, and what their /etc/hosts says."""

from __future__ import annotations

from typing import Any

import pytest

from messages.container_runtime import RuntimeFailureKind
from messages.pods import Pod
from runtimes.cri.configs.hostname import kernel_hostname, pod_hostname
from runtimes.cri.configs.hosts_file import hosts_content, node_hosts_file
from runtimes.cri.configs.refusals import ConfigRefusedError
from tests.support.builders import make_pod

DOMAIN = "cluster.local"


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
