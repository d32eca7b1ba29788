"""Services of the cluster, as far as containers are told of them in variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


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


@dataclass(frozen=True, slots=True)
class ServicesIn:
    """What a worker follows: the Services that pods of one namespace are told of.

    Their value is complete: those of the namespace, and ``kubernetes`` in ``default``. While the API server
    is away they are as they were last. None if this node may not know them, and never did: nobody need wait
    for them.
    """

    namespace: str
    """Empty for ``kubernetes`` in ``default`` alone."""
