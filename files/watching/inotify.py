"""Watches on directories: watchfiles on a thread of its own tells when something in them changes.

A notification is a hint that it is worth looking, and nothing more. It does not say which file changed or
how, since only a look can tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from typing_extensions import override

# The library's public ``watch`` begins when it is first iterated, on the thread. Changes between a look and
# that moment would go unnoticed until the next scan.
from watchfiles._rust_notify import RustNotify

STEP: Final = 20
"""Milliseconds between two looks of watchfiles at what inotify has collected. It hands changes over once a
step brought no more of them. Fifty steps a second cost 0.1 % of a core. Steps of 10 ms would save 10 ms of
the 150 that there are until a manifest must be served."""

LONGEST_BURST: Final = 50
"""Milliseconds after which changes are handed over even if they go on."""

_FOR_EVER: Final = 0
"""How watchfiles writes that there is no timeout."""

_JOIN_DEADLINE: Final = 1.0
"""Seconds to wait for the thread, which sees the stop within a step. If it is slower it ends by itself."""


class DirectoryWatch(Protocol):
    """A watch on some directories."""

    def close(self) -> None:
        """Stop watching. Neither callback is called after this returned."""
        ...


KeepWatch: TypeAlias = Callable[
    [Iterable[Path], Callable[[], None], Callable[[str], None]], DirectoryWatch
]
"""Begins to watch directories; the constructor of ``InotifyWatch`` is one. Takes what that takes."""


class InotifyWatch(DirectoryWatch):
    """A watch by inotify, from construction until ``close``. Calls back on its own thread."""

    def __init__(
        self,
        directories: Iterable[Path],
        changed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        """Begin to watch: every change after this returned is noticed.

        ``changed`` is called after changes. ``lost`` is called with a reason if watching ends by itself, or,
        before this returns, if it cannot begin.
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
            # A directory has vanished, the user's limit of inotify watches is reached, a name is not UTF-8,
            # or the notify library reports something else (watchfiles makes RuntimeErrors of that).
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
