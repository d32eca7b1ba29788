"""An agent in a process of its own, seen from outside: endpoints, memory, processor time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Self

from benchmarks import processes
from benchmarks.pods import manifest
from tests.support.volumes.sweeping import sweep
from tests.support.wire.ports import free_ports

ROOT = Path(__file__).parents[1]

GIVE_UP_AFTER = 30.0
"""Seconds. Whatever takes that long is broken and not slow."""

_nothing = threading.Event()


def joining(kubeconfig: Path) -> tuple[str, ...]:
    """Return the flags that join a cluster."""
    return f"--kubeconfig={kubeconfig}", "--runtime=hollow", "--port=0"


def pause(seconds: float) -> None:
    """Let ``seconds`` pass."""
    _nothing.wait(seconds)


def wait_until(
    is_so: Callable[[], bool], poll_every: float, give_up_after: float = GIVE_UP_AFTER
) -> float:
    """Return the seconds until ``is_so``. Raises TimeoutError when it takes far too long."""
    began = perf_counter()
    while not is_so():
        pause(poll_every)
        if perf_counter() - began > give_up_after:
            raise TimeoutError(f"what was awaited did not happen within {give_up_after:.0f} s")
    return perf_counter() - began


class Agent:
    """``run.py`` on free ports, with a manifest directory that has a manifest for each of ``pods``.

    A context: the process starts at entry and is gone at exit.
    """

    def __init__(
        self, *flags: str, pods: Iterable[str] = (), descriptors: int | None = None
    ) -> None:
        """``descriptors`` is how many the process may have open, if not as many as usual."""
        self._flags = flags
        self._descriptors = descriptors
        self._directory = TemporaryDirectory(prefix="actorlet-bench-")
        self.manifests = Path(self._directory.name) / "manifests"
        self.manifests.mkdir()
        for name in pods:
            (self.manifests / f"{name}.yaml").write_bytes(manifest(name))
        self._log = Path(self._directory.name) / "log"
        self.root_dir = Path(self._directory.name) / "state"
        self.port, self._health_port = free_ports(2)
        self._connection = HTTPConnection("127.0.0.1", self.port, timeout=GIVE_UP_AFTER)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            command = _limited(self._command(), self._descriptors)
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GIVE_UP_AFTER)
            self._process.kill()
            self._process.wait()
        self._connection.close()
        sweep(Path(self._directory.name))
        self._directory.cleanup()

    def _command(self) -> list[str]:
        return [
            sys.executable,
            str(ROOT / "run.py"),
            "--hostname-override=node1",
            f"--root-dir={self.root_dir}",
            f"--pod-manifest-path={self.manifests}",
            f"--read-only-port={self.port}",
            f"--healthz-port={self._health_port}",
            "--runtime=hollow",  # whatever this machine has
            *self._flags,
        ]

    def wait_ready(self) -> None:
        """Return once ``/readyz`` says 200. Raises RuntimeError with the log when it ends instead."""
        wait_until(self._is_ready, poll_every=0.002)

    def _is_ready(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the agent ended: {self._log.read_text(encoding='utf-8')}")
        return self.status("/readyz") == 200

    def status(self, path: str, *, method: str = "GET") -> int:
        """Return how ``path`` answers; 0 when nobody does."""
        try:
            return self._ask(path, method)[0]
        except (OSError, HTTPException):
            return 0

    def is_healthy(self, *, on_read_only_port: bool = False) -> bool:
        """Return whether the healthz port says so, or the other. Each time it is a new connection."""
        port = self.port if on_read_only_port else self._health_port
        connection = HTTPConnection("127.0.0.1", port, timeout=GIVE_UP_AFTER)
        try:
            connection.request("GET", "/healthz", headers={"Connection": "close"})
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def document(self, path: str) -> dict[str, Any]:
        """Return the JSON of ``path``; empty when nobody answers, or not well."""
        try:
            status, body = self._ask(path, "GET")
        except (OSError, HTTPException):
            return {}
        document: dict[str, Any] = json.loads(body) if status == 200 else {}
        return document

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels; 0 when nobody answers."""
        return self.metrics(name)[0]

    def metrics(self, *names: str) -> list[float]:
        """Return the same for several, of the same moment."""
        return self.samples(*(rf"{name}(?:{{.*}})? (\S+)" for name in names))

    def samples(self, *patterns: str) -> list[float]:
        """Return the sum of the samples whose lines match, for each pattern; its group is the figure."""
        try:
            text = self._ask("/metrics", "GET")[1].decode()
        except (OSError, HTTPException):
            text = ""
        return [sum(map(float, re.findall(f"^{each}$", text, re.MULTILINE))) for each in patterns]

    def text(self, path: str) -> str:
        """Return the text of ``path``; empty when nobody answers."""
        try:
            return self._ask(path, "GET")[1].decode()
        except (OSError, HTTPException):
            return ""

    def pod_names(self) -> set[str]:
        """Return the names of the pods in ``/pods``, without the node's name."""
        items = self.document("/pods").get("items", ())
        return {item["metadata"]["name"].removesuffix("-node1") for item in items}

    def _ask(self, path: str, method: str) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException):
            self._connection.close()  # the next request opens it again
            raise

    def log_lines(self) -> int:
        """Return how many lines the log has so far."""
        with self._log.open("rb") as lines:
            return sum(1 for _ in lines)

    def rescan(self) -> None:
        """Have every source look again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    @property
    def pid(self) -> int:
        """Of the process, which has to have started."""
        assert self._process is not None
        return self._process.pid

    def resident_bytes(self) -> int:
        """Return how much memory the process has."""
        return processes.resident_bytes(self.pid)

    def cpu_seconds(self) -> float:
        """Return how long the process has computed, in user and system mode."""
        return processes.cpu_seconds(self.pid)


def _limited(command: list[str], descriptors: int | None) -> list[str]:
    if descriptors is None:
        return command
    return ["/bin/sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
