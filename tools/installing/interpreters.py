"""Which Python an installation is made for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.installing.failures import InstallError

SYSTEM: Final = Path("/usr/bin/python3")
HOMES: Final = (Path("/root"), Path("/home"))
"""What the unit does not let the agent see."""
SUITS: Final = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"


def use_shared_python() -> None:
    """Go on with Debian's interpreter if this one is in somebody's home directory.

    The service and other users could not run it there. Raises ``InstallError`` if there is no other.
    """
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if not any(base.is_relative_to(each) for each in HOMES):
        return
    if not _suits(SYSTEM):
        raise InstallError(
            f"{base} is in a home directory, where neither the service nor other users reach it: "
            "PYTHON=/path/to/python3 chooses another"
        )
    sys.stdout.write(f"{base} is in a home directory: the agent gets {SYSTEM}\n")
    sys.stdout.flush()
    os.execv(SYSTEM, [str(SYSTEM), "-m", "tools.installing", *sys.argv[1:]])  # noqa: S606


def _suits(python: Path) -> bool:
    if not python.exists():
        return False
    command = [str(python), "-c", SUITS]
    return not subprocess.run(command, capture_output=True, check=False).returncode  # noqa: S603
