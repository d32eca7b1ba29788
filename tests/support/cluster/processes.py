"""The programs of a real API server: where they are, how they are started, and how they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from tests.support.parents import dies_with_us
from tests.support.patience import PATIENCE

LOOK_EVERY = 0.1
TAIL = 4000
"""Characters of a program's log that are shown when it does not start."""


class StartError(Exception):
    """A program that did not get ready; the text ends with the end of its log."""


def assets() -> Path | None:
    """Return the folder of ``KUBEBUILDER_ASSETS`` if both programs are in it."""
    folder = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nowhere"))
    programs = (folder / "kube-apiserver", folder / "etcd")
    return folder if all(os.access(program, os.X_OK) for program in programs) else None


class Program:
    """One program that runs until ``kill``, or until the tests end in any way."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._name = Path(command[0]).name
        self._log = log
        self._command = [*dies_with_us(), *command]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, is_ready: Callable[[], bool]) -> None:
        """Start it and return once it is ready. Raises ``StartError``."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        pause = threading.Event()
        deadline = time.monotonic() + PATIENCE
        while not is_ready():
            if self._process.poll() is not None:
                self._give_up(f"ended with {self._process.returncode}")
            if time.monotonic() > deadline:
                self._give_up(f"was not ready within {PATIENCE:.0f} s")
            pause.wait(LOOK_EVERY)

    @property
    def pid(self) -> int:
        """Its process ID. It has to run."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def ends(self) -> None:
        """Return once it has ended, after a signal. Raises ``subprocess.TimeoutExpired`` when it goes on."""
        if self._process is not None:
            self._process.wait(PATIENCE)
            self._process = None

    def kill(self) -> None:
        """End it at once: all it has to lose is in files."""
        self.send(signal.SIGKILL)
        self.ends()

    def _give_up(self, what: str) -> NoReturn:
        self.kill()
        tail = self._log.read_text(errors="replace")[-TAIL:]
        raise StartError(f"{self._name} {what}; its log ends with:\n{tail}")
