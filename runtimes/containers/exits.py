"""What the instances of a pod's containers teach about its crashes and attempts. Pure."""

from __future__ import annotations

from manifests.restart_rules import AfterExit
from messages.pod_runtime import ContainerObserved, ContainerState
from messages.units import Seconds, Timestamp
from runtimes.containers.clocks import Clocks
from runtimes.containers.contents import Contents
from runtimes.containers.crash_backoff import delay_from_history, exited_at, monotonic
from runtimes.containers.notes import ContainerNotes, CrashNotes
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.shape import ContainerPart, ContainerShape, PodShape
from runtimes.containers.situation import newest_instances


def note_exits(record: RuntimeRecord, moment: Clocks, longest: Seconds) -> None:
    """Note of each container what its next restart depends on. May repeat."""
    shape = record.shape
    if shape is None:
        return
    for one in newest_instances(record.contents).values():
        if one.attempt or one.state is ContainerState.EXITED:
            container = shape.get(one.name)
            if container is not None and _matters(container, one):
                _note(record, one, moment, longest)
    if shape.restarts_all:
        record.restart_all_at = _restart_all_at(shape, record)


def note_vanished(record: RuntimeRecord, before: Contents, after: Contents) -> None:
    """Note the attempts of what somebody removed, so that restart counts never fall."""
    if before:
        record.highest_sandbox = max(
            record.highest_sandbox, *(each.sandbox.attempt for each in before)
        )
    there = {one.id for each in after for one in each.containers}
    for each in before:
        for one in each.containers:
            if one.id not in there:
                notes = record.notes_of(one.name)
                notes.highest = max(notes.highest, one.attempt)
                notes.has_ended |= _has_ended(record, one, notes)


def _has_ended(record: RuntimeRecord, one: ContainerObserved, notes: ContainerNotes) -> bool:
    """Return whether the instance was the last one of its container, which does not run again."""
    container = record.shape.get(one.name) if record.shape is not None else None
    return (
        container is not None
        and container.part is ContainerPart.REGULAR
        and one.state is ContainerState.EXITED
        and one.attempt == notes.highest
        and one.id != notes.replaced_id
        and one.id not in record.outdated
        and container.behaviour.after(one.exit_code) is AfterExit.ENDED
        and record.restart_all_at is None
    )


def _matters(container: ContainerShape, one: ContainerObserved) -> bool:
    """Return whether the instance may be followed by another one, or was."""
    return (
        one.attempt > 0
        or one.spec_hash != container.spec_hash
        or container.behaviour.after(one.exit_code) is not AfterExit.ENDED
    )


def _note(record: RuntimeRecord, one: ContainerObserved, moment: Clocks, longest: Seconds) -> None:
    notes = record.notes_of(one.name)
    if one.attempt < notes.highest:
        return
    notes.highest = one.attempt
    crashes, spec_hash = notes.crashes, _hash_of(record, one)
    if crashes is None or crashes.spec_hash != spec_hash:
        crashes = notes.crashes = CrashNotes(
            spec_hash,
            delay=delay_from_history(_previous(record, one), one, longest),
            restarted_at=monotonic(one.created_at, moment.now, moment.wall),
        )
    if one.state is ContainerState.EXITED and crashes.exited_id != one.id:
        crashes.exited_id = one.id
        crashes.exited_at = exited_at(crashes, one, moment)
        crashes.told_at = None
        _clear_error(notes)
    if crashes.exited_id == one.id and crashes.told_at is None and not one.is_reason_open:
        crashes.told_at = moment.now


def _clear_error(notes: ContainerNotes) -> None:
    notes.error, notes.failures = None, 0


def _hash_of(record: RuntimeRecord, one: ContainerObserved) -> str:
    """Return the hash of its specification as it is computed here, whatever a kubelet wrote."""
    container = record.shape.get(one.name) if record.shape is not None else None
    is_same = container is not None and container.is_unchanged_since(one)
    return container.spec_hash if container is not None and is_same else one.spec_hash


def _previous(record: RuntimeRecord, one: ContainerObserved) -> ContainerObserved | None:
    spec_hash = _hash_of(record, one)
    earlier = [
        other
        for each in record.contents
        for other in each.containers
        if other.name == one.name
        and other.attempt < one.attempt
        and _hash_of(record, other) == spec_hash
    ]
    return max(earlier, key=lambda other: other.attempt, default=None)


def _restart_all_at(shape: PodShape, record: RuntimeRecord) -> Timestamp | None:
    times = [
        one.finished_at
        for each in record.contents
        for one in each.containers
        if one.state is ContainerState.EXITED
        and one.finished_at is not None
        and (container := shape.get(one.name)) is not None
        and container.behaviour.after(one.exit_code) is AfterExit.RESTART_ALL
    ]
    if record.restart_all_at is not None:
        times.append(record.restart_all_at)
    return max(times, default=None)
