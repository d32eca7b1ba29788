"""What the cluster says of its Services, for the variables of containers, and of its RuntimeClasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias


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


@dataclass(frozen=True, slots=True)
class RuntimeClasses:
    """What who runs containers follows: all RuntimeClasses. There is one such key, ``RUNTIME_CLASSES``."""


RUNTIME_CLASSES: Final = RuntimeClasses()
RuntimeHandlers: TypeAlias = Mapping[str, str]
"""Its value: the handler of each class, by its name. While the API server is away, as they were last."""
