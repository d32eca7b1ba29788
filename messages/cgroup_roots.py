"""Which cgroup may be the one that those of pods are made in. Pure."""

from __future__ import annotations

import re
from typing import Final

_ROOT: Final = re.compile(r"(?:/[A-Za-z0-9_.:@-]{1,200}){0,16}/?")


def is_root(root: str) -> bool:
    """Return whether ``root`` is a path that leads nowhere but down."""
    parts = root.split("/")
    return bool(_ROOT.fullmatch(root)) and not {".", ".."} & set(parts)
