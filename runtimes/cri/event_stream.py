"""The stream of events: which one the runtime has, and opening it."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from kernel import Port
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.events import what_happened
from runtimes.cri.messages import CriMemory, StreamEnded, StreamTold
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, Wire

_KINDS: Final = (rpcs.container_events, rpcs.containerd_events)
AGAIN_AFTER: Final = (Seconds(0.2), Seconds(1.0), Seconds(5.0), Seconds(30.0))
"""When a stream is opened once more that has ended, and has ended again without an event."""


class EventStream:
    """Follows the interface's own events, or containerd's where the runtime has none of the former.

    What kind there is, is found out anew for each connection: the runtime may be another one. A runtime may
    also have a kind and not tell by it, as it is configured: CRI-O ends such a stream at once.
    """

    def __init__(self, wire: Wire, me: Port[StreamTold | StreamEnded], memory: CriMemory) -> None:
        self._wire = wire
        self._me = me
        self._memory = memory
        self._kind = 0
        self._has_told = False
        self._is_hopeful = False
        """Some kind ended otherwise than because the runtime does not have it."""
        self._ends = 0
        """So many ends since the last event."""

    @property
    def is_open(self) -> bool:
        """Whether events come."""
        return self._memory.open_stream is not None

    def open(self) -> None:
        """Begin to follow on a new connection."""
        self._ends = 0
        self.reopen()

    def reopen(self) -> None:
        """Follow, from the first kind on."""
        self._kind, self._is_hopeful = 0, False
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

    def note_event(self) -> None:
        """Take that it has told something."""
        self._has_told, self._ends = True, 0

    def ended(self, failure: RpcFailure) -> Seconds | None:
        """Take the end of the stream. Return when to open it again; None if nothing is to be done."""
        self._memory.open_stream = None
        self._memory.pleg.stream_errors += 1
        is_broken = self._has_told or failure.code is RpcCode.UNAVAILABLE
        self._is_hopeful |= failure.code is not RpcCode.UNIMPLEMENTED
        if not is_broken and self._kind + 1 < len(_KINDS):
            self._kind += 1
            self._follow()
            return None
        if not self._is_hopeful:
            return None
        self._ends += 1
        return AGAIN_AFTER[min(self._ends, len(AGAIN_AFTER)) - 1]

    def _follow(self) -> None:
        self.close()
        self._has_told = False
        number, me = self._memory.stream, self._me
        rpc: Rpc[Message] = _KINDS[self._kind]()
        self._memory.open_stream = self._wire.follow(
            rpc,
            lambda event: me.tell(StreamTold(stream=number, happened=what_happened(event))),
            lambda failure: me.tell(StreamEnded(stream=number, failure=failure)),
        )
