"""Hollow containers as they are saved, and as they go on from that in the next process. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from messages.pods import PodUid
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.machine import HollowMachine
from runtimes.hollow.records import (
    ContainerEnds,
    ContainerIsReady,
    ContainerRecord,
    SandboxDies,
    SandboxRecord,
)
from runtimes.hollow.saved import SavedContainer, SavedPod, SavedSandbox


def saved(machine: HollowMachine, uid: PodUid, now: Instant) -> SavedPod:
    """Return what is to be saved of a pod."""
    return SavedPod(
        uid=uid,
        sandboxes=tuple(
            SavedSandbox(
                pod=record.pod,
                observed=record.observed,
                containers=tuple(_saved_container(each, now) for each in record.containers),
                dies_at=_moment(record.death, now),
            )
            for record in machine.inventory.of_pod(uid)
        ),
    )


def restore(machine: HollowMachine, pods: Iterable[SavedPod], now: Instant) -> None:
    """Let a machine that has nothing go on with ``pods``.

    What would have happened since they were saved happens now, with the times at which it was due.
    """
    for pod in pods:
        for sandbox in reversed(pod.sandboxes):
            _restore_sandbox(machine, sandbox, now)
    machine.addresses.begin_with(
        address
        for record in machine.inventory.sandboxes()
        if record.is_ready
        for address in record.observed.ips
    )
    machine.touched.clear()


def _saved_container(record: ContainerRecord, now: Instant) -> SavedContainer:
    return SavedContainer(
        observed=record.observed,
        behaviour=record.behaviour,
        ends_at=_moment(record.end, now),
        ending=record.end.ending if record.end is not None else None,
        ready_at=_moment(record.readiness, now),
    )


def _restore_sandbox(machine: HollowMachine, sandbox: SavedSandbox, now: Instant) -> None:
    record = SandboxRecord(pod=sandbox.pod, observed=sandbox.observed)
    machine.inventory.add_sandbox(record)
    if sandbox.dies_at is not None:
        record.death = SandboxDies(_due(sandbox.dies_at, now), record)
        machine.schedule.add(record.death)
    for saved_container in sandbox.containers:
        _restore_container(machine, record, saved_container, now)


def _restore_container(
    machine: HollowMachine, sandbox: SandboxRecord, it: SavedContainer, now: Instant
) -> None:
    record = ContainerRecord(sandbox=sandbox, observed=it.observed, behaviour=it.behaviour)
    machine.inventory.add_container(record)
    machine.images.have(it.observed.image)
    if it.ends_at is not None and it.ending is not None:
        record.end = ContainerEnds(_due(it.ends_at, now), record, it.ending)
        machine.schedule.add(record.end)
    if it.ready_at is not None:
        record.readiness = ContainerIsReady(_due(it.ready_at, now), record)
        machine.schedule.add(record.readiness)


def _moment(
    step: ContainerEnds | ContainerIsReady | SandboxDies | None, now: Instant
) -> Timestamp | None:
    return None if step is None else Timestamp(now.wall + (step.due - now.monotonic))


def _due(moment: Timestamp, now: Instant) -> Seconds:
    return Seconds(now.monotonic + (moment - now.wall))
