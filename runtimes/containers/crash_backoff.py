"""How long a container that exits again and again waits before it is started again. Pure.

The first restart is at once. Then it waits 10 s after its exit, then 20 s, and so on, to 300 s. Whoever ran
for 10 minutes since its last restart begins anew (rule J4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.pod_runtime import ContainerObserved
from messages.units import Instant, Seconds, Timestamp

KILLED: Final = frozenset({137, 143})
"""Exit codes of what was killed, or asked to end."""
SANDBOX_END_KNOWN_AFTER: Final = Seconds(0.5)
"""After the runtime has told of the kill itself: the end of a sandbox is an event of its own."""
TIMES_AS_LONG: Final = 2.0
"""As it took the runtime to tell of the kill. On a machine with much to do everything takes it longer."""
SANDBOX_END_KNOWN_BY: Final = Seconds(10.0)
"""After the exit, whatever the runtime tells."""
FIRST_DELAY: Final = Seconds(10.0)
FORGIVEN_AFTER: Final = Seconds(600.0)


@dataclass(slots=True)
class CrashNotes:
    """How a container has crashed so far."""

    spec_hash: str
    """Crashes of another specification do not count."""
    exited_id: str = ""
    """The instance that exited last."""
    exited_at: Seconds = Seconds(0.0)
    delay: Seconds = Seconds(0.0)
    """How long after its exit it may be started again; 0 for at once."""
    restarted_at: Seconds = Seconds(0.0)
    """When it was last started again."""
    counted_id: str = ""
    """The instance whose exit ``delay`` was last lengthened for."""
    told_at: Seconds | None = None
    """When the runtime itself had told of the last exit. None as long as an event alone tells of it."""


def doubled(first: Seconds, longest: Seconds, failures: int) -> Seconds:
    """Return the pause after so many failures in a row: ``first``, doubled with each, to ``longest``."""
    return Seconds(min(longest, first * 2.0 ** min(max(failures - 1, 0), 30)))


def may_restart_at(crashes: CrashNotes | None, spec_hash: str) -> Seconds:
    """Return when the container may be started again, by the monotonic clock.

    A restart that was counted has waited. If nothing came of it, since its call was lost, the same exit
    demands no longer wait: failures of calls have pauses of their own.
    """
    if crashes is None or crashes.spec_hash != spec_hash or is_forgiven(crashes):
        return Seconds(0.0)
    if crashes.counted_id == crashes.exited_id:
        return Seconds(0.0)
    return Seconds(crashes.exited_at + crashes.delay)


def sandbox_known_at(crashes: CrashNotes | None, instance: ContainerObserved) -> Seconds:
    """Return when it is known whether an instance that others have killed ended with its sandbox.

    A runtime that stops a sandbox kills what is in it first, and says that it is ready meanwhile. What were
    started at once would be started in a sandbox that is about to end, before the init containers have run
    again. containerd kills one container after the other, each when it can tell itself that the one before
    has exited, and the sandbox last.
    """
    if crashes is None or crashes.exited_id != instance.id or instance.exit_code not in KILLED:
        return Seconds(0.0)
    latest = Seconds(crashes.exited_at + SANDBOX_END_KNOWN_BY)
    if crashes.told_at is None:
        return latest
    took = crashes.told_at - crashes.exited_at
    wait = max(SANDBOX_END_KNOWN_AFTER, TIMES_AS_LONG * took)
    return Seconds(min(latest, crashes.told_at + wait))


def is_forgiven(crashes: CrashNotes) -> bool:
    """Return whether it ran long enough for its earlier crashes to be forgotten."""
    return crashes.exited_at - crashes.restarted_at > FORGIVEN_AFTER


def note_restart(crashes: CrashNotes, instance_id: str, now: Seconds, longest: Seconds) -> None:
    """Note that it is started again after the exit of this instance, so the next delay is longer."""
    if crashes.counted_id == instance_id:
        return
    is_anew = not crashes.delay or is_forgiven(crashes)
    first = min(FIRST_DELAY, longest)
    crashes.delay = first if is_anew else Seconds(min(longest, crashes.delay * 2))
    crashes.restarted_at, crashes.counted_id = now, instance_id


def forgive(crashes: CrashNotes, instance_id: str, now: Seconds) -> None:
    """Note that it is started again for another reason than a crash: crashes begin anew."""
    crashes.delay, crashes.restarted_at, crashes.counted_id = Seconds(0.0), now, instance_id


def delay_from_history(
    previous: ContainerObserved | None, instance: ContainerObserved, longest: Seconds
) -> Seconds:
    """Return the delay after the next exit of an instance that another agent started.

    How long it had waited is seen from the exit before it. So no delay has to be written down.
    """
    if instance.attempt == 0:
        return Seconds(0.0)
    delay = float(FIRST_DELAY)
    if previous is not None and previous.finished_at is not None and instance.created_at:
        waited = instance.created_at - previous.finished_at
        while delay <= waited and delay < longest:
            delay *= 2
    return Seconds(min(delay, longest))


def exited_at(crashes: CrashNotes, instance: ContainerObserved, moment: Instant) -> Seconds:
    """Return when an instance exited, by the monotonic clock.

    It is no longer ago than its restart and the time for which it was there then, both of them times by one
    clock: the clock of the runtime may be behind ours, or ours may have been set since.
    """
    by_wall = monotonic(instance.finished_at, moment.monotonic, moment.wall)
    if instance.finished_at is None or instance.created_at is None:
        return by_wall
    was_there = max(0.0, instance.finished_at - instance.created_at)
    return Seconds(min(moment.monotonic, max(by_wall, crashes.restarted_at + was_there)))


def monotonic(at: Timestamp | None, now: Seconds, wall: Timestamp) -> Seconds:
    """Return when ``at`` was by the monotonic clock. Now, if the wall clock went back since."""
    return Seconds(now if at is None else now - max(0.0, wall - at))
