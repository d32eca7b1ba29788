"""The lasting part of an address: its mailbox, and the incarnation that takes from it.

A cell exists before its first actor and after any crash. One lock guards the mailbox and the two facts
that decide whether an incarnation must be woken: whether there is one, and whether it is idle.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import structlog
from typing_extensions import override

from kernel.current import current_incarnation
from kernel.mailbox import (
    CoalescingQueue,
    Envelope,
    ForIncarnation,
    KernelMessage,
    MessageQueue,
    title_of,
    unwrapped,
)
from kernel.ports import ActorDeadError, Key, Port
from kernel.telemetry import Meter, Telemetry

M = TypeVar("M")

_log = structlog.get_logger("kernel")

DOWN_LIMIT = 10_000
"""Most messages that wait for a child that is down. Further ones become dead letters. One second of
tells to a child in backoff has been 126,000 messages."""


class _Nothing:
    """What ``take`` returns instead of an item: ``EMPTY``, or ``STOP`` ahead of all messages."""

    __slots__ = ()


EMPTY: Final = _Nothing()
STOP: Final = _Nothing()


class Consumer(Protocol):
    """An incarnation as its address sees it: it takes from the mailbox, and rests while that is empty."""

    number: int
    """Its number among the incarnations of this address."""
    is_cut_off: bool
    """Whether it ended or was abandoned."""
    stop_requested: bool
    """Whether it has to stop before it handles another message."""

    def wake(self) -> None:
        """Make it take from the mailbox soon."""
        ...


class Retained(Protocol):
    """What an address follows or owns: a level."""

    def tell_again(self, cell: Cell[Any], /) -> None:
        """Tell everything once more to an address at which a life has begun."""
        ...

    def forget(self, cell: Cell[Any], /) -> None:
        """Keep nothing of an address that was closed."""
        ...


class Cell(Port[M], Generic[M]):
    """One address. It is its own port: others only see ``tell``."""

    __slots__ = (
        "_busy",
        "_closed",
        "_expected",
        "_levels",
        "_lock",
        "_queue",
        "handled",
        "incarnation",
        "key",
        "lives",
        "meter",
        "owner",
        "telemetry",
    )

    def __init__(self, key: Key[M], telemetry: Telemetry) -> None:
        self.key = key
        self.telemetry = telemetry
        self.meter: Meter = telemetry.meter(key.role)
        self.handled = 0
        self.lives = 0
        """Number of the last incarnation. Never goes back while the process runs."""
        self.incarnation: Consumer | None = None
        self._lock = threading.Lock()
        self._queue: MessageQueue = _queue_for(key)
        self._busy = False
        """Whether an incarnation is queued or running. It looks into the mailbox before it rests."""
        self._closed = False
        self._levels: tuple[Retained, ...] = ()
        """What it follows or owns."""
        self._expected = 0
        """Starts that were asked for and have not begun. While there are any, the cell is kept."""
        self.owner: object = None
        """The supervisor whose child has this address."""

    @override
    def tell(self, message: M, /) -> None:
        sender = current_incarnation()
        if sender is not None and sender.is_cut_off:
            self._discard((message,), "told by an ended actor")
            return
        refusal = self.put(message)
        if refusal:
            self._discard((message,), refusal)

    def put(self, item: object) -> str:
        """Append ``item`` and wake the incarnation. Return why ``item`` was refused; empty if it was not."""
        with self._lock:
            if self._closed:
                return "address closed"
            incarnation = self.incarnation
            if isinstance(item, ForIncarnation) and (
                incarnation is None or incarnation.number != item.number
            ):
                return "told to an ended life"
            if incarnation is None and len(self._queue) >= DOWN_LIMIT and not self._has_room(item):
                return "mailbox of an actor that is down is full"
            self._queue.append(item)
            if incarnation is None or self._busy:
                return ""
            self._busy = True
        incarnation.wake()
        return ""

    def _has_room(self, item: object) -> bool:
        """Return whether ``item`` makes the mailbox no longer, or is one of the kernel's, which are few."""
        if isinstance(item, KernelMessage):
            return True
        return isinstance(self._queue, CoalescingQueue) and item in self._queue

    def put_envelope(self, envelope: Envelope) -> None:
        """Append a question that somebody waits for. If it is refused, the asker gets ActorDeadError."""
        refusal = self.put(envelope)
        if refusal:
            self._discard((envelope,), refusal)

    def take(self, incarnation: Consumer) -> object:
        """Return the next item for ``incarnation``.

        STOP comes before all messages. EMPTY means that it rests until it is woken.
        """
        with self._lock:
            if self.incarnation is not incarnation:
                return EMPTY
            if incarnation.stop_requested:
                return STOP
            if self._queue:
                item = self._queue.popleft()
                return item.message if isinstance(item, ForIncarnation) else item
            self._busy = False
            return EMPTY

    def rest(self, incarnation: Consumer) -> bool:
        """Return whether nothing is left to do for ``incarnation``. Then it rests until it is woken."""
        with self._lock:
            if self.incarnation is not incarnation or incarnation.stop_requested or self._queue:
                return False
            self._busy = False
            return True

    def attach(self, incarnation: Consumer) -> None:
        """Give the mailbox to ``incarnation``, which counts as woken.

        Opens a closed address: a child that was gone may be started again with its group.
        """
        with self._lock:
            self._closed = False
            self.incarnation = incarnation
            self._busy = True

    def detach(self, incarnation: Consumer, report: Callable[[], None] | None = None) -> bool:
        """Cut ``incarnation`` off from the mailbox. Return False when it was cut off before.

        ``report`` is called under the same lock, so nobody sees the mailbox at rest before it ran.
        """
        with self._lock:
            if incarnation.is_cut_off:
                return False
            incarnation.is_cut_off = True
            is_idle = self.incarnation is incarnation and not self._busy
            if self.incarnation is incarnation:
                self.incarnation = None
                self._busy = False
            stale = self._take_out(incarnation.number)
            if report is not None:
                report()
        self._discard(stale, "told to an ended life")
        if is_idle:
            # It rests: unless it is woken it never learns that it is over and has resources to close.
            incarnation.wake()
        return True

    def _take_out(self, number: int) -> list[object]:
        """Remove and return what waited for incarnation ``number`` alone; the rest stays in order."""
        stale: list[object] = []
        for _ in range(len(self._queue)):
            item = self._queue.popleft()
            if isinstance(item, ForIncarnation) and item.number == number:
                stale.append(item)
            else:
                self._queue.append(item)
        return stale

    def request_stop(self, incarnation: Consumer) -> None:
        """Make ``incarnation`` stop before it handles another message."""
        with self._lock:
            incarnation.stop_requested = True
            if self._busy or self.incarnation is not incarnation:
                return
            self._busy = True
        incarnation.wake()

    def expect(self, starts: int) -> None:
        """Open the address, and add ``starts``, which may be negative, to the starts to come."""
        with self._lock:
            self._closed = False
            self._expected += starts

    @property
    def is_expected(self) -> bool:
        """Whether a start was asked for and has not begun."""
        return self._expected > 0

    def close(self) -> None:
        """Refuse all further messages. Those that wait become dead letters, questions fail."""
        with self._lock:
            self._closed = True
            left = [self._queue.popleft() for _ in range(len(self._queue))]
        for level in self._levels:
            level.forget(self)
        self._discard(left, "address closed")

    def join(self, level: Retained) -> bool:
        """Follow or own ``level`` from now on. Return False if the address is closed."""
        with self._lock:
            if not self._closed and level not in self._levels:
                self._levels = (*self._levels, level)
            return not self._closed

    def part(self, level: Retained) -> None:
        """Follow and own ``level`` no more."""
        with self._lock:
            self._levels = tuple(each for each in self._levels if each is not level)

    def begin_levels(self) -> None:
        """Have the life that has just begun told everything that its address follows."""
        for level in self._levels:
            level.tell_again(self)

    def _discard(self, items: Iterable[object], why: str) -> None:
        for item in items:
            if isinstance(item, Envelope):
                item.fail(ActorDeadError(f"{self.key.path}: {why}"))
            else:
                self.telemetry.dead_letter(self.key.path, title_of(unwrapped(item)), why)

    @property
    def depth(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        """Whether no message is being handled, and none waits for an incarnation that is up."""
        with self._lock:
            return self.incarnation is None or not self._busy


def _queue_for(key: Key[Any]) -> MessageQueue:
    if key.coalesce is None:
        return deque()
    name = cast("Callable[[object], Hashable | None]", key.coalesce)

    def name_of(item: object) -> Hashable | None:
        message = unwrapped(item)
        if isinstance(item, Envelope) or isinstance(message, KernelMessage):
            # Somebody waits for the answer, or it is none of the messages that the actor names.
            return None
        try:
            own = name(message)
            hash(own)
        except Exception:  # noqa: BLE001  # whatever an actor's naming raises
            # The sender is not to blame, and telling never raises: the message is kept without a name.
            _log.exception("message could not be named", actor=key.path)
            return None
        # A message for one incarnation never replaces one that outlives it.
        return (
            (ForIncarnation, own) if isinstance(item, ForIncarnation) and own is not None else own
        )

    return CoalescingQueue(name_of)
