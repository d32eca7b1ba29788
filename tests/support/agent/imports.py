"""Which modules a started agent has imported, told by the interpreter and not by the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HOOK: Final = """
import os, sys

def tell(event, arguments):
    if event == "import":
        os.write(FILE, f"{os.getpid()} {arguments[0]}\\n".encode())

FILE = os.open(os.environ["IMPORTS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(tell)
"""


class Imports:
    """A log of imports in ``folder``, written by each interpreter that starts in ``environment``."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "imports"
        hook = folder / "hook"
        hook.mkdir()
        # Interpreters run it when they start.
        (hook / "sitecustomize.py").write_text(_HOOK)
        self.environment = {"PYTHONPATH": str(hook), "IMPORTS_FILE": str(self._file)}

    def of(self, pid: int) -> set[str]:
        """Return the packages that a process has begun to import, installed or not."""
        return {name for process, name in self._lines() if process == pid}

    def of_others(self, pid: int) -> set[str]:
        """Return those of all other processes, such as the children of this one."""
        return {name for process, name in self._lines() if process != pid}

    def _lines(self) -> list[tuple[int, str]]:
        words = (line.split() for line in self._file.read_text().splitlines())
        return [(int(pid), module.partition(".")[0]) for pid, module in words]
