"""Which commands of probes run, and which wait for their turn. Pure.

Each command takes a process of the runtime and some 30 ms of a core: more of them at once only take longer,
and keep the node from its work. So their number is bounded, and who was due first has the first turn.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from actors.probes.watched import ExecIsDue
from messages.probing import CommandsWaiting, ProbeKey
from messages.units import Seconds

LATE: Final = Seconds(1.0)
"""A command that waited for longer is late: probes are made for seconds."""
SAID_AGAIN_AFTER: Final = Seconds(60.0)
"""After nothing was late for so long, the next command that is late is said again."""


class LateCommands(NamedTuple):
    """What is said when commands are late."""

    waited: Seconds
    """How long the command has waited that begins now."""
    waiting: int
    """How many wait behind it."""


class CommandTurns:
    """The commands of probes that run and that wait, at most ``limit`` of them at once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[ProbeKey, tuple[ExecIsDue, Seconds]] = {}
        """In the order in which they came due."""
        self._running: dict[int, tuple[ExecIsDue, Seconds]] = {}
        """By the number of their run, with when they began."""
        self._late_at: Seconds | None = None
        self._waits: deque[tuple[Seconds, Seconds]] = deque()
        self._ended = 0

    @property
    def running(self) -> tuple[ExecIsDue, ...]:
        """Those that run."""
        return tuple(due for due, _ in self._running.values())

    def add(self, due: ExecIsDue, now: Seconds) -> None:
        """Have a command wait for its turn, unless it does already, or runs."""
        if due.run in self._running:
            return
        waiting = self._waiting.get(due.key)
        since = now if waiting is None else waiting[1]
        self._waiting[due.key] = (due, since)

    def drop(self, key: ProbeKey) -> None:
        """Let the command of a probe wait no longer. One that runs goes on."""
        self._waiting.pop(key, None)

    def next(self, now: Seconds) -> tuple[ExecIsDue, LateCommands | None] | None:
        """Return the command that begins now, and what is to be said of it; None if none may."""
        if not self._waiting or len(self._running) >= self._limit:
            return None
        key = next(iter(self._waiting))
        due, since = self._waiting.pop(key)
        self._running[due.run] = due, now
        waited = Seconds(now - since)
        self._note_wait(waited, now)
        if waited < LATE:
            return due, None
        is_new = self._late_at is None or now >= self._late_at + SAID_AGAIN_AFTER
        self._late_at = now
        return due, LateCommands(waited, len(self._waiting)) if is_new else None

    def end(self, run: int, now: Seconds) -> tuple[ExecIsDue, Seconds] | None:
        """Return the command that has ended, and how long it ran; None if it was not awaited any more."""
        ended = self._running.pop(run, None)
        if ended is None:
            return None
        self._ended += 1
        due, began = ended
        return due, Seconds(now - began)

    def described(self, now: Seconds) -> CommandsWaiting:
        """Return how they get on."""
        self._forget_waits(now)
        waits = [waited for _, waited in self._waits]
        waits += [Seconds(now - since) for _, since in self._waiting.values()]
        longest = max(waits, default=Seconds(0.0))
        return CommandsWaiting(len(self._running), len(self._waiting), longest, self._ended)

    def _note_wait(self, waited: Seconds, now: Seconds) -> None:
        self._forget_waits(now)
        # Only what is longer than all later ones can ever be the longest.
        while self._waits and self._waits[-1][1] <= waited:
            self._waits.pop()
        self._waits.append((now, waited))

    def _forget_waits(self, now: Seconds) -> None:
        while self._waits and self._waits[0][0] < now - 60.0:
            self._waits.popleft()
