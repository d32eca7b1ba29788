"""How hollow containers, images and sandboxes behave, and the rules where a pod says nothing. Pure.

Times that are drawn from ranges are the same for the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, NamedTuple, TypeAlias

from manifests.times import Span
from messages.units import Seconds

PodNetwork: TypeAlias = IPv4Network | IPv6Network
NO_TIME: Final = Span(Seconds(0.0), Seconds(0.0))
A_SECOND: Final = Span(Seconds(1.0), Seconds(1.0))
DEFAULT_POD_NETWORKS: Final = (IPv4Network("10.244.0.0/16"),)
"""Private, and large enough for 65,533 pods. Nodes that share a network need a ``--pod-cidr`` each."""
_FIELDS: Final = {
    "time-to-create-sandbox": "to_create_sandbox",
    "time-to-pull": "to_pull",
    "time-to-create": "to_create",
    "time-to-start": "to_start",
    "time-to-stop": "to_stop",
    "run-for": "run_for",
}


class Ending(NamedTuple):
    """How a container ends."""

    exit_code: int
    reason: str


COMPLETED: Final = Ending(0, "Completed")
KILLED: Final = Ending(137, "Error")
"""By SIGKILL."""
OUT_OF_MEMORY: Final = Ending(137, "OOMKilled")
NOT_STARTED: Final = Ending(128, "StartError")
"""Its command could not be executed."""


def ending_of(exit_code: int) -> Ending:
    """Return the ending of a process that ends with ``exit_code``."""
    return Ending(exit_code, "Error") if exit_code else COMPLETED


class Said(NamedTuple):
    """Something that a container writes to its log, so long after its start."""

    after: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerBehaviour:
    """What one container does. Equal ones are one object, so thousands of containers share it."""

    to_create: Span = NO_TIME
    to_start: Span = NO_TIME
    to_stop: Span = NO_TIME
    run_for: Span | None = None
    """How long it runs; None for ever."""
    exits: tuple[Ending | None, ...] = (COMPLETED,)
    """How each attempt ends, the first one first; the last is that of all later ones. None for an attempt
    that does not end by itself."""
    ready_after: Span = NO_TIME
    started_after: Span = NO_TIME
    """When its startup probe begins to succeed."""
    unready_after: Span | None = None
    """When its readiness probe begins to fail; None for never."""
    unready_for: Span | None = None
    """How long it fails then, before both begin anew; None for good."""
    hangs_after: Span | None = None
    """When none of its probes gets an answer any more; None for never."""
    message: str = ""
    """The termination message."""
    ignores_sigterm: bool = False
    stop_ending: Ending = COMPLETED
    """How it ends after SIGTERM."""
    create_error: str = ""
    """Why it cannot be created; empty if it can."""
    ends_by_signal: str = ""
    """A signal that it does not handle, such as ``SIGHUP``; empty if none ends it but those of a stop."""
    resize_error: str = ""
    exec_exit_code: int = 0
    for_post_start: Span | None = None
    """How long its hook takes; None for what the hook itself says."""
    post_start_error: str = ""
    """Why that hook fails; empty if it does not."""
    for_pre_stop: Span | None = None
    pre_stop_error: str = ""
    says: tuple[Said, ...] = ()

    def ending(self, attempt: int) -> Ending | None:
        """Return how this attempt ends; None if it runs until it is stopped."""
        return self.exits[min(attempt, len(self.exits) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBehaviour:
    """What happens when an image is pulled for a pod."""

    to_pull: Span = NO_TIME
    error: str = ""
    """Why it cannot be pulled; empty if it can."""
    failures: int | None = None
    """How many attempts fail with that error; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxBehaviour:
    """What happens to the sandboxes of a pod."""

    to_create: Span = NO_TIME
    error: str = ""
    """Why none can be made; empty if one can."""
    dies_after: Span | None = None
    """When the pod's first sandbox dies by itself; None for never."""


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
