"""Hears containerd's events beside the agent: when a container exited, and when its next one was made."""

from __future__ import annotations

import threading
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

import grpc

from runtimes.cri.wire import containerd_events_pb2 as events
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.containers.cri_client import CriClient

_NAME = "io.kubernetes.pod.name"


class ExitWatch:
    """A context. Times are those at which the events were heard here, on one clock."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._heard: list[tuple[str, str, float]] = []
        """Topic, id of the container, and when."""
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._channel.close()

    def _listen(self) -> None:
        subscribe = self._channel.unary_stream(
            "/containerd.services.events.v1.Events/Subscribe",
            request_serializer=events.SubscribeRequest.SerializeToString,
            response_deserializer=events.Envelope.FromString,
        )
        try:
            for event in subscribe(events.SubscribeRequest(filters=["namespace==k8s.io"])):
                first = events.TaskOOM()
                first.ParseFromString(event.event.value)
                self._heard.append((event.topic, first.container_id, perf_counter()))
        except grpc.RpcError:
            return

    def has_restarted(self, pod: str) -> bool:
        """Return whether a container of the pod has been started for the second time."""
        started = {identity for topic, identity, _ in list(self._heard) if topic == "/tasks/start"}
        return len([each for each in self._containers(pod) if each.id in started]) > 1

    def decided_after(self, pod: str) -> float:
        """Return the seconds from the first container's exit to the making of the second one."""
        first, second = sorted(self._containers(pod), key=lambda each: each.metadata.attempt)[:2]
        return self._when("/containers/create", second.id) - self._when("/tasks/exit", first.id)

    def _when(self, topic: str, identity: str) -> float:
        return next(at for heard, of, at in list(self._heard) if (heard, of) == (topic, identity))

    def _containers(self, pod: str) -> list[cri.Container]:
        with CriClient(self._socket) as client:
            return [each for each in client.containers() if pod_of(each).startswith(f"{pod}-")]


def pod_of(container: cri.Container) -> str:
    """Return the name of the pod that a container is in."""
    return container.labels.get(_NAME, "")
