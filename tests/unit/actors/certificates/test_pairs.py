"""When the node's own certificate is made anew, and whom it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from actors.certificates.pairs import Pair, WantedNames, why_anew
from messages.units import Timestamp

SINCE: Final = Timestamp(1_000_000.0)
UNTIL: Final = Timestamp(2_000_000.0)
OURS: Final = Pair(
    certificate=b"certificate",
    key=b"key",
    since=SINCE,
    until=UNTIL,
    names=("n1",),
    addresses=("192.0.2.7", "2001:db8::7"),
    is_self_signed=True,
)
A_KUBELETS: Final = replace(OURS, addresses=(), is_self_signed=False)
WANTED: Final = WantedNames.of("n1", ["192.0.2.7", "2001:db8::7"])
SOON: Final = "less than a fifth of its life is left"


@pytest.mark.parametrize(
    ("pair", "now", "why"),
    [
        (OURS, SINCE - 1, "it begins later than now"),
        (OURS, SINCE, ""),
        (OURS, 1_800_000, ""),
        (OURS, 1_800_001, SOON),
        (OURS, UNTIL + 1, SOON),
        (A_KUBELETS, SINCE, ""),
        (A_KUBELETS, 1_800_001, SOON),
        (replace(OURS, names=("n2",)), SINCE, "it is for another name"),
        (replace(A_KUBELETS, names=()), SINCE, "it is for another name"),
        (replace(OURS, names=("n1", "localhost")), SINCE, ""),
        (replace(OURS, addresses=("2001:db8::7", "192.0.2.7")), SINCE, ""),
        (replace(OURS, addresses=()), SINCE, "it is for other addresses"),
        (replace(OURS, addresses=("192.0.2.7",)), SINCE, "it is for other addresses"),
        (replace(OURS, addresses=("192.0.2.8",)), SINCE, "it is for other addresses"),
    ],
)
def test_why_a_certificate_is_made_anew(pair: Pair, now: float, why: str) -> None:
    assert why_anew(pair, WANTED, Timestamp(now)) == why


def test_a_node_that_knows_no_address_keeps_its_certificate() -> None:
    assert why_anew(OURS, WantedNames.of("n1", ()), SINCE) == ""


@pytest.mark.parametrize(
    ("addresses", "wanted"),
    [
        ((), ()),
        (("192.0.2.7", "192.0.2.7"), ("192.0.2.7",)),
        (("2001:DB8:0::7",), ("2001:db8::7",)),
        (("fe80::1%eth0",), ("fe80::1",)),
        (("192.0.2.7", "n1.example"), ("192.0.2.7",)),
    ],
)
def test_addresses_are_wanted_as_certificates_have_them(
    addresses: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert WantedNames.of("n1", addresses).addresses == wanted


def test_a_name_is_wanted_as_certificates_have_it() -> None:
    assert WantedNames.of("N1", ()).name == "n1"
