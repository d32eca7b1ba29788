"""How all volumes are, as people and metrics are told. Pure."""

from __future__ import annotations

from collections import Counter

from actors.volumes.keeper_parts import VolumeKeeperMemory
from actors.volumes.kept_volumes import KeptVolume, VolumesOfPod
from actors.volumes.making.foreign import ForeignVolume
from actors.volumes.making.forms import kind_of, plugin_of
from messages.pods import PodUid
from messages.volumes import VolumeDescribed, VolumesDescribed, VolumeState


def volumes_described(memory: VolumeKeeperMemory, *, in_detail: bool) -> VolumesDescribed:
    """Return how all volumes are."""
    states: Counter[tuple[str, VolumeState]] = Counter()
    described: list[VolumeDescribed] = []
    for uid, kept in memory.pods.items():
        for name, volume in kept.volumes.items():
            state = VolumeState.LEAVING if kept.releasing is not None else _state(volume)
            states[plugin_of(volume.form) or kind_of(volume.source), state] += 1
            if in_detail:
                described.append(_described(uid, kept, name, volume))
        for held in kept.releasing.held if kept.releasing is not None else ():
            states[held.plugin, VolumeState.HELD] += 1
            if in_detail:
                described.append(_held(uid, kept, held))
    counts = memory.counts
    return VolumesDescribed(
        volumes=tuple(described),
        states=dict(states),
        writes=counts.writes,
        written_bytes=counts.written_bytes,
        errors=counts.errors,
        delays=counts.delays.described(),
        unmounts_failing=sum(_is_failing(each) for each in memory.pods.values()),
    )


def _described(uid: PodUid, kept: VolumesOfPod, name: str, volume: KeptVolume) -> VolumeDescribed:
    versions = sorted(
        (f"{each.kind} {each.display_name}", version.name)
        for each, version in volume.versions.items()
    )
    return VolumeDescribed(
        uid=uid,
        pod="" if kept.pod is None else kept.pod.display_name,
        name=name,
        plugin=plugin_of(volume.form) or kind_of(volume.source),
        state=VolumeState.LEAVING if kept.releasing is not None else _state(volume),
        path="" if volume.volume is None else volume.volume.path,
        trouble=_trouble(kept, volume),
        shown=dict(versions),
        tried_at=volume.tried_at,
    )


def _held(uid: PodUid, kept: VolumesOfPod, held: ForeignVolume) -> VolumeDescribed:
    return VolumeDescribed(
        uid=uid,
        pod="" if kept.pod is None else kept.pod.display_name,
        name=held.name,
        plugin=held.plugin,
        state=VolumeState.HELD,
        path=held.path,
        trouble=held.why_held,
        shown={},
        tried_at=None if kept.releasing is None else kept.releasing.began,
    )


def _state(volume: KeptVolume) -> VolumeState:
    if volume.trouble is not None:
        return VolumeState.TROUBLE
    return VolumeState.PENDING if volume.volume is None else VolumeState.THERE


def _trouble(kept: VolumesOfPod, volume: KeptVolume) -> str:
    if kept.releasing is not None:
        return "; ".join(kept.releasing.reasons)
    return "" if volume.trouble is None else volume.trouble.message


def _is_failing(kept: VolumesOfPod) -> bool:
    return kept.releasing is not None and bool(kept.releasing.reasons)
