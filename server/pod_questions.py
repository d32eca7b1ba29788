"""What the page asks about pods: what happened to them, and why they do not run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from manifests.references import origin_of
from messages.events import NotedEvent, PodEventsDescribed
from messages.objects import ObjectDescribed, ObjectId, ObjectState, Origin
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp
from server import questions
from server.backend import EndpointBackend
from server.pod_stories import objects_of, old_variables, pod_story, used_objects, verdicts_on
from server.questions import Unanswered
from server.reasons.judging import reasons
from server.reasons.known import PodCase


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsBackground:
    """What is known about pods beside their statuses."""

    events: Mapping[PodUid, tuple[NotedEvent, ...]] = field(default_factory=dict)
    runtime_trouble: str = ""
    """Why no container can be started; empty if they can."""
    objects: Mapping[ObjectId, str] = field(default_factory=dict)
    """What is wrong with the objects that they reference."""


async def background_of(
    backend: EndpointBackend, pods: Iterable[Pod], troubled: Iterable[Pod]
) -> PodsBackground:
    """Return the background of pods: of all their events, and of those in trouble all else."""
    wanted = frozenset[ObjectId]().union(*map(objects_of, lame := list(troubled)))
    events, trouble, objects = await asyncio.gather(
        backend.ask(questions.EVENTS_OF_PODS, uids=tuple(each.uid for each in pods)),
        runtime_trouble(backend, is_wanted=bool(lame)),
        object_troubles(backend, wanted),
    )
    return PodsBackground(
        events={} if isinstance(events, Unanswered) else events.events,
        runtime_trouble=trouble,
        objects=objects,
    )


async def object_troubles(
    backend: EndpointBackend, wanted: frozenset[ObjectId]
) -> Mapping[ObjectId, str]:
    """Return what is wrong with objects, in the words of a container that lacks one."""
    if not wanted:
        return {}
    kinds = await backend.all_objects(in_detail=True, only=wanted)
    return {
        each.object: said
        for kind in kinds
        if not isinstance(kind, Unanswered)
        for each in kind.objects
        if (said := _lack(each))
    }


async def object_versions(
    backend: EndpointBackend, wanted: frozenset[ObjectId]
) -> Mapping[ObjectId, str]:
    """Return the versions of those objects that are known to be there."""
    if not wanted:
        return {}
    kinds = await backend.all_objects(in_detail=True, only=wanted)
    return {
        each.object: each.resource_version
        for kind in kinds
        if not isinstance(kind, Unanswered)
        for each in kind.objects
        if each.resource_version
    }


async def count_of_old_variables(
    backend: EndpointBackend, pods: Iterable[Pod], statuses: Mapping[PodUid, PodStatus]
) -> int:
    """Return how many containers run with variables of earlier versions of objects."""
    known = [(pod, statuses.get(pod.uid)) for pod in pods]
    wanted = frozenset(used for each in known for _, used, _ in used_objects(*each))
    versions = await object_versions(backend, wanted)
    if not versions:
        return 0
    return sum(len({old["container"] for old in old_variables(*each, versions)}) for each in known)


def _lack(described: ObjectDescribed) -> str:
    if described.state is ObjectState.ABSENT:
        return "not found"
    if described.state is ObjectState.INITIALISING:
        return f"not read yet: {described.error}" if described.error else "not read yet"
    return ""


async def runtime_trouble(backend: EndpointBackend, *, is_wanted: bool = True) -> str:
    """Return why no container can be started; empty if they can, or if that is not wanted."""
    found = await backend.ask(questions.CONTAINER_RUNTIME) if is_wanted else None
    if isinstance(found, Unanswered):
        return f"{found.name}: {found.reason}"
    return found.trouble if found is not None else ""


async def story_of(
    backend: EndpointBackend,
    pod: Pod,
    shown: JsonObject,
    status: PodStatus | None,
    now: Timestamp,
) -> dict[str, Any]:
    """Return what people are told of one pod beside its status: ``shown`` is its document with that."""
    wanted = objects_of(pod)
    used = frozenset(each for _, each, _ in used_objects(pod, status))
    remembered, volumes, sources, trouble, objects, versions = await asyncio.gather(
        backend.ask(questions.POD_EVENTS, uid=pod.uid, objects=wanted),
        backend.ask(questions.VOLUMES, in_detail=True),
        backend.all_sources(),
        runtime_trouble(backend),
        object_troubles(backend, wanted),
        object_versions(backend, used),
    )
    background = PodsBackground(
        events=_events(pod, remembered), runtime_trouble=trouble, objects=objects
    )
    case = case_of(pod, shown, background, tuple(verdicts_on(pod, sources)))
    why = [each.document() for each in reasons(case, now)]
    return {
        "why": why,
        "oldVariables": old_variables(pod, status, versions),
        **pod_story(pod, remembered, volumes, sources),
    }


def case_of(
    pod: Pod,
    shown: JsonObject,
    background: PodsBackground,
    manifests: tuple[Mapping[str, Any], ...] = (),
) -> PodCase:
    """Return what is known of a pod."""
    return PodCase(
        pod=shown,
        events=background.events.get(pod.uid, ()),
        manifests=manifests,
        runtime_trouble=background.runtime_trouble,
        objects={
            (each.kind.value, each.name): background.objects[each]
            for each in objects_of(pod)
            if each in background.objects
        },
        is_local=origin_of(pod) is Origin.LOCAL,
    )


def _events(
    pod: Pod, remembered: PodEventsDescribed | Unanswered
) -> Mapping[PodUid, tuple[NotedEvent, ...]]:
    return {} if isinstance(remembered, Unanswered) else {pod.uid: remembered.events}
