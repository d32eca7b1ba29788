"""Writers of volumes that are killed at any system call: real processes, each a fork of a small one."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from actors.volumes.atomic_directory import AtomicDirectory
from actors.volumes.content.files import Payload, VolumeFile
from messages.units import Timestamp

NOON: Final = Timestamp(1_900_000_000.0)
_CALLS: Final = (
    *(
        "open",
        "close",
        "mkdir",
        "write",
        "fchown",
        "fchmod",
        "chmod",
        "symlink",
        "rename",
        "unlink",
    ),
    *("rmdir", "scandir", "readlink", "stat", "fstat", "read", "fsync", "statvfs"),
)
_ROOT: Final = Path(__file__).parents[3]


class DyingWriters:
    """Starts one process after the other. Each writes one volume, and is killed before its n-th call."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        """Have the process that they are forks of for the ``with`` block."""
        command = [sys.executable, "-m", "tests.support.volumes.dying_writer"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=_ROOT) as process:
            yield cls(process)
            assert process.stdin is not None
            process.stdin.close()

    def write(
        self, path: Path, payload: Payload, kill_at: int, *, is_durable: bool = False
    ) -> bool:
        """Write, and return whether the writer was killed before its ``kill_at``-th system call."""
        task = {
            "path": str(path),
            "group": payload.group,
            "files": {
                name: [base64.b64encode(file.data).decode(), file.mode, file.user]
                for name, file in payload.files.items()
            },
            "kill_at": kill_at,
            "is_durable": is_durable,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        ended = int(self._process.stdout.readline())
        assert ended in {0, -signal.SIGKILL}, ended
        return ended != 0


def _main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _write(json.loads(line))
        status = os.waitpid(child, 0)[1]
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _write(task: dict[str, Any]) -> None:
    """Write as a new process does, and end it."""
    files = {
        name: VolumeFile(base64.b64decode(data), mode, user)
        for name, (data, mode, user) in task["files"].items()
    }
    directory = AtomicDirectory(Path(task["path"]), is_durable=task["is_durable"])
    _count(task["kill_at"])
    written = directory.write(Payload(files=files, group=task["group"]), NOON)
    directory.remove(*written.leaving)
    os._exit(0)


def _count(kill_at: int) -> None:
    """Have this process killed before its ``kill_at``-th system call. A write does half of its work first."""
    calls = 0

    def counting(call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def counted(*args: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == kill_at:
                if name == "write":
                    call(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **more)

        return counted

    for name in _CALLS:
        setattr(os, name, counting(getattr(os, name), name))


if __name__ == "__main__":
    _main()
