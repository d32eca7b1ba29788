"""Services of the cluster, as far as containers are told of them in variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
