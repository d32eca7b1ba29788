"""The pod lifecycle event generator: sees what changes in the runtime, by its events and by looking.

It opens the stream of events that the runtime has. Each event leads to a look at its pod, and an exit is
taken from the event itself. Everything is looked at every 10 s while events come, and every second while none
do: an event can be lost, and nothing is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from google.protobuf.message import Message

from kernel import Alarm, Operation, Port
from messages.container_runtime import CallRuntime, LookAtPod
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.events import SomethingHappened, what_happened
from runtimes.cri.inventory import CriInventory, Seen
from runtimes.cri.messages import CriMemory, LookAgain, NoteExit, Purpose, StreamEnded, StreamTold
from runtimes.cri.operations.exits import record_exit
from runtimes.cri.operations.flow import OperationContext
from runtimes.cri.operations.looking import look
from runtimes.cri.running_operations import RunningOperations
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


WITH_EVENTS: Final = Seconds(10.0)
WITHOUT_EVENTS: Final = Seconds(1.0)
SETTLES_AFTER: Final = tuple(map(Seconds, (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0)))
"""When a pod is looked at again whose exit the runtime does not say yet. It mostly does after 60 ms."""


class Pleg:
    """Begins looks. What they saw comes back to ``take``, which returns the pods that changed."""

    def __init__(
        self,
        context: OperationContext,
        stream: EventStream,
        operations: RunningOperations,
        begin: Callable[[Purpose, Operation[Any]], None],
        next_look: Alarm,
        look_later: Callable[[Seconds, PodUid], None],
    ) -> None:
        """``next_look`` rings when ``due`` is to be called. ``look_later`` has one pod looked at then."""
        self._context = context
        self._stream = stream
        self._operations = operations
        self._begin = begin
        self._next_look = next_look
        """At everything."""
        self._look_later = look_later
        self._again: set[PodUid | None] = set()
        """Pods of which something happened while they were looked at; None for all."""
        self._settling: dict[PodUid, int] = {}
        """How many looks each pod has had since an exit that the runtime does not say yet."""
        self._waits = WITHOUT_EVENTS
        self._is_new = True
        """It is not known yet whether events come."""

    def start(self) -> None:
        """Look at everything now, and from now on. No look is under way."""
        self._again.clear()
        self._is_new = True
        self._look(None)

    def due(self, *, is_away: bool) -> None:
        """Look at everything: the time for that has come. Not while the runtime is away."""
        if not is_away and None not in self._looked_at():
            self._look(None)

    def happened(self, event: SomethingHappened) -> None:
        """Take an event: an exit is as it says, and its pod is looked at."""
        uid = self._inventory.owner(event.id) or event.uid
        if uid is None:
            return  # of a container that no look has seen: it is not ours, or the next look sees it
        if event.exited is not None and self._inventory.owner(event.id) is not None:
            self._begin(NoteExit(uid), record_exit(event.id, event.exited, self._context))
        else:
            self.look_at(uid)

    def look_at(self, uid: PodUid | None) -> None:
        """Look at one pod or at all, or once more after the look that is under way."""
        if uid in self._looked_at():
            self._again.add(uid)
        else:
            self._look(uid)

    def exit_recorded(self, uid: PodUid) -> None:
        """Look again soon: an exit was taken from its event, and the runtime will say more of it."""
        self._settling[uid] = 0
        self._settle((uid,))

    def take(self, purpose: LookAgain, seen: Seen | None) -> tuple[PodUid, ...]:
        """Take what a look saw, None if it failed. Return the pods of which anything is different."""
        changed = self._inventory.take(seen) if seen is not None else ()
        if purpose.uid is None:
            self._set_timer()
            self._forget_moments()
        else:
            self._settle((purpose.uid,))
        if purpose.uid in self._again:
            self._again.discard(purpose.uid)
            self._look(purpose.uid)
        return changed

    # --- inside ----------------------------------------------------------------------------------------

    @property
    def _inventory(self) -> CriInventory:
        return self._context.inventory

    def _looked_at(self) -> set[PodUid | None]:
        return {each.uid for each in self._operations.purposes() if isinstance(each, LookAgain)}

    def _look(self, uid: PodUid | None) -> None:
        self._begin(LookAgain(uid), look(uid, self._context))

    def _settle(self, uids: Iterable[PodUid]) -> None:
        for uid in uids:
            looks = self._settling.get(uid)
            if looks is None:
                continue
            if self._inventory.is_settled(uid) or looks >= len(SETTLES_AFTER):
                del self._settling[uid]
                continue
            self._settling[uid] = looks + 1
            self._look_later(SETTLES_AFTER[looks], uid)

    def _set_timer(self) -> None:
        has_events = self._stream.is_open and not self._is_new
        self._is_new = False
        wait = WITH_EVENTS if has_events else WITHOUT_EVENTS
        if (
            self._next_look.due is None or wait < self._waits
        ):  # or events have ended since it was set
            self._next_look.after(wait)
            self._waits = wait

    def _forget_moments(self) -> None:
        """Let the inventory forget, unless a look is out that needs its memory."""
        if not any(map(_is_look, self._operations.purposes())):
            self._inventory.forget_moments()


def _is_look(purpose: Purpose) -> bool:
    if isinstance(purpose, CallRuntime):
        return isinstance(purpose.request, LookAtPod)
    return isinstance(purpose, LookAgain)
