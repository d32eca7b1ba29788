"""The indices over the sandboxes and containers of a hollow runtime. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from messages.container_runtime import SandboxContents
from messages.pod_runtime import ContainerObserved, ContainerState, RuntimePod
from messages.pods import PodUid
from runtimes.hollow.records import ContainerRecord, SandboxRecord


class Inventory:
    """All sandboxes and containers that were not removed, by their ids and by pod."""

    def __init__(self) -> None:
        self._pods: dict[PodUid, tuple[SandboxRecord, ...]] = {}
        self._sandboxes: dict[str, SandboxRecord] = {}
        self._containers: dict[str, ContainerRecord] = {}
        self._states: Counter[ContainerState] = Counter()

    # --- what there is ---------------------------------------------------------------------------------

    def sandbox(self, sandbox_id: str) -> SandboxRecord | None:
        """Return one sandbox; None if there is no such one."""
        return self._sandboxes.get(sandbox_id)

    def container(self, container_id: str) -> ContainerRecord | None:
        """Return one container; None if there is no such one."""
        return self._containers.get(container_id)

    def of_pod(self, uid: PodUid) -> tuple[SandboxRecord, ...]:
        """Return the sandboxes of a pod, the newest first."""
        return self._pods.get(uid, ())

    def contents(self, uid: PodUid) -> tuple[SandboxContents, ...]:
        """Return what is told of a pod."""
        return tuple([sandbox.contents() for sandbox in self.of_pod(uid)])

    def everything(self) -> tuple[SandboxContents, ...]:
        """Return what is told of all pods."""
        return tuple([sandbox.contents() for sandbox in self.sandboxes()])

    def sandboxes(self) -> Iterator[SandboxRecord]:
        """Go over all sandboxes, of one pod the newest first."""
        return (sandbox for sandboxes in self._pods.values() for sandbox in sandboxes)

    def states(self) -> dict[ContainerState, int]:
        """Return how many containers are in each state."""
        return {state: number for state, number in self._states.items() if number}

    def pods(self) -> tuple[RuntimePod, ...]:
        """Return all pods that there is something of."""
        return tuple(_runtime_pod(sandboxes) for sandboxes in self._pods.values())

    # --- how it changes --------------------------------------------------------------------------------

    def add_sandbox(self, record: SandboxRecord) -> None:
        """Add a sandbox: the newest one of its pod."""
        uid = record.pod.uid
        self._sandboxes[record.observed.id] = record
        self._pods[uid] = (record, *self.of_pod(uid))

    def add_container(self, record: ContainerRecord) -> None:
        """Add a container to its sandbox."""
        self._containers[record.observed.id] = record
        self._states[record.observed.state] += 1
        record.sandbox.containers.append(record)

    def change(self, record: ContainerRecord, **fields: Any) -> ContainerObserved:
        """Change what is observed of a container, and return it."""
        self._states[record.observed.state] -= 1
        record.observed = replace(record.observed, **fields)
        self._states[record.observed.state] += 1
        return record.observed

    def change_sandbox(self, record: SandboxRecord, **fields: Any) -> None:
        """Change what is observed of a sandbox."""
        record.observed = replace(record.observed, **fields)

    def remove_container(self, record: ContainerRecord) -> None:
        """Remove a container."""
        del self._containers[record.observed.id]
        self._states[record.observed.state] -= 1
        record.sandbox.containers.remove(record)

    def remove_sandbox(self, record: SandboxRecord) -> None:
        """Remove a sandbox, and all its containers."""
        for container in record.containers:
            del self._containers[container.observed.id]
            self._states[container.observed.state] -= 1
        record.containers.clear()
        del self._sandboxes[record.observed.id]
        uid = record.pod.uid
        left = tuple(each for each in self._pods[uid] if each is not record)
        if left:
            self._pods[uid] = left
        else:
            del self._pods[uid]


def _runtime_pod(sandboxes: Iterable[SandboxRecord]) -> RuntimePod:
    records = tuple(sandboxes)
    running = sum(each.is_running for record in records for each in record.containers)
    pod = records[0].pod
    return RuntimePod(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        source=pod.source,
        is_running=running > 0 or any(record.is_ready for record in records),
        started_at=records[-1].observed.created_at,
        running_containers=running,
    )
