"""What of hollow containers outlives the process, as a line of JSON, and how they go on from that. Pure.

What is read may be torn, or somebody else's. It becomes a value of the right types or a ``ValueError``.
Nothing but the standard library is needed, since a library that does this takes 10 MB.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from messages.container_runtime import PodIdentity
from messages.pod_runtime import ContainerObserved, SandboxObserved
from messages.pods import PodUid
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.inventory import (
    ContainerEnds,
    ContainerIsReady,
    ContainerRecord,
    SandboxDies,
    SandboxRecord,
)
from runtimes.hollow.machine import HollowMachine
from runtimes.hollow.rules import ContainerBehaviour, Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedContainer:
    """One container."""

    observed: ContainerObserved
    behaviour: ContainerBehaviour
    ends_at: Timestamp | None = None
    """When it will end, as far as that is known."""
    ending: Ending | None = None
    """How it will end then."""
    ready_at: Timestamp | None = None
    """When it will be ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSandbox:
    """One sandbox with its containers."""

    pod: PodIdentity
    observed: SandboxObserved
    containers: tuple[SavedContainer, ...] = ()
    dies_at: Timestamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPod:
    """Everything of one pod: its sandboxes, with the newest first, or none when it is gone."""

    uid: PodUid
    sandboxes: tuple[SavedSandbox, ...] = ()


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


def encoded(pod: SavedPod) -> bytes:
    """Return ``pod`` as one line, without its end."""
    return json.dumps(_plain(pod), separators=(",", ":")).encode()


def decoded(line: bytes) -> SavedPod:
    """Return the pod of a line. Raises ``ValueError`` for one that ``encoded`` has not made."""
    try:
        pod: SavedPod = _typed(SavedPod, json.loads(line))
    except RecursionError:
        raise ValueError("too deep") from None
    if any(sandbox.pod.uid != pod.uid for sandbox in pod.sandboxes):
        raise ValueError("a record of several pods")
    return pod


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        plain = {}
        for name, _, default in _fields_of(type(value)):
            given = getattr(value, name)
            if given != default:
                plain[name] = _plain(given)
        return plain
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@lru_cache
def _fields_of(kind: type) -> tuple[tuple[str, Any, Any], ...]:
    """Return the fields of a data class or named tuple: name, type, and default or MISSING."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return tuple((each.name, hints[each.name], each.default) for each in fields(kind))
    return tuple((name, hint, MISSING) for name, hint in hints.items())


def _typed(kind: Any, value: Any) -> Any:
    """Return ``value`` as one of type ``kind``. Raises ``ValueError``."""
    kind = getattr(kind, "__supertype__", kind)
    arguments = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        (some,) = (each for each in arguments if each is not NoneType)
        return None if value is None else _typed(some, value)
    if get_origin(kind) is tuple:
        return tuple(_typed(arguments[0], each) for each in _checked(list, value))
    if get_origin(kind) is Mapping:
        return _checked(dict, value)
    if is_dataclass(kind) and isinstance(kind, type):
        return _data(kind, _checked(dict, value))
    return _simple(kind, value)


def _simple(kind: Any, value: Any) -> Any:
    if issubclass(kind, Enum):
        return kind(value)
    if issubclass(kind, tuple):
        parts = _fields_of(kind)
        items = _checked(list, value)
        return kind(*(_typed(hint, item) for (_, hint, _), item in zip(parts, items, strict=True)))
    if kind is float and type(value) in {int, float} and isfinite(value):
        return value
    return _checked(kind, value)


def _data(kind: type, value: dict[str, Any]) -> Any:
    known = _fields_of(kind)
    if value.keys() - {name for name, _, _ in known}:
        raise ValueError("unknown fields")
    given = {name: _typed(hint, value[name]) for name, hint, _ in known if name in value}
    if any(default is MISSING and name not in given for name, _, default in known):
        raise ValueError("missing fields")
    return kind(**given)


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"should be {kind.__name__}")
    return value
