"""What people are told of one pod beside its status: what happened to it, its volumes, its manifest. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from manifests.references import origin_of, pod_references
from manifests.times import rfc3339_milli
from messages.events import EventType, NotedChange, NotedEvent, PodEventsDescribed
from messages.objects import ChangeDecided, ObjectId
from messages.pod_runtime import ContainerState
from messages.pods import Pod, SourceName
from messages.sources import SourceDescribed, Verdict
from messages.statuses import PodStatus
from messages.volumes import VolumesDescribed
from server.questions import Unanswered
from server.verdicts import manifest


def objects_of(pod: Pod) -> frozenset[ObjectId]:
    """Return the Secrets and ConfigMaps that a pod references."""
    origin = origin_of(pod)
    return frozenset(
        ObjectId(kind=each.kind, namespace=pod.namespace, name=each.name, origin=origin)
        for each in pod_references(pod.document)
    )


def used_objects(pod: Pod, status: PodStatus | None) -> Iterator[tuple[str, ObjectId, str]]:
    """Yield what the variables of each running container were made from: its name, object and version."""
    histories = status.observed.containers if status is not None and status.observed else {}
    for name, history in histories.items():
        current = history.current
        if current is not None and current.state is ContainerState.RUNNING:
            for used in current.variables_from:
                wanted = ObjectId(
                    kind=used.kind, namespace=pod.namespace, name=used.name, origin=origin_of(pod)
                )
                yield name, wanted, used.version


def old_variables(
    pod: Pod, status: PodStatus | None, versions: Mapping[ObjectId, str]
) -> list[Mapping[str, str]]:
    """Return which containers run with variables of an earlier version of an object than ``versions`` say.

    An object that is not there any more has no other version.
    """
    return [
        {"container": name, "kind": used.kind.value, "name": used.name}
        for name, used, version in used_objects(pod, status)
        if versions.get(used, "") not in {"", version}
    ]


def pod_story(
    pod: Pod,
    remembered: PodEventsDescribed | Unanswered,
    volumes: VolumesDescribed | Unanswered | None,
    sources: Sequence[SourceDescribed | Unanswered],
) -> dict[str, Any]:
    """Return the document. Those who did not answer are ``missing``, and what they know with them."""
    asked = (remembered, volumes, *sources)
    return {
        "missing": [each.name for each in asked if isinstance(each, Unanswered)],
        "events": [] if isinstance(remembered, Unanswered) else _steps(remembered),
        "volumeTroubles": _troubles(pod, volumes),
        "manifest": next(verdicts_on(pod, sources), None),
    }


def _steps(remembered: PodEventsDescribed) -> list[Mapping[str, Any]]:
    """Return what happened, the oldest first."""
    events = [(each.last, _event(each)) for each in remembered.events]
    changes = [(each.at, _change(each)) for each in remembered.changes]
    return [step for _, step in sorted([*events, *changes], key=itemgetter(0))]


def _event(noted: NotedEvent) -> Mapping[str, Any]:
    again = f" ({noted.times} times)" if noted.times > 1 else ""
    return {
        "at": rfc3339_milli(noted.last),
        "word": noted.reason,
        "tone": "warn" if noted.type is EventType.WARNING else "plain",
        "text": noted.message + again,
        "firstAt": rfc3339_milli(noted.first),
        "before": [rfc3339_milli(each) for each in noted.before],
        "count": noted.times,
        "type": noted.type.value,
        "fieldPath": noted.field_path,
    }


def _change(noted: NotedChange) -> Mapping[str, Any]:
    fact = noted.fact
    is_decision = isinstance(fact, ChangeDecided)
    changed = fact.changed if isinstance(fact, ChangeDecided) else fact
    keys = f", keys: {', '.join(changed.keys)}" if changed.keys else ""
    done = fact.action.value if isinstance(fact, ChangeDecided) else changed.change.value
    return {
        "at": rfc3339_milli(noted.at),
        "word": f"{changed.object.kind.value} {done}" if not is_decision else done,
        "tone": "plain",
        "text": f"{changed.object.kind.value} {changed.object.display_name}{keys}",
        "firstAt": rfc3339_milli(noted.at),
        "before": [],
        "count": 1,
        "type": "Change",
        "fieldPath": "",
    }


def _troubles(pod: Pod, volumes: VolumesDescribed | Unanswered | None) -> list[Mapping[str, str]]:
    found = volumes.volumes if isinstance(volumes, VolumesDescribed) else ()
    return [
        {"name": each.name, "trouble": each.trouble}
        for each in found
        if each.uid == pod.uid and each.trouble
    ]


def verdicts_on(
    pod: Pod, sources: Iterable[SourceDescribed | Unanswered]
) -> Iterator[Mapping[str, Any]]:
    """Yield the verdict on the pod's manifest: the served one first, then others of its name."""
    answered = [each for each in sources if isinstance(each, SourceDescribed)]
    found = [
        (each.uid != pod.uid or each.verdict is Verdict.SHADOWED, source.name, each)
        for source in answered
        for each in source.manifests
        if each.uid == pod.uid or each.pod == pod.display_name
    ]
    for _, name, verdict in sorted(found, key=itemgetter(0)):
        yield {"source": name, **manifest(verdict, SourceName(name))}
