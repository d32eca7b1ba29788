"""One moment, by both clocks. Pure."""

from __future__ import annotations

from typing import NamedTuple

from messages.units import Seconds, Timestamp


class Clocks(NamedTuple):
    """Now, by both clocks."""

    now: Seconds
    """Of the monotonic clock: for deadlines."""
    wall: Timestamp
    """For comparing with what runtimes tell."""
