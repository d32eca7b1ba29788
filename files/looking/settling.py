"""When a file that is being written is finished: the times, and their arithmetic.

Nothing tells that a writer is done; what tells that it is not is a time of modification that is very
young. A writer who wants no waiting writes elsewhere and renames: that keeps the time of writing.
"""

from __future__ import annotations

from typing import Final

from files.looking.directory import Content, Entry
from messages.units import Seconds, Timestamp

QUIET: Final = Seconds(0.05)
"""A file written less than this ago is left as it was, and so is one missing for less than this.

Writers of manifests take a few milliseconds from the first write to the last, and editors less than
one between moving a file away and making it anew. From "written" to "served" there are 150 ms: these
50, at most 50 more until the notification is handed over, and 50 for the look, decoding and telling.
"""

GRACE: Final = Seconds(0.1)
"""A file that cannot be used is left as it was for this long: a slower writer may not be done yet.
Costs a good manifest nothing, and a bad one 50 to 100 ms more until it is reported."""

PATIENCE: Final = Seconds(2.0)
"""A file that is never quiet for so long is judged as it is. A guess: no writer of a manifest takes
as long, and a log that somebody lets grow in this directory has to get its verdict some time."""

ROUNDING: Final = Seconds(0.001)
"""Added to waiting times: a float of today's seconds is good to 0.0000002 s only, and a look that
comes that much too early would have to be repeated."""


def unrest(entry: Entry, quiet: Seconds, now: Timestamp) -> Seconds:
    """Return how long from ``now`` until ``entry`` will have been left alone for ``quiet``, or 0.

    With a file server whose clock is a little ahead this waits a little longer. A time of
    modification farther in the future than ``quiet`` says nothing, and counts as settled.
    """
    if entry.signature is None:
        return Seconds(0.0)
    if isinstance(entry.found, Content) and entry.found.torn:
        return quiet
    age = now - entry.signature.modified
    return Seconds(quiet - age if -quiet < age < quiet else 0.0)
