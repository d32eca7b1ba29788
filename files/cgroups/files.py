"""Files and folders of a cgroup file system. Everything here blocks, for very short times."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

from typing_extensions import override

from messages.units import Seconds


class CgroupFiles(Protocol):
    """What is done with folders that are cgroups. Errors are ``OSError``."""

    def make(self, folder: str) -> bool:
        """Make a folder. Return whether it was not there."""
        ...

    def remove(self, folder: str) -> None:
        """Remove a folder that has no folders in it. Nothing happens if it is not there."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder; none if that is not there."""
        ...

    def read(self, file: str) -> str | None:
        """Return what a file says, without the end of its line; None if it is not there."""
        ...

    def write(self, file: str, text: str) -> None:
        """Write to a file that is there."""
        ...

    def kill(
        self, pids: Iterable[int], who_is_there: Callable[[], set[int]], most: Seconds
    ) -> None:
        """Kill those processes that are still there, and wait for their end for at most so long."""
        ...


class KernelFiles(CgroupFiles):
    """The file systems of the kernel."""

    @override
    def make(self, folder: str) -> bool:
        try:
            os.mkdir(folder, 0o755)  # noqa: PTH102  # the exact call is what the kernel answers
        except FileExistsError:
            return False
        return True

    @override
    def remove(self, folder: str) -> None:
        with suppress(FileNotFoundError):
            Path(folder).rmdir()

    @override
    def folders(self, folder: str) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                return [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []

    @override
    def read(self, file: str) -> str | None:
        try:
            return Path(file).read_text(errors="replace").removesuffix("\n")
        except OSError as error:
            # A cgroup that is being removed has no device behind its files any more.
            if error.errno in {errno.ENOENT, errno.ENODEV}:
                return None
            # The processes of a threaded cgroup are shown in the one above it.
            if error.errno == errno.EOPNOTSUPP:
                return ""
            raise

    @override
    def write(self, file: str, text: str) -> None:
        descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        except OSError as error:
            raise OSError(error.errno, error.strerror, file) from None
        finally:
            os.close(descriptor)

    @override
    def kill(
        self, pids: Iterable[int], who_is_there: Callable[[], set[int]], most: Seconds
    ) -> None:
        with ExitStack() as opened:
            handles: dict[int, int] = {}
            for pid in pids:
                with suppress(ProcessLookupError):
                    handles[pid] = os.pidfd_open(pid)
                    opened.callback(os.close, handles[pid])
            # An ID may have a new owner by now. What has been opened keeps its own.
            there = who_is_there()
            for pid in handles.keys() & there:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handles[pid], signal.SIGKILL)
            _wait_for_end({handles[pid] for pid in handles.keys() & there}, most)


def _wait_for_end(handles: set[int], most: Seconds) -> None:
    """Wait until each of the processes has ended, for at most so many seconds."""
    ends_at = time.monotonic() + most
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    while handles and (left := ends_at - time.monotonic()) > 0:
        for handle, _event in poll.poll(left * 1000):
            poll.unregister(handle)
            handles = handles - {handle}
