"""Being told when something in a few directories changes: watchfiles on a thread of its own.

What comes is a hint and nothing more: that it is worth looking. Which file it was, and what happened
to it, is not passed on, since only a look can tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from typing_extensions import override

# Its public ``watch`` begins when it is first iterated, on the thread: what changes between a look
# and that moment would go unnoticed until the next scan.
from watchfiles._rust_notify import RustNotify

STEP: Final = 20
"""Milliseconds between two looks of watchfiles at what inotify has collected; it hands changes over
once a step brought no more of them. Fifty steps a second cost 0.1 % of a core; 10 would save 10 ms
of the 150 there are until a manifest must be served."""

LONGEST_BURST: Final = 50
"""Milliseconds after which changes are handed over even if they go on."""

_FOR_EVER: Final = 0
"""As watchfiles writes it."""

_JOIN_DEADLINE: Final = 1.0
"""Seconds. The thread sees the stop within a step; on a machine that is that slow, let it finish alone."""


class DirectoryWatch(Protocol):
    """A watch that is kept."""

    def close(self) -> None:
        """Stop watching. Neither callback is called after this returned."""
        ...


KeepWatch: TypeAlias = Callable[
    [Iterable[Path], Callable[[], None], Callable[[str], None]], DirectoryWatch
]
"""Begins to watch directories, as the constructor of ``InotifyWatch`` does."""


class InotifyWatch(DirectoryWatch):
    """Watches from construction until ``close``. Calls back on its own thread."""

    def __init__(
        self,
        directories: Iterable[Path],
        changed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        """Begin: what changes after this returned is noticed.

        ``changed`` is called after changes; ``lost``, with a reason, if watching ends by itself. If
        it cannot begin, that is before this returns.
        """
        self._changed = changed
        self._lost = lost
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        try:
            notify = RustNotify(
                watch_paths=[str(directory) for directory in directories],
                debug=False,
                force_polling=False,
                poll_delay_ms=0,
                recursive=False,
                ignore_permission_denied=False,
            )
        except (OSError, RuntimeError, ValueError) as error:
            # A directory that vanished meanwhile, the user's limit of inotify watches, what else the
            # notify library reports (watchfiles makes RuntimeErrors of it), a name not in UTF-8.
            lost(str(error))
            return
        self._thread = threading.Thread(
            target=self._run, args=(notify,), name="directory-watch", daemon=True
        )
        self._thread.start()

    @override
    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_JOIN_DEADLINE)

    def _run(self, notify: RustNotify) -> None:
        reason = "watchfiles ended"
        try:
            with notify:
                while isinstance(notify.watch(LONGEST_BURST, STEP, _FOR_EVER, self._stop), set):
                    self._changed()
        except (OSError, RuntimeError) as error:
            reason = str(error)
        if not self._stop.is_set():
            self._lost(reason)
