"""``/volumez``: the volumes of pods, how each is and what it shows, never a value. Pure."""

from __future__ import annotations

from typing import Any

from messages.units import Seconds
from messages.volume_state import VolumeDescribed, VolumesDescribed


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
    return {"volumes": [_row(each, now) for each in ordered]}


def _row(volume: VolumeDescribed, now: Seconds) -> dict[str, Any]:
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
