"""What a runtime's stream of events says, of whichever kind it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError, Message

from messages.pods import PodUid
from runtimes.cri.inventory import ContainerExit
from runtimes.cri.wire import containerd_events_pb2 as containerd
from runtimes.cri.wire import cri_pb2 as cri

_EXIT: Final = "containerd.events.TaskExit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SomethingHappened:
    """Something happened to a container or a sandbox."""

    id: str
    uid: PodUid | None = None
    """Its pod, if the event says that."""
    exited: ContainerExit | None = None
    """Its exit, if the event says how that was. The runtime itself says so 60 ms later."""
    at: int = 0
    """When, in nanoseconds since 1970; 0 if the event does not say."""


def what_happened(event: Message) -> SomethingHappened | None:
    """Return what ``event`` tells; None if that concerns no container."""
    match event:
        case cri.ContainerEventResponse():
            return _of_cri(event)
        case containerd.Envelope():
            return _of_containerd(event)
        case _:
            return None


def _of_cri(event: cri.ContainerEventResponse) -> SomethingHappened | None:
    if not event.container_id:
        return None
    uid = event.pod_sandbox_status.metadata.uid
    return SomethingHappened(
        id=event.container_id, uid=PodUid(uid) if uid else None, at=event.created_at
    )


def _of_containerd(event: containerd.Envelope) -> SomethingHappened | None:
    if event.event.type_url.rpartition("/")[2] != _EXIT:
        container_id = _container_id(event)
        at = event.timestamp.seconds * 10**9 + event.timestamp.nanos
        return SomethingHappened(id=container_id, at=at) if container_id else None
    ended = containerd.TaskExit()
    try:
        ended.ParseFromString(event.event.value)
    except DecodeError:
        return None
    if ended.id != ended.container_id:
        return None  # a command that was run in the container has ended, not the container
    at = ended.exited_at.seconds * 10**9 + ended.exited_at.nanos
    if not (0 < at < 1 << 63 and ended.exit_status < 1 << 31):
        # It never ran: its exit has no time, or one of the year 1. What became of it has to be asked.
        return SomethingHappened(id=ended.container_id)
    exited = ContainerExit(ended.exit_status, at)
    return SomethingHappened(id=ended.container_id, exited=exited, at=at)


def _container_id(event: containerd.Envelope) -> str:
    """Return which container it is about: all topics that are followed have it in their first field.

    ``/containers/delete`` calls it ``id`` and the others ``container_id``.
    """
    first = containerd.TaskOOM()
    try:
        first.ParseFromString(event.event.value)
    except DecodeError:
        return ""
    return first.container_id
