"""Being told when something in a few directories changes: watchfiles on a thread of its own.

What comes is a hint and nothing more: that it is worth looking. Which file it was, and what happened
to it, is not passed on, since only a look can tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import watchfiles

STEP: Final = 20
"""Milliseconds between two looks of watchfiles at what inotify has collected; it hands changes over
once a step brought no more of them. Fifty steps a second cost 0.1 % of a core; 10 would save 10 ms
of the 150 there are until a manifest must be served."""

LONGEST_BURST: Final = 50
"""Milliseconds after which changes are handed over even if they go on."""

_JOIN_DEADLINE: Final = 1.0
"""Seconds. The thread sees the stop within a step; on a machine that is that slow, let it finish alone."""


class DirectoryWatch:
    """Watches from construction until ``close``. Calls back on its own thread."""

    def __init__(
        self,
        directories: Iterable[Path],
        changed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        """Begin. ``changed`` is called after changes; ``lost``, with a reason, if watching ends."""
        self._directories = tuple(directories)
        self._changed = changed
        self._lost = lost
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="directory-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching. Neither callback is called after this returned."""
        self._stop.set()
        self._thread.join(_JOIN_DEADLINE)

    def _run(self) -> None:
        reason = "watchfiles ended"
        try:
            for _ in self._changes():
                if not self._stop.is_set():
                    self._changed()
        except (OSError, RuntimeError) as error:
            # A directory that vanished meanwhile, the user's limit of inotify watches, or what else
            # the notify library reports; watchfiles makes RuntimeErrors of the latter.
            reason = str(error)
        if not self._stop.is_set():
            self._lost(reason)

    def _changes(self) -> Iterator[object]:
        return watchfiles.watch(
            *self._directories,
            watch_filter=None,
            debounce=LONGEST_BURST,
            step=STEP,
            stop_event=self._stop,
            raise_interrupt=False,
            recursive=False,
        )
