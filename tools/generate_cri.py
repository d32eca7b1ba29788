"""Writes the modules of the Container Runtime Interface's messages: ``python -m tools.generate_cri``.

They are made from the ``.proto`` files in ``runtimes/cri/wire`` and are checked in, so that the agent needs
no compiler. A test makes them again and compares. ``make proto`` is the same.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WIRE = Path("runtimes/cri/wire")
SOURCES = ("cri.proto", "containerd_events.proto", "containerd_tasks.proto")


def generate(target: Path) -> None:
    """Write the modules and their stubs below ``target``. Raises ``CalledProcessError`` if that fails."""
    words = (
        "-I.",
        f"--python_out={target}",
        f"--pyi_out={target}",
        *(str(WIRE / each) for each in SOURCES),
    )
    command = (sys.executable, "-m", "grpc_tools.protoc", *words)
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603  # nothing of it comes from outside


if __name__ == "__main__":
    generate(ROOT)
