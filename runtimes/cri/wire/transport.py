"""How one call reaches a runtime, whatever carries it: the interface that a transport keeps.

A call never blocks who makes it. Its outcome comes by a callback, on a thread of the transport: there it is
only passed on, as a message. What gRPC says of a socket that cannot be used names itself, its addresses and
its attempts in one long sentence: people are told in other words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message

from messages.units import Seconds

ReplyT = TypeVar("ReplyT", bound=Message)
ReplyT_co = TypeVar("ReplyT_co", bound=Message, covariant=True)

LARGEST_MESSAGE = (16 << 20) + 5
"""Bytes. The output of a command in a container may have 16 MiB; gRPC puts five bytes before a message."""

NO_ANSWER = "it does not answer in time"
_CONNECTING = "failed to connect to all addresses"


class RpcCode(StrEnum):
    """How a call failed, as far as anybody decides by it."""

    UNAVAILABLE = "UNAVAILABLE"
    """Nobody listens, or the connection broke: the call may have had its effect."""
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    """No answer in time: the same. Also what a runtime says of a command that took too long."""
    CANCELLED = "CANCELLED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    NOT_FOUND = "NOT_FOUND"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    """The answer was too large: it is lost."""
    OTHER = "OTHER"
    """Runtimes answer UNKNOWN to nearly everything that they cannot do. Only their state tells more."""


@dataclass(frozen=True, slots=True)
class Rpc(Generic[ReplyT_co]):
    """One call. Its ``repr`` shows the method alone: requests carry environments and passwords."""

    method: str
    """``/runtime.v1.RuntimeService/Version``, for example."""
    request: Message = field(repr=False)
    reply: type[ReplyT_co] = field(repr=False)
    deadline: Seconds
    """From when it is sent. Streams have none."""
    namespace: str = ""
    """Of containerd's, which its own calls name beside the request. Empty for calls of the CRI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFailure:
    """Why a call has no reply."""

    code: RpcCode
    message: str
    """In the runtime's words, or gRPC's. May be long and have several lines."""


RpcOutcome: TypeAlias = Message | RpcFailure


class RpcInFlight(Protocol):
    """A call or a stream that has been sent."""

    def cancel(self) -> bool:
        """End it early: its outcome is a failure then, unless it has one already."""
        ...


class Wire(Protocol):
    """Carries calls to one runtime, many at a time, over one connection that comes back by itself."""

    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        """Send ``rpc``. ``done`` hears its outcome once, on any thread, maybe before this returns."""
        ...

    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        """Open a stream. ``told`` hears each message, in order, and ``ended`` once that there are no more."""
        ...

    def close(self) -> None:
        """Close the connection. Calls and streams that are out end with CANCELLED."""
        ...


def unreachable_in_words(details: str, socket: Path, *, is_socket: bool) -> str:
    """Return what ``details`` of gRPC mean for who reaches a runtime at ``socket``.

    ``is_socket`` says what is at its path, if anything is. Words of the runtime itself stay as they are.
    """
    if details == "Deadline Exceeded":
        return NO_ANSWER
    if not details.startswith(_CONNECTING):
        return details
    if "No such file or directory" in details:
        return f"there is no socket at {socket}"
    if "Permission denied" in details:
        return f"permission denied at the socket {socket}"
    if "Failed parsing HTTP/2" in details or "http1.x server" in details:
        return f"what listens at {socket} speaks no gRPC, so it is no container runtime"
    if "Connection refused" in details:
        return f"nobody listens at {socket}" if is_socket else f"{socket} is no socket"
    return details
