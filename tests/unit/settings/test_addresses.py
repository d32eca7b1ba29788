"""Who can reach the two ports, and which addresses may be shown."""

from __future__ import annotations

from typing import Any

import pytest

from settings.addresses import masked_url
from tests.support.settings.settled import refusal, settled


def test_a_kubelet_s_address_without_its_read_only_port_stays_on_loopback() -> None:
    settings = settled(address="0.0.0.0", staticPodPath="/pods")
    assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
    (warning,) = settings.warnings
    assert warning.startswith("The read-only port listens on 127.0.0.1 and not on 0.0.0.0, ")


def test_a_kubelet_s_address_with_its_read_only_port_off_is_nobody_s_concern() -> None:
    settings = settled(address="10.0.0.4", readOnlyPort=0, staticPodPath="/pods")
    assert settings.read_only_port == 0
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ((), {"address": "0.0.0.0", "readOnlyPort": 10255}),
        (("--read-only-port=10255",), {"address": "10.0.0.4"}),
        (("--address=::",), {}),
        (("--address=10.0.0.4",), {"readOnlyPort": 1}),
    ],
)
def test_who_asks_for_a_reachable_read_only_port_must_insist(
    arguments: tuple[str, ...], fields: dict[str, Any]
) -> None:
    said = refusal(lambda: settled(*arguments, **fields))
    assert said.startswith("readOnlyPort on ")
    assert "insist with --allow-non-loopback" in said
    insisted = settled(*arguments, "--allow-non-loopback", **fields)
    assert insisted.address in {"0.0.0.0", "10.0.0.4", "::"}


def test_insisting_takes_a_file_s_address_at_its_word() -> None:
    settings = settled("--allow-non-loopback", address="0.0.0.0", staticPodPath="/pods")
    assert (settings.address, settings.warnings) == ("0.0.0.0", ())


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_needs_no_insisting(address: str) -> None:
    settings = settled(f"--address={address}", f"--healthz-bind-address={address}")
    assert (settings.address, settings.healthz_bind_address) == (address, address)


def test_a_reachable_healthz_port_must_be_insisted_on() -> None:
    said = refusal(lambda: settled(healthzBindAddress="0.0.0.0"))
    assert said.startswith("healthzPort on 0.0.0.0 would answer anybody")
    insisted = settled("--allow-non-loopback", healthzBindAddress="0.0.0.0")
    assert insisted.healthz_bind_address == "0.0.0.0"


def test_a_healthz_port_that_is_off_may_have_any_address() -> None:
    assert settled(healthzBindAddress="0.0.0.0", healthzPort=0).healthz_port == 0


def test_chaos_is_for_loopback_even_when_somebody_insists() -> None:
    assert settled("--enable-chaos").enable_chaos
    arguments = ("--enable-chaos", "--allow-non-loopback", "--address=0.0.0.0")
    assert refusal(lambda: settled(*arguments)) == (
        "--enable-chaos works on a loopback address only, not on 0.0.0.0"
    )


# For whom both ports answer.


def test_requests_may_be_for_the_names_and_addresses_of_this_machine() -> None:
    settings = settled(
        *("--hostname-override=web-7", "--allow-host=Tools.Example", "--allow-host=10.0.0.9"),
        *("--node-ip=10.0.0.7,2001:db8::7", "--allow-non-loopback", "--address=0.0.0.0"),
        healthzBindAddress="10.0.0.8",
    )
    names = {"web-7", "node-1", "tools.example"}
    assert settings.hosts == names | {"10.0.0.7", "2001:db8::7", "10.0.0.8", "10.0.0.9"}


@pytest.mark.parametrize("name", ["", "*", "*.example", "http://a", "a:80", "a b", "-", "a/b"])
def test_what_is_no_host_is_not_allowed(name: str) -> None:
    said = refusal(lambda: settled(f"--allow-host={name}"))
    assert "should be the name of a host or an IP address, without a port" in said


# What of a URL may be shown.


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8080/pods", "http://host:8080/pods"),
        ("https://me:hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://me@hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://host/pods?token=hunter2#hunter2", "https://host/pods?<masked>"),
        ("https://host/pods#hunter2", "https://host/pods"),
        ("http://[hunter2/pods", "<masked>"),
    ],
)
def test_user_query_and_fragment_are_not_shown(url: str, shown: str) -> None:
    assert masked_url(url) == shown
