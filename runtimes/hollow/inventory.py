"""The sandboxes and containers of a hollow runtime in few bytes, and the steps that they will go. Pure.

``Inventory`` has the indices over them, and ``Schedule`` the steps in one heap. It knows no clock.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from messages.container_runtime import CallRuntime, PodIdentity, SandboxContents
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    RuntimePod,
    SandboxObserved,
    SandboxState,
)
from messages.pods import PodUid
from messages.probing import ProbeKey
from messages.units import Seconds, Timestamp
from runtimes.hollow.rules import ContainerBehaviour, Ending
from runtimes.lifecycle_hooks.messages import RunHook

_WORTH_COMPACTING: Final = 64
"""Below this many entries a scan for cancelled ones costs more than it frees."""


@dataclass(slots=True, eq=False)
class SandboxRecord:
    """One sandbox."""

    pod: PodIdentity
    observed: SandboxObserved
    containers: list[ContainerRecord] = field(default_factory=list)
    death: SandboxDies | None = None

    @property
    def is_ready(self) -> bool:
        """Whether containers can be started in it."""
        return self.observed.state is SandboxState.READY

    def contents(self) -> SandboxContents:
        """Return what is told of it."""
        return SandboxContents(
            pod=self.pod,
            sandbox=self.observed,
            containers=tuple([container.observed for container in self.containers]),
        )


@dataclass(slots=True, eq=False)
class ContainerRecord:
    """One container."""

    sandbox: SandboxRecord
    observed: ContainerObserved
    behaviour: ContainerBehaviour
    end: ContainerEnds | None = None
    """How it will end, as far as that is known: by itself, or because it is being stopped."""
    readiness: ContainerIsReady | None = None
    signals: tuple[tuple[Timestamp, str], ...] = ()
    """The last signals that it got, and when."""

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.observed.state is ContainerState.RUNNING


@dataclass(slots=True, eq=False)
class _Step:
    """What happens by itself at a moment."""

    due: Seconds
    is_cancelled: bool = field(default=False, init=False)


@dataclass(slots=True, eq=False)
class CarryOut(_Step):
    """A request takes effect, and is answered."""

    call: CallRuntime
    uid: PodUid


@dataclass(slots=True, eq=False)
class ContainerEnds(_Step):
    """A container ends: by itself, or because it is being stopped."""

    container: ContainerRecord
    ending: Ending


@dataclass(slots=True, eq=False)
class ContainerIsReady(_Step):
    """A container begins to serve."""

    container: ContainerRecord


@dataclass(slots=True, eq=False)
class SandboxDies(_Step):
    """A sandbox dies by itself."""

    sandbox: SandboxRecord


@dataclass(slots=True, eq=False)
class HookEnds(_Step):
    """A hook of a container ends."""

    request: RunHook
    failure: str


@dataclass(slots=True, eq=False)
class ProbeTicks(_Step):
    """An answer of a probe is due."""

    key: ProbeKey


HollowStep: TypeAlias = (
    CarryOut | ContainerEnds | ContainerIsReady | SandboxDies | HookEnds | ProbeTicks
)


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


class Schedule:
    """Steps in the order in which they are due; those due at once in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[Seconds, int, HollowStep]] = []
        self._serial = itertools.count()
        self._cancelled = 0

    def __len__(self) -> int:
        """How many steps are to happen."""
        return len(self._heap) - self._cancelled

    def add(self, step: HollowStep) -> None:
        """Add a step."""
        heapq.heappush(self._heap, (step.due, next(self._serial), step))

    def cancel(self, step: HollowStep | None) -> None:
        """Take a step back that has not happened. Does nothing for None."""
        if step is None or step.is_cancelled:
            return
        step.is_cancelled = True
        self._cancelled += 1
        if self._cancelled * 2 > len(self._heap) > _WORTH_COMPACTING:
            self._heap = [entry for entry in self._heap if not entry[2].is_cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def next_due(self) -> Seconds | None:
        """Return when the next step is due; None if there is none."""
        self._drop_cancelled()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: Seconds) -> HollowStep | None:
        """Remove the next step if it is due by ``now``, and return it."""
        self._drop_cancelled()
        if not self._heap or self._heap[0][0] > now:
            return None
        step = heapq.heappop(self._heap)[2]
        step.is_cancelled = True  # it has happened: to cancel it does nothing
        return step

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][2].is_cancelled:
            heapq.heappop(self._heap)
            self._cancelled -= 1
