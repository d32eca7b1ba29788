"""A task that was cancelled while it awaited the HTTP library, and was not told."""

from __future__ import annotations

import asyncio


def heed_cancelling() -> None:
    """Raise ``CancelledError`` if the present task was cancelled while it awaited pyreqwest.

    pyreqwest forgets a cancelling that meets what it was awaited for, and gives that out instead (11 of
    105 times on a busy machine): what was to end would go on for nobody.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
