"""The agent as a process of its own: started, watched through its endpoints and its log, and ended.

Everything is polled for, with a deadline: what a test waits for happens on other threads of another
process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from tests.support.canary import LOOKOUT
from tests.support.parents import dies_with_us
from tests.support.patience import PATIENCE
from tests.support.volumes.sweeping import sweep
from tests.support.wire.client import SLOW, Answer, NotYet, fetch
from tests.support.wire.ports import free_ports

T = TypeVar("T")

ROOT = Path(__file__).parents[3]
QUESTIONS = 5
"""How often an agent is asked, one of whose actors is too slow for two seconds."""
_pause = threading.Event()


def eventually(found: Callable[[], T | None], patience: float = PATIENCE) -> T:
    """Return the first answer of ``found`` that is true; fail when there is none in time.

    That nobody takes its connection, or cuts it, is no answer.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            answer = found()
        except (NotYet, ConnectionError) as error:
            said = repr(error)
        else:
            if answer:
                return answer
            said = repr(answer)
        assert time.monotonic() < deadline, f"still {said} after {patience:g} s"
        _pause.wait(0.01)


def manifest(name: str, image: str = "registry.example/web:1") -> str:
    """Return the text of a small manifest."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
        f"spec:\n  containers:\n  - {{name: main, image: {image}}}\n"
    )


class AgentProcess:
    """``run.py`` on free ports, with a directory of manifests that need not exist."""

    def __init__(self, folder: Path) -> None:
        self.manifests = folder / "manifests"
        self.root_dir = folder / "root"
        self.log_file = folder / "log"
        self.port, self.health_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        sweep(self.root_dir)  # volumes that were mounted when it was killed
        if self.log_file.exists():
            LOOKOUT.look("the log of an agent", self.log())

    def write(self, name: str, text: str) -> None:
        """Put a file into the directory in one step, as editors and deployments do."""
        self.manifests.mkdir(exist_ok=True)
        beside = self.manifests / f".{name}.new"
        beside.write_text(text)
        beside.replace(self.manifests / name)

    def start(
        self,
        *flags: str,
        environment: Mapping[str, str] | None = None,
        stderr: IO[bytes] | int | None = None,
        launcher: Sequence[str] = (),
        code: Path = ROOT,
    ) -> Self:
        """Start it, by ``launcher`` if that is given; its log goes to ``log_file`` or ``stderr``.

        ``code`` is the folder that has ``run.py``.
        """
        command = [
            *dies_with_us(),
            *launcher,
            sys.executable,
            str(code / "run.py"),
            "--hostname-override=node1",
            f"--root-dir={self.root_dir}",
            f"--read-only-port={self.port}",
            f"--healthz-port={self.health_port}",
            "--runtime=hollow",  # whatever this machine has
            *flags,
        ]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stderr=log if stderr is None else stderr,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})},
            )
        return self

    def start_on_manifests(self, *flags: str, **more: Any) -> Self:
        """Start it on its directory, and return once it is ready."""
        self.start(f"--pod-manifest-path={self.manifests}", *flags, **more)
        eventually(self.is_ready)
        return self

    def is_ready(self) -> bool:
        """Whether ``/readyz`` says so."""
        return self.get("/readyz")[0] == 200

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process."""
        assert self._process is not None, "it was not started"
        return self._process

    def get(
        self, path: str, *, method: str = "GET", port: int | None = None, **headers: str
    ) -> tuple[int, str]:
        """Return status and body of what a path answers. Fails when the process has ended."""
        answer = self._fetch(port or self.port, path, method, **headers)
        return answer.status, answer.text

    def json(self, path: str) -> Any:
        """Return the document of a path that answers 200, as soon as it is complete.

        On a busy machine an actor may be too slow for its part. Raises ``NotYet`` when one is so for long.
        """
        answer = self._fetch(self.port, path)
        for _ in range(1, QUESTIONS):
            if SLOW not in answer.text:
                break
            answer = self._fetch(self.port, path)
        return answer.document

    def pods(self) -> dict[str, str]:
        """Return the UIDs of all pods by their names."""
        items = self.json("/pods")["items"]
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in items}

    def images(self) -> dict[str, str]:
        """Return the image of the first container of all pods by their names."""
        items = self.json("/pods")["items"]
        return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in items}

    def verdicts(self) -> dict[str, str]:
        """Return the verdict on each file by its name."""
        (source,) = self.json("/sourcez")["sources"]
        return {Path(each["path"]).name: each["verdict"] for each in source["manifests"]}

    def actors(self) -> dict[str, dict[str, Any]]:
        """Return how the actors are by their names."""
        return {actor["name"]: actor for actor in self.json("/actorz")["actors"]}

    def log(self) -> str:
        """Return what was logged so far."""
        return self.log_file.read_text()

    def logs(self, text: str, patience: float = PATIENCE) -> None:
        """Return once ``text`` was logged."""
        eventually(lambda: text in self.log(), patience)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def ends(self, within: float = PATIENCE) -> int:
        """Return its exit code; fails when it goes on."""
        return self.process.wait(within)

    def stops(self) -> int:
        """Stop it as systemd does, and return its exit code."""
        self.send(signal.SIGTERM)
        return self.ends()

    def _fetch(self, port: int, path: str, method: str = "GET", **headers: str) -> Answer:
        try:
            return fetch(port, path, method, **headers)
        except ConnectionError:
            code = self._process.poll() if self._process is not None else None
            if code is not None:
                raise ProcessLookupError(f"it has ended with {code}: {self.log()}") from None
            raise
