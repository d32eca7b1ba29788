"""Whether a file that is being written is finished: the times, and their arithmetic.

No system call tells that a writer is done. A very recent modification time tells that it may not be. Who
writes elsewhere and renames the file does not have to wait, since that keeps the time of writing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from files.looking.found import Content, Entry
from messages.units import Seconds, Timestamp

QUIET: Final = Seconds(0.05)
"""A file written less than this ago counts as it was before, and so does one missing for less than this.

Writers take a few milliseconds from the first write to the last, and editors less than one between moving
a file away and making it anew. From "written" to "served" there are 150 ms: these 50, at most 50 more until
the notification is handed over, and 50 for the look, decoding and telling.
"""

GRACE: Final = Seconds(0.1)
"""A file that cannot be used counts as it was before for this long: a slower writer may not be done yet.
Costs a good file nothing, and a bad one 50 to 100 ms more until it is reported."""

PATIENCE: Final = Seconds(2.0)
"""A file that has not been quiet for so long is taken as it is. A guess: no writer takes as long, and a log
that grows in this directory has to be judged some time."""

ROUNDING: Final = Seconds(0.001)
"""Added to waiting times. A float of today's seconds is good to 0.0000002 s only, and a look that comes
that much too early would have to be repeated."""


class LookTime(NamedTuple):
    """When a look was made that took its time."""

    began: Timestamp
    ended: Timestamp


def unrest(entry: Entry, quiet: Seconds, now: Timestamp, ended: Timestamp | None = None) -> Seconds:
    """Return in how many seconds ``entry`` will have been unchanged for ``quiet``; 0 if it has been.

    A look that began ``now`` and has ``ended`` found it; in an instant if that is not said. What was written
    meanwhile may have been read before its writer was done.

    If the clock of a file server is a little ahead, this is a little longer. A modification time that is
    farther in the future than ``quiet`` says nothing, and counts as settled.
    """
    if entry.signature is None:
        return Seconds(0.0)
    if isinstance(entry.found, Content) and entry.found.torn:
        return quiet
    ended = now if ended is None else ended
    modified = entry.signature.modified
    if not now - quiet < modified < ended + quiet:
        return Seconds(0.0)
    return Seconds(max(ROUNDING, modified + quiet - ended))
