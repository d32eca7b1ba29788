"""Services of the cluster, as far as containers are told of them in variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from messages.port import Port


class ClusterPort(NamedTuple):
    """One port of a Service."""

    port: int
    protocol: str = "TCP"
    name: str = ""
    """Empty if it has none, as the only port of a Service may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterService:
    """A Service with an address of its own. Those without one are nowhere told of."""

    namespace: str
    name: str
    address: str
    """``spec.clusterIP``."""
    ports: tuple[ClusterPort, ...]
    """In the order of the Service; never empty."""


ClusterServices: TypeAlias = tuple[ClusterService, ...]
"""By name. Shared between actors, and the identical tuple while nothing changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesAre:
    """The Services that pods of one namespace are told of. Complete; may repeat.

    Told as soon as they are known, and whenever they are other ones.
    """

    namespace: str
    """Empty for pods that want to know of no namespace's."""
    services: ClusterServices
    """Its own, and ``kubernetes`` in ``default``. While the API server is away, as they were last."""
    is_known: bool = True
    """False if this node may not know them, and never did: nobody need wait for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowServices:
    """Subscribes to the ``ServicesAre`` of one namespace.

    A subscription outlives crashes on both sides. One that repeats is told what is known once more.
    """

    subscriber: Port[ServicesAre]
    namespace: str
    """Empty for ``kubernetes`` in ``default`` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfollowServices:
    """Ends a subscription. Facts that are on their way may still arrive. May repeat."""

    subscriber: Port[ServicesAre]
    namespace: str


ServicesMessage: TypeAlias = FollowServices | UnfollowServices
"""What the keeper of Services hears from others."""
