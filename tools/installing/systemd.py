"""Tells systemd that a unit came or went, where it runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

RUNS: Final = Path("/run/systemd/system")
"""Is there if systemd has started this machine."""


def tell_systemd(*words: str) -> None:
    """Run systemctl if it can do anything. What it thinks of it is its own matter."""
    if RUNS.is_dir() and os.geteuid() == 0:
        subprocess.run(  # noqa: S603  # nothing of it comes from outside
            ["systemctl", "--quiet", *words],  # noqa: S607  # that of the PATH
            check=False,
        )
