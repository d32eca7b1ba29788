"""A program of the benchmarks in a process of its own, which answers each line with a line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Self

from benchmarks.agent import ROOT


class Sidekick:
    """``python -m <module> <arguments>``, for as long as the context lasts."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, *arguments]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def ask(self, question: str) -> dict[str, Any]:
        """Return what it answers. Raises BrokenPipeError or ValueError when it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return self.hear()

    def hear(self) -> dict[str, Any]:
        """Return what it says by itself. Raises ValueError when it has ended."""
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer
