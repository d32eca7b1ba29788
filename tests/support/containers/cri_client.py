"""The CRI as anybody may call it: blocking, by plain gRPC, for what tests look at or do by hand."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import grpc
from google.protobuf.message import Message

from runtimes.cri.wire import cri_pb2 as cri
from tests.support.patience import PATIENCE

ReplyT = TypeVar("ReplyT", bound=Message)

OF_IMAGES: Final = {"ListImages", "ImageStatus", "PullImage", "RemoveImage", "ImageFsInfo"}
OPTIONS: Final = (("grpc.enable_http_proxy", 0), ("grpc.initial_reconnect_backoff_ms", 100))


class CriClient:
    """One connection. To be closed, since it has threads now and then."""

    def __init__(self, socket: Path) -> None:
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=OPTIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def call(self, request: Message, reply: type[ReplyT], within: float = PATIENCE) -> ReplyT:
        """Return the reply to ``request``, whose name says the method. Raises ``grpc.RpcError``."""
        name = request.DESCRIPTOR.name.removesuffix("Request")
        service = "ImageService" if name in OF_IMAGES else "RuntimeService"
        method = self._channel.unary_unary(
            f"/runtime.v1.{service}/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )
        answered: ReplyT = method(request, timeout=within)
        return answered

    def is_ready(self) -> bool:
        """Return whether the runtime can run pods now; those with a network of their own apart."""
        try:
            status = self.call(cri.StatusRequest(), cri.StatusResponse, within=1.0).status
        except grpc.RpcError:
            return False
        return self._holds(status, "RuntimeReady")

    def has_network(self) -> bool:
        """Return whether pods can have a network of their own."""
        status = self.call(cri.StatusRequest(), cri.StatusResponse).status
        return self._holds(status, "NetworkReady")

    def sandboxes(self) -> list[cri.PodSandbox]:
        """Return every sandbox that there is."""
        return list(self.call(cri.ListPodSandboxRequest(), cri.ListPodSandboxResponse).items)

    def containers(self) -> list[cri.Container]:
        """Return every container that there is."""
        return list(self.call(cri.ListContainersRequest(), cri.ListContainersResponse).containers)

    def container(self, container: str) -> cri.ContainerStatus:
        """Return how a container is."""
        request = cri.ContainerStatusRequest(container_id=container)
        return self.call(request, cri.ContainerStatusResponse).status

    @staticmethod
    def state_of(container: cri.Container) -> str:
        """Return the state of a container in a word."""
        return cri.ContainerState.Name(container.state).removeprefix("CONTAINER_").lower()

    def remove_sandbox(self, sandbox: str) -> None:
        """Stop a sandbox without any grace, and remove it with its containers."""
        self.call(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox), cri.StopPodSandboxResponse)
        self.call(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), cri.RemovePodSandboxResponse)

    @staticmethod
    def _holds(status: cri.RuntimeStatus, condition: str) -> bool:
        return any(each.type == condition and each.status for each in status.conditions)
