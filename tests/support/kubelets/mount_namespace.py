"""A mount namespace in which several programs run, with directories and files of their own at some places."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from actors.volumes.mounts.mount_table import MountPoint, mounts_of
from tests.support.parents import dies_with_us


class MountNamespace:
    """Is there from when it is made until ``end``; its mounts go with its last program."""

    def __init__(self, own: dict[str, Path]) -> None:
        """``own`` says what is seen at which places, instead of what this machine has there."""
        binds = [f"mount --bind {shlex.quote(str(own[each]))} {each}" for each in own]
        script = " && ".join([*binds, "echo there", "exec sleep infinity"])
        command = ["unshare", "--mount", "--propagation=private", "sh", "-c", script]
        self._holder = subprocess.Popen([*dies_with_us(), *command], stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"there\n"

    @property
    def launcher(self) -> tuple[str, ...]:
        """What to put before a command so that it runs there."""
        return ("nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--")

    def seen(self, path: str) -> Path:
        """Return where a path of the namespace is for those outside."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def mounts(self) -> tuple[MountPoint, ...]:
        """Return what is mounted there."""
        return mounts_of(Path(f"/proc/{self._holder.pid}/mountinfo").read_bytes())

    def end(self) -> None:
        """Let go of it."""
        self._holder.kill()
        self._holder.wait()
        if self._holder.stdout is not None:
            self._holder.stdout.close()
