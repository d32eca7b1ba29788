"""The runtime in memory as a gRPC server on a socket: its answers pass through the real transport."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.message import Message
from typing_extensions import override

from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import LARGEST_MESSAGE, RpcCode, RpcFailure, RpcOutcome
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, FakeCri
from tests.support.cri.fake_machine import FakeMachine
from tests.support.patience import PATIENCE

CODES: Final = {code: getattr(grpc.StatusCode, code, grpc.StatusCode.UNKNOWN) for code in RpcCode}
THREADS: Final = 16
ENDED: Final = object()


if TYPE_CHECKING:
    _Handler = grpc.GenericRpcHandler[Any, Any]
else:
    _Handler = grpc.GenericRpcHandler


class FakeCriServer(_Handler):
    """Serves one runtime in memory. What runs stays when the server ends, and is there in the next."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._lock = threading.RLock()
        self.machine = FakeMachine(time.time_ns, self._later)
        self.cri = FakeCri(self.machine, self._later)
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Listen. The socket is made anew."""
        self.socket.unlink(missing_ok=True)
        options = (
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", LARGEST_MESSAGE),
        )
        self._server = grpc.server(ThreadPoolExecutor(THREADS), options=options)
        self._server.add_generic_rpc_handlers((self,))
        self._server.add_insecure_port(f"unix:{self.socket}")
        self._server.start()

    def stop(self) -> None:
        """End at once, in the middle of whatever is asked."""
        server, self._server = self._server, None
        if server is not None:
            with self._lock:
                self.cri.end_streams(RpcFailure(code=RpcCode.UNAVAILABLE, message="shutting down"))
            server.stop(None).wait()
            self.socket.unlink(missing_ok=True)

    def do(self, action: Callable[[], object]) -> None:
        """Do something to what runs, while nothing else happens to it."""
        with self._lock:
            action()

    @override
    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method
        name = path.rpartition("/")[2]
        if name in {CRI_EVENTS, CONTAINERD_EVENTS}:
            return grpc.unary_stream_rpc_method_handler(
                lambda _, context: self._stream(name, context),
                request_deserializer=bytes,
                response_serializer=_serialized,
            )
        request = getattr(cri, f"{name}Request", None)
        if request is None or not path.startswith("/runtime.v1."):
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda asked, context: self._answer(name, asked, context),
            request_deserializer=request.FromString,
            response_serializer=_serialized,
        )

    # --- inside ----------------------------------------------------------------------------------------

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, lambda: self.do(action))
        timer.daemon = True
        timer.start()

    def _answer(self, name: str, request: Message, context: grpc.ServicerContext) -> Message:
        answers: SimpleQueue[RpcOutcome] = SimpleQueue()
        context.add_callback(
            lambda: answers.put(RpcFailure(code=RpcCode.CANCELLED, message="nobody waits"))
        )
        self.do(lambda: self.cri.ask(name, request, answers.put))
        outcome = answers.get(timeout=PATIENCE)
        if isinstance(outcome, RpcFailure):
            context.abort(CODES[outcome.code], outcome.message)
        assert isinstance(outcome, Message)
        return outcome

    def _stream(self, name: str, context: grpc.ServicerContext) -> Iterator[Message]:
        events: SimpleQueue[Any] = SimpleQueue()
        context.add_callback(lambda: events.put(ENDED))
        self.do(lambda: self.cri.follow(name, events.put, events.put))
        while isinstance(event := events.get(), Message):
            yield event
        if isinstance(event, RpcFailure):
            context.abort(CODES[event.code], event.message)


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


@contextmanager
def cri_server(socket: Path) -> Iterator[FakeCriServer]:
    """Serve a runtime in memory for the ``with`` block."""
    server = FakeCriServer(socket)
    server.start()
    try:
        yield server
    finally:
        server.stop()
