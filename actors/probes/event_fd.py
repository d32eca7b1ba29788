"""Wakes a thread that waits in epoll."""

from __future__ import annotations

import os


class EventFd:
    """A descriptor that becomes readable by a signal. Its number stays taken while anybody has it.

    So a thread that signals late, when the loop is gone, never writes to what got the same number since.
    """

    __slots__ = ("fd",)

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def signal(self) -> None:
        """Make it readable. May be called from any thread."""
        os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        """Make it wait for the next signal. Only called when it is readable."""
        os.eventfd_read(self.fd)

    def __del__(self) -> None:
        os.close(self.fd)
