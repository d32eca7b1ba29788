"""Which Python an installation, or the environment of a checkout, is made for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from settings.interpreter import OLDEST
from tools.installing.failures import InstallError

SYSTEM: Final = Path("/usr/bin/python3")
HOMES: Final = (Path("/root"), Path("/home"))
"""What the unit does not let the agent see."""
SUITS: Final = f"import ensurepip, sys, venv; sys.exit(sys.version_info < {OLDEST})"
ENVIRONMENT: Final = ("bin", "include", "lib", "lib64", "share", "pyvenv.cfg")
"""What an environment is made of. Its folder has stamps and the state of ``make run``, too."""


def make_environment(folder: Path) -> None:
    """Make an environment in ``folder`` by this interpreter, in place of one that may be there.

    Raises ``InstallError``.
    """
    check_python()
    for each in ENVIRONMENT:
        path = folder / each
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "venv", str(folder)]
    if subprocess.run(command, check=False).returncode:  # noqa: S603
        raise InstallError(f"a Python environment cannot be made in {folder}")


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


def check_python() -> None:
    """Raise ``InstallError`` if this interpreter cannot make environments."""
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        raise InstallError(
            f"{sys.executable} cannot make environments: on Debian, apt-get install python3-venv"
        ) from None


def _suits(python: Path) -> bool:
    if not python.exists():
        return False
    command = [str(python), "-c", SUITS]
    return not subprocess.run(command, capture_output=True, check=False).returncode  # noqa: S603
