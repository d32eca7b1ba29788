"""The stream of events: which one the runtime has, and opening it."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from kernel import Port
from runtimes.cri import rpcs
from runtimes.cri.messages import CriMemory, StreamEnded, StreamTold
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, Wire

_KINDS: Final = (rpcs.container_events, rpcs.containerd_events)


class EventStream:
    """Follows the interface's own events, or containerd's where the runtime has none of the former.

    What kind there is, is found out anew for each connection: the runtime may be another one.
    """

    def __init__(self, wire: Wire, me: Port[StreamTold | StreamEnded], memory: CriMemory) -> None:
        self._wire = wire
        self._me = me
        self._memory = memory
        self._kind = 0

    @property
    def is_open(self) -> bool:
        """Whether events come."""
        return self._memory.open_stream is not None

    def open(self) -> None:
        """Begin to follow, from the first kind on."""
        self._kind = 0
        self._follow()

    def close(self) -> None:
        """Follow no more."""
        stream, self._memory.open_stream = self._memory.open_stream, None
        self._memory.stream += 1
        if stream is not None:
            stream.cancel()

    def is_current(self, stream: int) -> bool:
        """Return whether this is the stream that is followed."""
        return stream == self._memory.stream

    def ended(self, failure: RpcFailure) -> bool:
        """Take the end of the stream. Return whether the next kind is followed instead, or none is there."""
        self._memory.open_stream = None
        self._memory.pleg.stream_errors += 1
        if failure.code is not RpcCode.UNIMPLEMENTED:
            return False
        self._kind += 1
        if self._kind < len(_KINDS):
            self._follow()
        return True

    def _follow(self) -> None:
        self.close()
        number, me = self._memory.stream, self._me
        rpc: Rpc[Message] = _KINDS[self._kind]()
        self._memory.open_stream = self._wire.follow(
            rpc,
            lambda event: me.tell(StreamTold(stream=number, event=event)),
            lambda failure: me.tell(StreamEnded(stream=number, failure=failure)),
        )
