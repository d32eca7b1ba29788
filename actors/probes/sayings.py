"""What people are told of the answers of a probe, in a kubelet's words. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import JsonObject, Pod
from messages.probes import ProbeKey, ProbeKind, ProbeOutcome, ProbeResult

UNHEALTHY: Final = "Unhealthy"
WARNING: Final = "ProbeWarning"
TEXT_LEN: Final = 10 * 1024
"""Characters of an answer that anybody is shown."""

_WORDS: Final = {
    ProbeResult.FAILURE: (UNHEALTHY, "failed"),
    ProbeResult.UNKNOWN: (UNHEALTHY, "errored"),
    ProbeResult.WARNING: (WARNING, "warning"),
}


class Standing(NamedTuple):
    """What counts, for the log."""

    line: str
    is_bad: bool


def event_of(pod: Pod, key: ProbeKey, outcome: ProbeOutcome) -> PostEvent | None:
    """Return the event about an answer; None if it is as it should be."""
    words = _WORDS.get(outcome.result)
    if words is None:
        return None
    reason, happened = words
    return PostEvent(
        regarding=ObjectReference(
            kind="Pod",
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            field_path=_field_path(pod, key.container),
        ),
        type=EventType.WARNING,
        reason=reason,
        message=f"{key.kind.value.capitalize()} probe {happened}: {outcome.text[:TEXT_LEN]}",
    )


def standing(kind: ProbeKind, result: ProbeResult) -> Standing:
    """Return what the log says when ``result`` counts of a probe from now on."""
    is_bad = result is ProbeResult.FAILURE
    match kind:
        case ProbeKind.LIVENESS:
            return Standing(
                "a container is not alive" if is_bad else "a container is alive", is_bad
            )
        case ProbeKind.READINESS:
            return Standing(
                "a container is not ready" if is_bad else "a container is ready", is_bad
            )
        case ProbeKind.STARTUP:
            return Standing(
                "a container did not start" if is_bad else "a container started", is_bad
            )


def doubt(*, is_unknown: bool) -> Standing:
    """Return what the log says when a probe begins to count neither way, or counts again."""
    if is_unknown:
        return Standing("a probe cannot be carried out, and counts neither way", is_bad=True)
    return Standing("a probe counts again", is_bad=False)


def _field_path(pod: Pod, container: str) -> str:
    spec: JsonObject = pod.document.get("spec") or {}
    inits = spec.get("initContainers") or ()
    is_init = any(each.get("name") == container for each in inits)
    return f"spec.{'initContainers' if is_init else 'containers'}{{{container}}}"
