"""Turns a pod's question into a request to the holder of the object, or refuses it."""

from __future__ import annotations

from messages.holders import ReadObject
from messages.objects import GetObject, ObjectKind, ObjectRead, ReadVerdict
from messages.units import Seconds
from stores.objects.reference_index import ReferenceIndex


def read_of(
    question: GetObject, kind: ObjectKind, index: ReferenceIndex, time_to_live: Seconds
) -> ReadObject | ObjectRead:
    """Return the request to the holder, or the refusal if the pod does not reference the object."""
    needs = index.get(question.pod)
    if needs is None:
        return _refusal(question, kind, "the pod is not known")
    wanted = needs.object(kind, question.name)
    mark = index.mark(question.pod, wanted)
    if mark is None:
        reason = f"pod {needs.name} does not reference {kind} {wanted.display_name}"
        return _refusal(question, kind, reason)
    return ReadObject(
        object=wanted,
        mark=mark,
        pod=question.pod,
        reply_to=question.reply_to,
        ref=question.ref,
        within=question.within,
        time_to_live=time_to_live,
    )


def _refusal(question: GetObject, kind: ObjectKind, reason: str) -> ObjectRead:
    return ObjectRead(
        kind=kind,
        pod=question.pod,
        name=question.name,
        ref=question.ref,
        verdict=ReadVerdict.NOT_REGISTERED,
        reason=reason,
    )
