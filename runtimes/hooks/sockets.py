"""Where hooks that need a connection are carried out: one thread with an event loop, made when it is needed.

The actor decides which hooks are carried out, and until when. A hook that waits costs neither a thread nor
more than 100 kB, however little or much its target sends.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from typing_extensions import override

from kernel.loop_thread import LoopThread
from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.port import Port
from messages.units import Seconds
from runtimes.hooks.connections import HookConnectionError, close, connect
from runtimes.hooks.http_exchange import get
from runtimes.hooks.messages import HookRef, given_up

USER_AGENT: Final = "kube-lifecycle/1.34"
"""A kubelet's name with the version whose rules are kept. Servers of pods look at it."""
MOST_AT_ONCE: Final = 512
"""Connections. Further hooks wait for one of them to end."""


class SocketOutcome(NamedTuple):
    """How a hook ended that needed a connection."""

    failure: str = ""
    """Empty if it succeeded."""
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketHookEnded:
    """Tells that a call has its outcome."""

    ref: HookRef


@dataclass(slots=True, eq=False)
class SocketCall:
    """One hook, and its outcome once there is one. The thread of the loop sets that, and nobody else."""

    ref: HookRef
    action: HttpGetAction | TcpSocketAction
    within: Seconds
    outcome: SocketOutcome | None = None
    task: Future[None] | None = field(default=None, repr=False)


class HookSockets(Protocol):
    """Where calls are carried out."""

    def start(self, call: SocketCall, reply_to: Port[SocketHookEnded]) -> None:
        """Begin ``call``, and return. Its outcome is set before ``reply_to`` is told."""
        ...

    def give_up(self, call: SocketCall) -> None:
        """End ``call``. Nothing more is told of it, or only what was told just now."""
        ...


class LoopSockets(HookSockets):
    """Calls on one event loop. It belongs to the process, and outlives the actor's lives."""

    def __init__(self) -> None:
        self._loop = LoopThread("hooks")
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    @override
    def start(self, call: SocketCall, reply_to: Port[SocketHookEnded]) -> None:
        call.task = self._loop.run(self._carry_out(call, reply_to))

    @override
    def give_up(self, call: SocketCall) -> None:
        if call.task is not None:
            call.task.cancel()

    def close(self) -> None:
        """End the event loop. What is in progress is dropped."""
        self._loop.close()

    async def _carry_out(self, call: SocketCall, reply_to: Port[SocketHookEnded]) -> None:
        try:
            async with asyncio.timeout(call.within), self._room:
                call.outcome = await self._outcome(call.action)
        except TimeoutError:
            call.outcome = SocketOutcome(given_up(call.within))
        except HookConnectionError as error:
            call.outcome = SocketOutcome(str(error))
        except Exception as error:  # noqa: BLE001  # whatever a target sends ends its own hook alone
            call.outcome = SocketOutcome(f"{_where(call.action)}: {type(error).__name__}")
        reply_to.tell(SocketHookEnded(ref=call.ref))

    async def _outcome(self, action: HttpGetAction | TcpSocketAction) -> SocketOutcome:
        if isinstance(action, HttpGetAction):
            return SocketOutcome(remark=await get(action, USER_AGENT))
        _, writer = await connect(action.host, action.port)
        close(writer)
        return SocketOutcome()


def _where(action: HttpGetAction | TcpSocketAction) -> str:
    return f"{action.host}:{action.port}"
