"""Which of the static pods of one full name may run: one at a time, first come first served. Pure.

Rules X18 to X21. A pod holds its name from the moment that it may start until it is finished. The next one
in the line then starts at once: nobody looks for it from time to time.
"""

from __future__ import annotations

from itertools import islice

from messages.pods import FullName, PodUid


class StaticNames:
    """The lines of static pods, by full name. The first of a line holds the name.

    A pod that ends before it has started leaves its line, and is so never in anybody's way (rule X20).
    """

    def __init__(self) -> None:
        self._lines: dict[FullName, dict[PodUid, None]] = {}

    def join(self, full_name: FullName, uid: PodUid) -> bool:
        """Stand in line for ``full_name``, unless it does already. Return whether it holds the name."""
        line = self._lines.setdefault(full_name, {})
        line.setdefault(uid)
        return next(iter(line)) == uid

    def leave(self, full_name: FullName, uid: PodUid) -> PodUid | None:
        """Leave the line. Return who holds the name from now on; None if nobody does, or as before."""
        line = self._lines.get(full_name)
        if line is None or uid not in line:
            return None
        was_holder = next(iter(line)) == uid
        del line[uid]
        if not line:
            del self._lines[full_name]
            return None
        return next(iter(line)) if was_holder else None

    def heir(self, full_name: FullName) -> PodUid | None:
        """Return who holds ``full_name`` once its holder leaves; None if nobody stands in line."""
        return next(islice(self._lines.get(full_name, ()), 1, None), None)

    def holder(self, full_name: FullName) -> PodUid | None:
        """Return who holds ``full_name``; None if nobody does."""
        return next(iter(self._lines.get(full_name, ())), None)
