"""What a hollow runtime is told: how long things take where a pod says nothing, and the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, TypeAlias

from manifests.durations import Span
from messages.units import Seconds

PodNetwork: TypeAlias = IPv4Network | IPv6Network

NO_TIME: Final = Span(Seconds(0.0), Seconds(0.0))
A_SECOND: Final = Span(Seconds(1.0), Seconds(1.0))

DEFAULT_POD_NETWORKS: Final = (IPv4Network("10.244.0.0/16"),)
"""Private, and large enough for 65,533 pods. Nodes that share a network need a ``--pod-cidr`` each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowRules:
    """How hollow containers behave unless the annotations of their pod say otherwise."""

    to_create_sandbox: Span = NO_TIME
    to_pull: Span = NO_TIME
    to_create: Span = NO_TIME
    to_start: Span = NO_TIME
    to_stop: Span = NO_TIME
    """From SIGTERM to the end."""
    run_for: Span = A_SECOND
    """Of a container that ends by itself, and does not say when: one of a Job, say."""
    pod_networks: tuple[PodNetwork, ...] = DEFAULT_POD_NETWORKS
    """Where pods have their addresses: one network, or one of each family, the primary one first."""
    seed: str = ""
    """Times that are drawn from ranges, and ids, are the same for the same seed."""


_FIELDS: Final = {
    "time-to-create-sandbox": "to_create_sandbox",
    "time-to-pull": "to_pull",
    "time-to-create": "to_create",
    "time-to-start": "to_start",
    "time-to-stop": "to_stop",
    "run-for": "run_for",
}


def rules_of(
    times: Mapping[str, Span], networks: Sequence[str] = (), seed: str = ""
) -> HollowRules:
    """Return the rules with these ``times``, by the names of the annotations, and these ``networks``.

    What is not named is as by default.
    """
    found = tuple(ip_network(network) for network in networks)
    rules = HollowRules(pod_networks=found or DEFAULT_POD_NETWORKS, seed=seed)
    fields: dict[str, Any] = {_FIELDS[name]: span for name, span in times.items()}
    return replace(rules, **fields)


def drawn(span: Span, seed: str, *names: object) -> Seconds:
    """Return a duration of ``span``: always the same one for the same seed and names.

    So a restart of the agent draws what was drawn before, whatever else runs.
    """
    if span.least == span.most:
        return span.least
    key = "\0".join((seed, *map(str, names))).encode()
    share = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") / 2**64
    return Seconds(span.least + (span.most - span.least) * share)
