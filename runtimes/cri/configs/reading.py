"""What sandboxes and containers are, as runtime and labels say, and where last words are. Pure.

A kubelet may have written the labels, or anybody: what cannot be read counts as missing. A sandbox that
names no pod is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from messages.container_runtime import NEVER_RAN, PodIdentity
from messages.objects import ObjectKind
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    SandboxObserved,
    SandboxState,
    UsedObject,
)
from messages.pods import API, CONFIG_SOURCE, CONTENT_DIGEST, JsonObject, PodUid
from messages.units import Timestamp
from runtimes.cri.configs import labels
from runtimes.cri.configs.labels import json_of, stop_terms
from runtimes.cri.disk.pod_files import LastWords
from runtimes.cri.wire import cri_pb2 as cri

MOST_ATTEMPTS: Final = 2**31 - 1
LONGEST_MESSAGE: Final = 4096
"""Characters of what a container ended with."""
LONGEST_REASON: Final = 256
NOTHING_RAN: Final = "failed to create containerd task: "
"""What containerd says first if there was no process yet. Later it says that it failed to start the task."""
CUT: Final = ("context canceled", "signal: killed")
"""What it says of a start whose caller has gone: it kills what it was just starting."""
_NANOSECONDS: Final = 1_000_000_000
_ATTEMPT: Final = re.compile(r"[0-9]{1,10}")

SANDBOX_STATES: Final[Mapping[int, SandboxState]] = {
    cri.SANDBOX_READY: SandboxState.READY,
    cri.SANDBOX_NOTREADY: SandboxState.NOT_READY,
}
CONTAINER_STATES: Final[Mapping[int, ContainerState]] = {
    cri.CONTAINER_CREATED: ContainerState.CREATED,
    cri.CONTAINER_RUNNING: ContainerState.RUNNING,
    cri.CONTAINER_EXITED: ContainerState.EXITED,
}

FALLBACK: Final = "FallbackToLogsOnError"


def identity_of(
    written: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> PodIdentity | None:
    """Return the pod that a sandbox's labels name; None if they name none."""
    uid, namespace, name = (
        written.get(key, "") for key in (labels.POD_UID, labels.POD_NAMESPACE, labels.POD_NAME)
    )
    if not (uid and namespace and name):
        return None
    said = annotations or {}
    source = said.get(CONFIG_SOURCE, "")
    return PodIdentity(
        uid=PodUid(uid),
        namespace=namespace,
        name=name,
        source=source,
        is_foreign=source not in {"", API} and CONTENT_DIGEST not in said,
    )


def pod_uid(written: Mapping[str, str]) -> PodUid:
    """Return the pod that the labels of a sandbox or a container name; empty if they name none."""
    return PodUid(written.get(labels.POD_UID, ""))


def sandbox_observed(status: cri.PodSandboxStatus) -> SandboxObserved:
    """Return what is observed of a sandbox."""
    return SandboxObserved(
        id=status.id,
        attempt=min(status.metadata.attempt, MOST_ATTEMPTS),
        state=SANDBOX_STATES.get(status.state, SandboxState.NOT_READY),
        created_at=_moment(status.created_at) or Timestamp(0.0),
        ips=tuple(_ips(status)),
        content_digest=status.annotations.get(CONTENT_DIGEST, ""),
    )


def container_observed(status: cri.ContainerStatus, runtime: str) -> ContainerObserved:
    """Return what is observed of a container. ``runtime`` is the name that its id begins with."""
    state = CONTAINER_STATES.get(status.state, ContainerState.UNKNOWN)
    if state is ContainerState.EXITED and _was_cut(status):
        state = ContainerState.CREATED
    has_exited = state is ContainerState.EXITED
    annotations = status.annotations
    return ContainerObserved(
        id=f"{runtime}://{status.id}",
        name=status.labels.get(labels.CONTAINER_NAME) or status.metadata.name,
        attempt=_attempt(status),
        state=state,
        image=status.image.user_specified_image or status.image.image,
        image_id=status.image_ref or status.image_id,
        spec_hash=annotations.get(labels.WHOLE_HASH) or annotations.get(labels.CONTAINER_HASH, ""),
        is_foreign=labels.RESOURCES not in annotations,
        created_at=_moment(status.created_at),
        started_at=_moment(status.started_at),
        finished_at=_moment(status.finished_at) if has_exited else None,
        exit_code=status.exit_code if has_exited else None,
        reason=status.reason[:LONGEST_REASON],
        message=status.message[:LONGEST_MESSAGE],
        resources=_object(annotations.get(labels.RESOURCES)),
        stop_terms=stop_terms(annotations),
        variables_from=tuple(_used_objects(json_of(annotations.get(labels.VARIABLES_FROM)))),
    )


def _used_objects(written: Any) -> Iterator[UsedObject]:
    """Yield the objects that an annotation tells. Others may have written it."""
    for each in written if isinstance(written, list) else ():
        if isinstance(each, list) and len(each) == 3 and all(isinstance(one, str) for one in each):
            with suppress(ValueError):
                yield UsedObject(ObjectKind(each[0]), each[1], each[2])


def _was_cut(status: cri.ContainerStatus) -> bool:
    """Return whether a start was given up since its caller had gone, before anything ran.

    Nothing is wrong with the container then, and it counts as created; its reason tells it from one that can
    still be started.
    """
    return (
        status.started_at <= 0
        and status.message.startswith(NOTHING_RAN)
        and any(words in status.message for words in CUT)
    )


def container_listed(listed: cri.Container, runtime: str) -> ContainerObserved:
    """Return what is observed of a container of which a list is all that the runtime tells.

    How one has ended is not in it.
    """
    has_exited = listed.state == cri.CONTAINER_EXITED
    status = cri.ContainerStatus(
        id=listed.id,
        metadata=listed.metadata,
        state=cri.CONTAINER_UNKNOWN if has_exited else listed.state,
        created_at=listed.created_at,
        image=listed.image,
        image_ref=listed.image_ref,
        labels=listed.labels,
        annotations=listed.annotations,
    )
    return container_observed(status, runtime)


def _ips(status: cri.PodSandboxStatus) -> Iterator[str]:
    """Yield the addresses of a pod with a network of its own."""
    if status.linux.namespaces.options.network == cri.NODE:
        return
    if status.network.ip:
        yield status.network.ip
    yield from (each.ip for each in status.network.additional_ips if each.ip)


def _attempt(status: cri.ContainerStatus) -> int:
    """Return how many instances there were before. The runtime's own count says which names are taken."""
    written = status.annotations.get(labels.RESTART_COUNT, "")
    counted = int(written) if _ATTEMPT.fullmatch(written) else 0
    taken = min(status.metadata.attempt, MOST_ATTEMPTS)
    return max(taken, counted if counted <= MOST_ATTEMPTS else 0)


def _moment(nanoseconds: int) -> Timestamp | None:
    return Timestamp(nanoseconds / _NANOSECONDS) if nanoseconds > 0 else None


def _object(text: str | None) -> JsonObject | None:
    value = json_of(text)
    return value if isinstance(value, dict) else None


def last_words(status: cri.ContainerStatus, pod_logs_dir: str) -> LastWords | None:
    """Return where the message of ``status`` is; None if there can be none.

    Anybody may have written labels and mounts. So a file counts only where a node agent puts it, and a log
    only below the directory of logs.
    """
    if status.state != cri.CONTAINER_EXITED:
        return None
    file, log = _message_file(status), _message_log(status, pod_logs_dir)
    return LastWords(file=file, logs_dir=pod_logs_dir, log=log) if file or log else None


def message_of(told: str, written: str) -> str:
    """Return the message of a container: what the runtime told, and what the container wrote."""
    return f"{told}: {written}" if told and written else told or written


def _message_file(status: cri.ContainerStatus) -> str:
    inside = status.annotations.get(labels.TERMINATION_MESSAGE_PATH)
    if not inside:
        return ""
    inside = inside if inside.startswith("/") else f"/{inside}"
    written = status.labels
    for mount in status.mounts:
        parts = PurePosixPath(mount.host_path).parts
        owner = (
            "pods",
            written.get(labels.POD_UID),
            "containers",
            written.get(labels.CONTAINER_NAME),
        )
        if mount.container_path == inside and parts[-5:-1] == owner and ".." not in parts:
            return mount.host_path
    return ""


def _message_log(status: cri.ContainerStatus, pod_logs_dir: str) -> tuple[str, ...]:
    policy = status.annotations.get(labels.TERMINATION_MESSAGE_POLICY)
    if policy != FALLBACK or status.exit_code == 0 or status.reason in NEVER_RAN:
        return ()
    root, path = PurePosixPath(pod_logs_dir), PurePosixPath(status.log_path)
    if not path.is_relative_to(root) or ".." in path.parts:
        return ()
    return path.relative_to(root).parts
