"""The two actor types. They have one contract, and differ only in whose thread runs them.

This module seals Pykka's actor base. Its hooks are final. Its registry and its proxies are not used.
Its inbox is the mailbox of an address, which survives the actor. The kernel has a turn function of its own
(``incarnation.py``), because Pykka's loop does not report a failing ``on_start`` or ``on_stop``, and lets
a SystemExit in one actor stop all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar, final

import pykka
from pykka._envelope import Envelope as PykkaEnvelope
from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr, _ActorStop
from typing_extensions import override

from kernel.clock import Clock, Timer
from kernel.incarnation import Incarnation, PartOfLife
from kernel.later import PORTION, Alarm, Later, Portions
from kernel.operations import Operations, OperationsMemory
from kernel.ports import Port
from kernel.steps import OperationStep
from messages.units import Seconds

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")
P = TypeVar("P", bound=PartOfLife)
W = TypeVar("W")


def _as_it_is(step: OperationStep) -> OperationStep:
    return step


class BaseActor(pykka.Actor, Generic[M]):
    """What both actor types share: an actor has a mailbox and handles one message at a time.

    Subclasses implement ``receive``. They may implement ``started`` and ``stopping``. Constructors only
    store their arguments: the properties and methods below work from ``started`` on.
    """

    _life: Incarnation

    def __init__(self) -> None:
        # Pykka's own constructor makes a threading.Event (1.2 kB) and an inbox for each life; here
        # both belong to the kernel, and ``bind`` fills in what Pykka's ActorRef looks at.
        super(pykka.Actor, self).__init__()

    @abstractmethod
    def receive(self, message: M, /) -> None:
        """Handle one message. An exception ends this life, and the supervisor decides about the next.

        The message that failed is lost. The messages behind it wait for the next life.
        """

    def started(self) -> None:
        """Prepare: acquire resources, set the first timer, tell others to send their state.

        Later siblings start after this returned. An exception is a failed start.
        """

    def stopping(self) -> None:
        """Do what belongs to an orderly stop. Does not run after a crash, whose state nobody trusts.

        Put what must be released in any case into ``resources``.
        """

    @property
    def me(self) -> Port[M]:
        """The port of this life, for messages to itself and for helper threads that it starts.

        Unlike the address, it ends with this life. Messages to it that are not handled by then, or are
        told later, become dead letters.
        """
        return IncarnationPort(self._life)

    @property
    def name(self) -> str:
        """The path of its address."""
        return self._life.cell.key.path

    @property
    def incarnation(self) -> int:
        """The number of this life: higher than that of any earlier one at this address."""
        return self._life.number

    @property
    def clock(self) -> Clock:
        """The clock of the actor system."""
        return self._life.control.clock

    @property
    def resources(self) -> ExitStack:
        """A stack that is closed whenever and however this life ends."""
        if self._life.resources is None:
            self._life.resources = ExitStack()
        return self._life.resources

    def after(self, delay: Seconds, message: M) -> Timer:
        """Tell this life ``message`` in ``delay`` seconds. Return the timer, which can be cancelled."""
        return self._life.set_timer(delay, message)

    def later(self, delay: Seconds, call: Callable[..., None], *args: Any) -> Timer:
        """Call ``call(*args)`` in a turn of this life, in ``delay`` seconds. Return the timer."""
        return self._life.set_timer(delay, Later(call, *args))

    def alarm(self, call: Callable[[], None]) -> Alarm:
        """Return an alarm that calls ``call`` in a turn of this life, at the moment that is set."""
        return self._part(Alarm(self._life, call))

    def portions(self, call: Callable[[K], None], most: int = PORTION) -> Portions[K]:
        """Return what calls ``call`` with keys in turns of this life, at most ``most`` in each."""
        return self._part(Portions(self._life, call, most))

    def operations(
        self,
        memory: OperationsMemory[W],
        ended: Callable[[W, Any], None],
        hands: Callable[[Any], OperationStep] = _as_it_is,
    ) -> Operations[W]:
        """Return the engine of this life for the operations in ``memory``. Call its ``recover`` next.

        ``ended`` is told of the end of each: what it was for, and its result or a ``Failure``. ``hands``
        makes a step of what operations yield, for those that yield descriptions.
        """
        return self._part(Operations(self._life, memory, ended, hands))

    @final
    @override
    def stop(self) -> None:
        """End this life in order, before it handles another message: its work is done."""
        self._life.stopped_itself = True
        self._life.cell.request_stop(self._life)

    @final
    def bind(self, life: Incarnation) -> None:
        """Join the actor to its life. Its supervisor calls this once, before anything runs."""
        self._life = life
        self.actor_urn = life.cell.key.path
        self.actor_inbox = PykkaInbox(life)
        self.actor_stopped = Liveness(life)  # type: ignore[assignment]  # a lighter Event
        self._actor_ref = pykka.ActorRef(self)

    @final
    def unbind(self) -> None:
        """Drop the references to itself, which would keep the actor in memory until a collection."""
        del self._actor_ref
        self.let_go()

    def let_go(self) -> None:
        """Drop the parts that know this actor. Called once no code of this life runs any more.

        Actor and parts would stay in memory until the interpreter looks for cycles, which it does rarely.
        That matters for actors that come and go by the thousand.
        """

    def _part(self, part: P) -> P:
        """Return ``part``, which forgets this actor once the life has ended."""
        parts = self._life.parts
        if parts is None:
            parts = self._life.parts = []
        parts.append(part)
        return part

    # Pykka's side, sealed. Its three extension methods are the seam that it offers to new actor
    # types; everything else is out of reach for subclasses.

    @final
    @staticmethod
    @override
    def _create_actor_inbox() -> NoReturn:
        raise TypeError("an actor's mailbox belongs to its address")

    @final
    @staticmethod
    @override
    def _create_future() -> pykka.Future[Any]:
        return pykka.ThreadingFuture()

    @final
    @override
    def _start_actor_loop(self) -> None:
        self._life.executor.start(self._life)

    @final
    @classmethod
    @override
    def start(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Raise TypeError: supervisors start actors, from a child spec."""
        raise TypeError(f"{cls.__name__} is started by its supervisor, from a ChildSpec")

    @final
    @override
    def on_start(self) -> None:
        """Sealed: see ``started``."""

    @final
    @override
    def on_stop(self) -> None:
        """Sealed: see ``stopping``."""

    @final
    @override
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Sealed: failures go to the supervisor."""

    @final
    @override
    def on_receive(self, message: Any) -> None:
        """Sealed: see ``receive``."""


class Actor(BaseActor[M]):
    """An actor with a thread of its own: it may block."""


class PooledActor(BaseActor[M]):
    """An actor that shares the pool's threads: it never blocks, and may exist ten thousand times."""


class IncarnationPort(Port[M]):
    """The port of one incarnation."""

    __slots__ = ("_life",)

    def __init__(self, life: Incarnation) -> None:
        self._life = life

    @override
    def tell(self, message: M, /) -> None:
        self._life.tell(message)


class Liveness:
    """The part of a threading.Event that Pykka's ActorRef uses."""

    __slots__ = ("_life",)

    def __init__(self, life: Incarnation) -> None:
        self._life = life

    def is_set(self) -> bool:
        """Whether the actor has ended."""
        return self._life.is_cut_off


class PykkaInbox:
    """Takes the envelopes of Pykka's ActorRef: translates them into the kernel's terms, or refuses them."""

    __slots__ = ("_life",)

    def __init__(self, life: Incarnation) -> None:
        self._life = life

    def put(self, envelope: PykkaEnvelope[Any], /) -> None:
        """Take what ``ActorRef.tell``, ``ask`` and ``stop`` send. Raises TypeError for proxy messages."""
        message, reply_to = envelope.message, envelope.reply_to
        if isinstance(message, _ActorStop):
            self._life.stopped_itself = True
            self._life.cell.request_stop(self._life)
            if reply_to is not None:
                reply_to.set(None)
        elif reply_to is not None:
            # Pykka answers with what a handler returns, and ours return nothing.
            error = TypeError("actors have no proxies, and are asked through their system")
            reply_to.set_exception((TypeError, error, None))
        elif isinstance(message, ProxyCall | ProxyGetAttr | ProxySetAttr):
            raise TypeError("actors have no proxies: tell them messages")
        else:
            self._life.cell.tell(message)

    def get(self) -> NoReturn:
        """Raise TypeError: only the kernel's turn takes from a mailbox."""
        raise TypeError("only the kernel takes from a mailbox")

    def empty(self) -> bool:
        """Whether no message waits."""
        return self._life.cell.depth == 0
