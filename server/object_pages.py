"""``/watchz`` and ``/volumez``: the state of each Secret, ConfigMap and volume, never a value. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from messages.objects import ObjectDescribed, ObjectsDescribed, Origin
from messages.units import Seconds, Timestamp
from messages.volumes import VolumeDescribed, VolumesDescribed
from messages.watches import WatchDescribed, WatchesDescribed, WatchTarget
from server.questions import Unanswered
from stores.objects.paths import object_target

PIECE: Final = 250
"""Objects of one piece: about 2 ms."""

_Watches: TypeAlias = WatchesDescribed | Unanswered | None


def watchz(kinds: Iterable[ObjectsDescribed], watches: _Watches, now: Timestamp) -> Iterator[str]:
    """Yield the JSON document in pieces.

    ``watches`` is None for an agent without a cluster. Fields that only the keeper of watches knows are null
    if it did not answer.
    """
    objects = sorted((each for kind in kinds for each in kind.objects), key=_place)
    by_target = _by_target(watches)
    yield '{"objects": ['
    for start in range(0, len(objects), PIECE):
        rows = [_row(each, by_target, now) for each in objects[start : start + PIECE]]
        yield (", " if start else "") + json.dumps(rows)[1:-1]
    yield "], " + json.dumps(_streams(watches))[1:]


def _place(described: ObjectDescribed) -> tuple[str, str, str, str]:
    object_ = described.object
    return object_.kind, object_.namespace, object_.name, object_.origin


def _by_target(watches: _Watches) -> Mapping[WatchTarget, WatchDescribed] | None:
    if isinstance(watches, Unanswered):
        return None
    return {watch.target: watch for watch in watches.watches} if watches else {}


def _streams(watches: _Watches) -> Mapping[str, int | None]:
    if isinstance(watches, Unanswered):
        return {"connections": None, "streams": None}
    return {
        "connections": watches.connections if watches else 0,
        "streams": watches.streams if watches else 0,
    }


def _row(
    described: ObjectDescribed,
    by_target: Mapping[WatchTarget, WatchDescribed] | None,
    now: Timestamp,
) -> Mapping[str, Any]:
    object_ = described.object
    watch = None
    if by_target and object_.origin is Origin.API:
        watch = by_target.get(object_target(object_))
    return {
        "kind": object_.kind,
        "namespace": object_.namespace,
        "name": object_.name,
        "origin": object_.origin,
        "state": described.state,
        "uid": described.uid,
        "resourceVersion": described.resource_version,
        "references": described.references,
        "ageSeconds": _age(described, now),
        "reconnects": None if by_target is None else watch.reconnects if watch else 0,
        "lastError": described.error or (watch.error if watch else ""),
    }


def _age(described: ObjectDescribed, now: Timestamp) -> float | None:
    """Return how many seconds ago the value was last known to be current. 0 for now, None for never."""
    if not described.is_known:
        return None
    if described.current_until is None:
        return 0.0
    return round(max(0.0, now - described.current_until), 3)


def volumez(
    volumes: VolumesDescribed, now: Seconds, uid: str = "", state: str = ""
) -> dict[str, Any]:
    """Return the JSON document, with the volumes of the pod with this ``uid`` that are in this ``state``.

    One that is empty means any.
    """
    wanted = (
        each
        for each in volumes.volumes
        if uid in {"", each.uid} and state in {"", each.state.value}
    )
    ordered = sorted(wanted, key=lambda each: (each.pod, each.uid, each.name))
    return {"volumes": [_volume_row(each, now) for each in ordered]}


def _volume_row(volume: VolumeDescribed, now: Seconds) -> dict[str, Any]:
    age = None if volume.tried_at is None else round(now - volume.tried_at, 3)
    return {
        "pod": volume.pod,
        "uid": volume.uid,
        "name": volume.name,
        "plugin": volume.plugin,
        "state": volume.state.value,
        "path": volume.path,
        "trouble": volume.trouble,
        "shows": dict(volume.shown),
        "ageSeconds": age,
    }
