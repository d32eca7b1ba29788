"""The runtime in memory at the end of a wire, on the test's clock: nothing happens but by the stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message
from typing_extensions import override

from kernel import Key, PooledActor
from messages.units import Seconds
from runtimes.cri.wire.transport import Rpc, RpcCode, RpcFailure, RpcInFlight, RpcOutcome, Wire
from tests.support.cri.fake_cri import FakeCri, FakeStream

NOBODY: Final = RpcFailure(code=RpcCode.UNAVAILABLE, message="connect: no such file or directory")
BROKEN: Final = RpcFailure(code=RpcCode.UNAVAILABLE, message="Socket closed")
TOO_LATE: Final = RpcFailure(code=RpcCode.DEADLINE_EXCEEDED, message="Deadline Exceeded")
CANCELLED: Final = RpcFailure(code=RpcCode.CANCELLED, message="Channel closed!")
RUNTIME_ENDED: Final = RpcFailure(code=RpcCode.OTHER, message="the runtime ended the stream")


@dataclass(frozen=True, slots=True)
class Errand:
    """Something to be done by the runtime in memory, after so many seconds."""

    after: float
    action: Callable[[], None] = field(repr=False)


FAKE_CRI: Final = Key[Errand]("outside/cri")


class FakeCriDesk(PooledActor[Errand]):
    """Does errands in their time: so all that the runtime does is in the stage's schedule."""

    @override
    def receive(self, message: Errand, /) -> None:
        if message.after > 0:
            self.after(Seconds(message.after), Errand(0.0, message.action))
        else:
            message.action()


@dataclass(slots=True, eq=False)
class FakeCall(RpcInFlight):
    """A call that was sent, or a stream."""

    end: Callable[[RpcFailure], None]
    has_ended: bool = False
    stream: FakeStream | None = None

    @override
    def cancel(self) -> bool:
        if self.has_ended:
            return False
        self.end(CANCELLED)
        return True


class FakeWire(Wire):
    """Carries calls to a runtime in memory. The connection breaks, hangs and comes back as the test says."""

    def __init__(
        self, service: FakeCri, later: Callable[[float, Callable[[], None]], None]
    ) -> None:
        self.service = service
        self._later = later
        self._open: list[FakeCall] = []
        self._held: list[Callable[[], None]] = []
        self.is_there = True
        self.is_hung = False
        self.most_in_flight = 0

    @property
    def in_flight(self) -> int:
        """How many calls and streams are open."""
        return len(self._open)

    # --- what a test does ------------------------------------------------------------------------------

    def go_away(self) -> None:
        """Have nobody listen any more, and break what is open."""
        self.is_there = False
        self.service.streams.clear()
        self._held.clear()
        for call in list(self._open):
            call.end(BROKEN)

    def come_back(self) -> None:
        """Have somebody listen again."""
        self.is_there = True

    def hang(self) -> None:
        """Have what is asked stay unanswered, as if the runtime's process were stopped."""
        self.is_hung = True

    def go_on(self) -> None:
        """Have everything answered that came while it hung."""
        self.is_hung = False
        held, self._held = self._held, []
        for action in held:
            self._later(0.0, action)

    # --- the wire --------------------------------------------------------------------------------------

    @override
    def call(self, rpc: Rpc[Message], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        name, request = rpc.method.rpartition("/")[2], copied(rpc.request)

        def end(outcome: RpcOutcome) -> None:
            if not call.has_ended:
                call.has_ended = True
                self._open.remove(call)
                done(outcome)

        def answer(outcome: RpcOutcome) -> None:
            said = outcome if isinstance(outcome, RpcFailure) else as_reply(outcome, rpc.reply)
            self._later(0.0, lambda: end(said))

        call = self._opened(end)
        self._later(0.0, lambda: self._arrive(lambda: self.service.ask(name, request, answer), end))
        self._limit(call, rpc.deadline)
        return call

    @override
    def follow(
        self,
        rpc: Rpc[Message],
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure], None],
    ) -> RpcInFlight:
        def end(failure: RpcFailure) -> None:
            if not call.has_ended:
                call.has_ended = True
                self._open.remove(call)
                self._forget(call)
                ended(failure)

        def tell(event: Message) -> None:
            sent = copied(event)
            self._later(0.0, lambda: None if call.has_ended else told(sent))

        def stop(failure: RpcFailure | None) -> None:
            self._later(0.0, lambda: end(failure or RUNTIME_ENDED))

        def arrive() -> None:
            if not call.has_ended:
                call.stream = self.service.follow(rpc.method.rpartition("/")[2], tell, stop)

        call = self._opened(end)
        self._later(0.0, lambda: self._arrive(arrive, end))
        return call

    @override
    def close(self) -> None:
        for call in list(self._open):
            call.end(CANCELLED)

    # --- inside ----------------------------------------------------------------------------------------

    def _limit(self, call: FakeCall, seconds: float) -> None:
        """Have a call end that takes longer."""
        self._later(seconds, lambda: call.end(TOO_LATE))

    def _forget(self, call: FakeCall) -> None:
        if call.stream in self.service.streams:
            self.service.streams.remove(call.stream)

    def _opened(self, end: Callable[[RpcFailure], None]) -> FakeCall:
        call = FakeCall(end)
        self._open.append(call)
        self.most_in_flight = max(self.most_in_flight, len(self._open))
        return call

    def _arrive(self, action: Callable[[], None], end: Callable[[RpcFailure], None]) -> None:
        if not self.is_there:
            end(NOBODY)
        elif self.is_hung:
            self._held.append(action)
        else:
            action()


def copied(message: Message) -> Message:
    """Return what arrives of a message that is sent."""
    return type(message).FromString(message.SerializeToString())


def as_reply(message: Message, kind: type[Message]) -> RpcOutcome:
    """Return what arrives of a reply; one that is none of its kind is a failure, as in gRPC."""
    try:
        return kind.FromString(message.SerializeToString())
    except Exception:  # noqa: BLE001  # whatever protobuf raises
        return RpcFailure(code=RpcCode.OTHER, message="Exception deserializing response!")
