"""Who can reach the ports, and which addresses may be shown."""

from __future__ import annotations

from typing import Any

import pytest

from settings.addresses import masked_url
from tests.support.settings.settled import NO_SOURCE, refusal, settled

READ_ONLY = "127.0.0.1"


@pytest.mark.parametrize(
    ("arguments", "fields", "told"),
    [
        ((), {"address": "0.0.0.0"}, "0.0.0.0"),
        ((), {"address": "0.0.0.0", "readOnlyPort": 10255}, "0.0.0.0"),
        (("--read-only-port=10255",), {"address": "10.0.0.4"}, "10.0.0.4"),
        (("--address=::",), {}, "::"),
        (("--address=10.0.0.4",), {"readOnlyPort": 1}, "10.0.0.4"),
        (("--kubeconfig=k", "--address=10.0.0.4"), {}, "10.0.0.4"),
    ],
)
def test_an_address_that_others_reach_is_the_tls_port_s_alone_unless_somebody_insists(
    arguments: tuple[str, ...], fields: dict[str, Any], told: str
) -> None:
    settings = settled(*arguments, staticPodPath="/pods", **fields)
    assert (settings.address, settings.server.address) == (READ_ONLY, told)
    (warning,) = settings.warnings
    assert warning == (
        f"The read-only port listens on 127.0.0.1 and not on {told}, which is for the TLS port; "
        "--allow-non-loopback changes that"
    )
    insisted = settled(*arguments, "--allow-non-loopback", staticPodPath="/pods", **fields)
    assert (insisted.address, insisted.server.address) == (told, told)
    assert insisted.warnings == ()


def test_an_address_with_the_read_only_port_off_is_nobody_s_concern() -> None:
    settings = settled(address="10.0.0.4", readOnlyPort=0, staticPodPath="/pods")
    assert (settings.read_only_port, settings.warnings) == (0, ())


def test_the_tls_port_is_on_all_addresses_where_none_is_named() -> None:
    settings = settled("--kubeconfig=k")
    assert (settings.address, settings.server.address) == (READ_ONLY, "0.0.0.0")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_needs_no_insisting(address: str) -> None:
    settings = settled(f"--address={address}", f"--healthz-bind-address={address}")
    assert (settings.address, settings.healthz_bind_address) == (address, address)
    assert (settings.server.address, settings.warnings) == (address, (NO_SOURCE,))


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


# For whom the ports without TLS answer.


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
