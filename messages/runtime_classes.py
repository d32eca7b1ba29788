"""RuntimeClasses of the cluster: by which handler of the node's runtime pods of a class are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class RuntimeClasses:
    """What who runs containers follows: all RuntimeClasses. There is one such key, ``RUNTIME_CLASSES``."""


RUNTIME_CLASSES: Final = RuntimeClasses()
RuntimeHandlers: TypeAlias = Mapping[str, str]
"""Its value: the handler of each class, by its name. While the API server is away, as they were last."""
