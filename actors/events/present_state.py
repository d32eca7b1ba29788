"""The present state as events: one for each thing that there is, in pieces. Pure.

A piece is made when its reader takes it. So thousands of pods hold up nobody, and are never in memory as
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from actors.events.lines import (
    actor_event,
    present_object,
    present_pod,
    present_probe,
    present_status,
    server_sent,
    verdict_event,
    volume_event,
)
from actors.events.ring import KeptEvent
from messages.event_feed import ActorIs
from messages.objects import ObjectsDescribed
from messages.pod_manager import PodsDescribed
from messages.pods import Pod, PodUid
from messages.probing import ProbedPod, ProbesDescribed
from messages.sources import ManifestVerdict, SourceDescribed
from messages.statuses import StatusesDescribed
from messages.volumes import VolumeTroublesAre

PIECE: Final = 50
"""Things of one piece: a millisecond or two."""
_T = TypeVar("_T")


def state_begins(why: str) -> bytes:
    """Return the event before the present state: what was told before it counts no more."""
    return server_sent("state", {"state": "begins", "why": why})


def state_resumes(count: int) -> bytes:
    """Return the event before those that a reader has missed."""
    return server_sent("state", {"state": "resumes", "missed": count})


def state_is_complete(missing: Sequence[str]) -> bytes:
    """Return the event after the present state. ``missing`` are those who have not answered."""
    said = "the present state is complete"
    if missing:
        said += ", but for what is missing: it comes as soon as somebody says it"
    return server_sent("state", {"state": "complete", "message": said, "missing": missing})


def pods_of(described: PodsDescribed) -> Iterator[bytes]:
    """Yield the pods that are served, and the mirrors."""
    served = (pod for pod in described.pods if pod.uid not in described.shadowed)
    yield from _pieces(served, present_pod)
    yield from _pieces(described.mirrors, present_pod)


def statuses_of(described: StatusesDescribed, pods: Mapping[PodUid, Pod]) -> Iterator[bytes]:
    """Yield the statuses. Those of pods that are not among ``pods`` have a UID and no name."""
    known = described.statuses.items()
    yield from _pieces(known, lambda each: present_status(*each, pods.get(each[0])))


def verdicts_of(described: SourceDescribed) -> Iterator[bytes]:
    """Yield the verdicts of a source."""
    yield from _pieces(described.manifests, lambda each: verdict_event(described.name, each))


def objects_of(described: ObjectsDescribed) -> Iterator[bytes]:
    """Yield the objects of a kind."""
    yield from _pieces(described.objects, present_object)


def probes_of(described: ProbesDescribed) -> Iterator[bytes]:
    """Yield the probes of all pods."""
    yield from _pieces(described.pods, _probes_of)


def _probes_of(probed: ProbedPod) -> bytes:
    return b"".join(present_probe(probed, stage) for stage in probed.probes)


def troubles_of(actors: Iterable[ActorIs], volumes: Iterable[VolumeTroublesAre]) -> Iterator[bytes]:
    """Yield the actors that have failed and do not run again yet, and what is wrong with volumes."""
    yield from _pieces(actors, actor_event)
    yield from _pieces(volumes, volume_event)


def missed(events: Iterable[KeptEvent]) -> Iterator[bytes]:
    """Yield events that were told before."""
    yield from _pieces(events, lambda each: each.text)


def _pieces(things: Iterable[_T], told: Callable[[_T], bytes]) -> Iterator[bytes]:
    left = iter(things)
    while piece := list(islice(left, PIECE)):
        yield b"".join(map(told, piece))


def verdict_changes(
    before: Mapping[str, ManifestVerdict], after: SourceDescribed
) -> Iterator[bytes]:
    """Yield the verdicts of a source that are others than before, and the manifests that are gone."""
    there = set()
    for verdict in after.manifests:
        there.add(verdict.path)
        known = before.get(verdict.path)
        if known is not verdict and known != verdict:
            yield verdict_event(after.name, verdict)
    for path, verdict in before.items():
        if path not in there:
            yield verdict_event(after.name, verdict, is_gone=True)
