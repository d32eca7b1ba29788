"""aiohttp on a thread of its own, driven from another one."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from aiohttp import web

from actors.messages.units import Seconds

PATIENCE: Final = Seconds(5.0)
"""For what takes milliseconds: binding applications to sockets, and letting them go."""
GRACE: Final = Seconds(0.5)
"""How long ``close`` waits for requests that are being answered."""


class Serving:
    """An asyncio loop that serves applications, from construction until ``close``."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        """``ended`` is called, on the loop's thread, if the loop ends before ``close``."""  # noqa: D401
        self._ended = ended
        self._closing = False
        self._runners: list[web.AppRunner] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="http-loop", daemon=True)
        self._thread.start()

    def open(self, application: web.Application, sockets: Sequence[socket.socket]) -> None:
        """Serve ``application`` on duplicates of ``sockets``. Raises OSError, TimeoutError."""
        self._wait_for(self._open(application, sockets))

    def close(self) -> None:
        """Stop serving. The sockets given stay open."""
        self._closing = True
        try:
            self._wait_for(self._cleanup())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _open(self, application: web.Application, sockets: Sequence[socket.socket]) -> None:
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=GRACE)
        self._runners.append(runner)
        await runner.setup()
        for listener in sockets:
            await web.SockSite(runner, listener.dup()).start()

    async def _cleanup(self) -> None:
        for runner in self._runners:
            await runner.cleanup()

    def _run(self) -> None:
        error = "the loop ended"
        try:
            self._loop.run_forever()
        except BaseException as failure:  # noqa: BLE001  # whatever it was, nobody is served any more
            error = f"{type(failure).__name__}: {failure}"
        finally:
            if not self._closing:
                self._ended(error)
            self._loop.close()
