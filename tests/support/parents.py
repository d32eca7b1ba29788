"""Processes that tests start, and that are not to outlive them."""

from __future__ import annotations

import shutil


def dies_with_us() -> list[str]:
    """Return what to put before a command so that it ends with its parent, even by SIGKILL.

    The parent is the thread that starts it.
    """
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
