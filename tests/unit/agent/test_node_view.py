"""How admission sees the node before an API server shows it, and the addresses of its machine."""

from __future__ import annotations

from agent.node_view import LOOK_EVERY, CurrentAddresses, configured_node
from tests.support.node.node_stage import FACTS, GIB
from tests.support.settings.settled import settled


def test_a_hollow_node_by_itself_has_labels_and_no_limits() -> None:
    node = configured_node(settled("--runtime=hollow", "--node-labels=zone=a"), FACTS)
    assert node.name == "node-1"
    assert node.labels["kubernetes.io/arch"] == "amd64"
    assert node.labels["zone"] == "a"
    assert node.labels["actorlet/runtime"] == "hollow"
    assert node.allocatable == {}


def test_limits_that_were_told_count() -> None:
    flags = ("--max-pods=7", "--hollow-capacity=cpu=2,memory=1Gi", "--system-reserved=cpu=500m")
    node = configured_node(settled("--runtime=hollow", *flags), FACTS)
    assert node.allocatable == {"cpu": 1500, "memory": GIB - 100 * 2**20, "pods": 7}


def test_a_node_of_a_cluster_has_what_its_machine_has() -> None:
    flags = ("--kubeconfig=k", "--runtime=hollow", "--register-with-taints=a:NoExecute")
    node = configured_node(settled(*flags), FACTS)
    assert node.allocatable["cpu"] == 4000
    assert node.allocatable["pods"] == 110
    assert node.taints == ({"key": "a", "effect": "NoExecute"},)


class Leases:
    """A machine whose address somebody else gives it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.addresses: tuple[str, ...] = ("192.0.2.7",)
        self.looks = 0

    def look(self) -> tuple[str, ...]:
        self.looks += 1
        return self.addresses


def test_an_address_that_changes_is_known_a_few_seconds_later_and_looked_up_once_meanwhile() -> (
    None
):
    leases = Leases()
    current = CurrentAddresses(leases.look, lambda: leases.now)
    assert {current() for _ in range(1000)} == {("192.0.2.7",)}
    assert leases.looks == 1

    leases.addresses = ("192.0.2.8", "2001:db8::8")
    leases.now += LOOK_EVERY
    assert {current() for _ in range(1000)} == {("192.0.2.8", "2001:db8::8")}
    assert leases.looks == 2


def test_while_there_is_none_the_last_one_counts() -> None:
    leases = Leases()
    current = CurrentAddresses(leases.look, lambda: leases.now)
    current()
    leases.addresses = ()
    leases.now += LOOK_EVERY
    assert current() == ("192.0.2.7",)
    leases.addresses = ("192.0.2.9",)
    leases.now += LOOK_EVERY
    assert current() == ("192.0.2.9",)


def test_a_machine_that_never_had_one_has_none() -> None:
    leases = Leases()
    leases.addresses = ()
    assert CurrentAddresses(leases.look, lambda: leases.now)() == ()
