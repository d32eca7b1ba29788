"""Where hooks that need a connection are carried out: one thread with an event loop, made when it is needed.

Who asks decides which hooks are carried out, and until when. A hook that waits costs neither a thread nor
more than 100 kB, however little or much its target sends.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Semaphore
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from typing_extensions import override

from actors.probes.names import NAMES, LookUp, system_look_up
from kernel.lanes import InFlight, Lanes
from kernel.loop_thread import LoopThread
from manifests.handlers import HttpGetAction, TcpSocketAction
from runtimes.lifecycle_hooks.connections import HookConnectionError, Names, close, connect
from runtimes.lifecycle_hooks.http_exchange import get
from runtimes.lifecycle_hooks.outcomes import HookOutcome, HookSockets

USER_AGENT: Final = "kube-lifecycle/1.34"
"""A kubelet's name with the version whose rules are kept. Servers of pods look at it."""
MOST_AT_ONCE: Final = 512
"""Connections. Further hooks wait for one of them to end."""


class _Connection(InFlight):
    """A hook in progress."""

    has_begun = True
    """Its time counts, also while it waits for room."""

    def __init__(self, task: Future[None]) -> None:
        self._task = task

    @override
    def abandon(self) -> None:
        self._task.cancel()


class LoopSockets(HookSockets):
    """Hooks on one event loop. It belongs to the process, and outlives the actor's lives."""

    def __init__(self, names: Lanes[str], look_up: LookUp = system_look_up) -> None:
        """Look ``names`` up in these lanes."""
        self._loop = LoopThread("hooks")
        self._names = Names(names[NAMES], look_up)
        self._room: tuple[AbstractEventLoop, Semaphore] | None = None
        """Of one loop: no other can use it."""

    @override
    def start(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None], /
    ) -> InFlight:
        return _Connection(self._loop.run(self._carry_out(action, done)))

    def close(self) -> None:
        """End the event loop. What is in progress is dropped."""
        self._loop.close()

    def _room_now(self) -> Semaphore:
        running = asyncio.get_running_loop()
        if self._room is None or self._room[0] is not running:
            self._room = running, Semaphore(MOST_AT_ONCE)
        return self._room[1]

    async def _carry_out(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None]
    ) -> None:
        try:
            async with self._room_now():
                outcome = await self._outcome(action)
        except HookConnectionError as error:
            outcome = HookOutcome(str(error))
        except Exception as error:  # noqa: BLE001  # whatever a target sends ends its own hook alone
            outcome = HookOutcome(f"{action.host}:{action.port}: {type(error).__name__}")
        done(outcome)

    async def _outcome(self, action: HttpGetAction | TcpSocketAction) -> HookOutcome:
        if isinstance(action, HttpGetAction):
            return HookOutcome(remark=await get(action, USER_AGENT, self._names))
        _, writer = await connect(action.host, action.port, self._names)
        close(writer)
        return HookOutcome()
