"""A runtime of containers with a door in front of it: calls about some pods are held there, at a chosen step.

Whoever connects here speaks to the real runtime. So a test can end an agent at the very moment at which the
runtime has done something, and the agent does not know it yet; or is about to be asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import grpc
from typing_extensions import override

from runtimes.cri.wire import cri_pb2 as cri
from tests.support.patience import PATIENCE

THREADS: Final = 64
"""Each call that is held, and each stream, has one."""
HELD_FOR: Final = 2 * PATIENCE
"""Seconds. Only a failing test waits as long."""
STREAMS: Final = {"Subscribe", "GetContainerEvents"}
AS_IT_IS: Final = bytes
"""How messages are written and read here."""
OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.max_receive_message_length", 32 << 20),
)

if TYPE_CHECKING:
    Handler: TypeAlias = grpc.RpcMethodHandler[bytes, bytes]
    Handlers: TypeAlias = grpc.GenericRpcHandler[bytes, bytes]
else:
    Handlers = grpc.GenericRpcHandler


@dataclass(frozen=True)
class Step:
    """A call about a pod, before the runtime hears of it or after it has answered."""

    method: str
    is_done: bool

    @override
    def __str__(self) -> str:
        return f"{'after' if self.is_done else 'before'}-{self.method}"


@dataclass
class _Door:
    """Where the calls about one pod are held."""

    step: Step
    is_reached: threading.Event = field(default_factory=threading.Event)
    opens: threading.Event = field(default_factory=threading.Event)


class CriProxy(Handlers):
    """Passes calls on, but for those that are to be held."""

    def __init__(self, runtime: Path, socket: Path) -> None:
        self.socket = socket
        self._doors: dict[str, _Door] = {}
        self._pods: dict[str, str] = {}
        """The name of the pod of each sandbox and container that was made through it."""
        self._channel = grpc.insecure_channel(f"unix:{runtime}", options=OPTIONS)
        self._threads = ThreadPoolExecutor(THREADS)
        self._server = grpc.server(self._threads, handlers=[self], options=OPTIONS)
        self._server.add_insecure_port(f"unix:{socket}")
        self._server.start()

    def close(self) -> None:
        self.open_all()
        self._server.stop(None).wait()
        self._channel.close()
        self._threads.shutdown()

    # --- what a test says ------------------------------------------------------------------------------

    def hold(self, pod: str, step: Step) -> None:
        """Hold the calls about a pod at a step, from now on."""
        self._doors[pod] = _Door(step)

    def await_all(self) -> None:
        """Wait until each pod that is to be held has come to its step."""
        for pod, door in self._doors.items():
            assert door.is_reached.wait(PATIENCE), f"{pod} does not come to {door.step}"

    def open_all(self) -> None:
        """Hold nobody any more. What nobody waits for now never reaches the runtime."""
        doors, self._doors = self._doors, {}
        for door in doors.values():
            door.opens.set()

    # --- what grpc calls -------------------------------------------------------------------------------

    @override
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler:
        path = handler_call_details.method
        method = path.rpartition("/")[2]
        if method in STREAMS:

            def stream(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
                return self._stream(path, request, context)

            return grpc.unary_stream_rpc_method_handler(stream)

        def call(request: bytes, context: grpc.ServicerContext) -> bytes:
            return self._call(path, method, request, context)

        return grpc.unary_unary_rpc_method_handler(call)

    def _call(self, path: str, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        pod = self._pod_of(method, request)
        self._wait_at(pod, Step(method, is_done=False))
        if not context.is_active():
            return b""
        try:
            reply: bytes = self._channel.unary_unary(path, AS_IT_IS, AS_IT_IS)(
                request, timeout=context.time_remaining()
            )
        except grpc.RpcError as error:
            context.abort(error.code(), error.details() or "")
        self._learn(method, request, reply)
        self._wait_at(pod or self._pod_of(method, request), Step(method, is_done=True))
        return reply

    def _stream(self, path: str, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        call = self._channel.unary_stream(path, AS_IT_IS, AS_IT_IS)(request)
        context.add_callback(call.cancel)
        try:
            yield from call
        except grpc.RpcError as error:
            if context.is_active():
                context.abort(error.code(), error.details() or "")

    def _wait_at(self, pod: str, step: Step) -> None:
        door = self._doors.get(pod)
        if door is not None and door.step == step:
            door.is_reached.set()
            assert door.opens.wait(HELD_FOR)

    # --- whose a call is -------------------------------------------------------------------------------

    def _pod_of(self, method: str, request: bytes) -> str:
        parsed: Any
        match method:
            case "RunPodSandbox":
                return cri.RunPodSandboxRequest.FromString(request).config.metadata.name
            case "CreateContainer":
                return cri.CreateContainerRequest.FromString(request).sandbox_config.metadata.name
            case "StartContainer" | "StopContainer" | "RemoveContainer":
                parsed = cri.StartContainerRequest.FromString(request)
                return self._pods.get(parsed.container_id, "")
            case "StopPodSandbox" | "RemovePodSandbox":
                parsed = cri.StopPodSandboxRequest.FromString(request)
                return self._pods.get(parsed.pod_sandbox_id, "")
            case _:
                return ""

    def _learn(self, method: str, request: bytes, reply: bytes) -> None:
        if method == "RunPodSandbox":
            made = cri.RunPodSandboxResponse.FromString(reply).pod_sandbox_id
        elif method == "CreateContainer":
            made = cri.CreateContainerResponse.FromString(reply).container_id
        else:
            return
        self._pods[made] = self._pod_of(method, request)


@contextmanager
def cri_proxy(runtime: Path, folder: Path) -> Iterator[CriProxy]:
    """Have a proxy for the ``with`` block, at a socket in ``folder``."""
    proxy = CriProxy(runtime, folder / "proxy.sock")
    try:
        yield proxy
    finally:
        proxy.close()
