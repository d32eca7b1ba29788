"""Addresses of hollow pods."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from runtimes.hollow.addresses import AddressesExhaustedError, AddressPool, PodAddresses


def pool(text: str) -> AddressPool:
    return AddressPool(ip_network(text))


def taken_all(addresses: AddressPool) -> list[str]:
    """Take until there is none, and return what was taken."""
    taken = []
    try:
        while True:
            taken.append(addresses.take())
    except AddressesExhaustedError:
        return taken


def test_network_bridge_and_broadcast_are_left_out() -> None:
    assert taken_all(pool("10.0.0.0/29")) == [f"10.0.0.{n}" for n in range(2, 7)]
    assert taken_all(pool("fd00::/126")) == ["fd00::2", "fd00::3"]
    assert pool("10.244.0.0/16").size == 65_533


@pytest.mark.parametrize("network", ["10.0.0.0/31", "10.0.0.0/32", "fd00::/128"])
def test_a_tiny_network_has_none(network: str) -> None:
    assert pool(network).size == 0
    with pytest.raises(AddressesExhaustedError, match="no IP addresses available in range set"):
        pool(network).take()


def test_an_address_that_came_back_is_given_again_last() -> None:
    addresses = pool("10.0.0.0/29")
    addresses.give_back(addresses.take())
    assert taken_all(addresses) == [f"10.0.0.{n}" for n in (3, 4, 5, 6, 2)]


def test_the_sentence_names_the_range() -> None:
    addresses = pool("10.0.0.0/29")
    taken_all(addresses)
    with pytest.raises(AddressesExhaustedError) as caught:
        addresses.take()
    assert str(caught.value) == "no IP addresses available in range set: 10.0.0.2-10.0.0.6"


def test_addresses_in_use_are_not_given_again() -> None:
    addresses = pool("10.0.0.0/29")
    addresses.begin_with(["10.0.0.3", "10.0.0.5", "192.168.0.1", "fd00::2"])
    assert taken_all(addresses) == ["10.0.0.6", "10.0.0.2", "10.0.0.4"]


def test_an_address_far_away_costs_no_search() -> None:
    addresses = pool("fd00::/64")
    addresses.begin_with(["fd00::ffff:ffff:ffff"])
    assert addresses.take() == "fd00::1:0:0:0"


def test_a_pod_has_one_of_each_family_or_none() -> None:
    both = PodAddresses([ip_network("10.0.0.0/29"), ip_network("fd00::/126")])
    assert both.take() == ("10.0.0.2", "fd00::2")
    assert both.take() == ("10.0.0.3", "fd00::3")
    with pytest.raises(AddressesExhaustedError):
        both.take()
    both.give_back(("10.0.0.2", "fd00::2", "10.9.9.9"))
    assert both.take() == ("10.0.0.5", "fd00::2")


def test_what_was_in_use_before_is_kept_for_each_family() -> None:
    both = PodAddresses([ip_network("10.0.0.0/29"), ip_network("fd00::/125")])
    both.begin_with(["10.0.0.2", "fd00::2", "fd00::3"])
    assert both.take() == ("10.0.0.3", "fd00::4")
