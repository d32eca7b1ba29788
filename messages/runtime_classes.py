"""RuntimeClasses of the cluster: by which handler of the node's runtime pods of a class are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from messages.port import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeClassesAre:
    """All RuntimeClasses. Complete; told as soon as they are known, and whenever they change; may repeat."""

    handlers: Mapping[str, str]
    """The handler of each, by its name. While the API server is away, as they were last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRuntimeClasses:
    """Subscribes to every ``RuntimeClassesAre``. Outlives crashes on both sides; may repeat."""

    subscriber: Port[RuntimeClassesAre]
