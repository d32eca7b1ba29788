"""The answer to a read, whoever holds the object."""

from __future__ import annotations

from messages.holders import ReadObject
from messages.objects import ObjectRead, ObjectValue, ReadVerdict
from messages.units import Seconds


def answer_of(
    read: ReadObject,
    verdict: ReadVerdict,
    *,
    value: ObjectValue | None = None,
    age: Seconds | None = None,
    reason: str = "",
) -> ObjectRead:
    """Return what ``read`` is answered; the rest as in ``ObjectRead``."""
    return ObjectRead(
        kind=read.object.kind,
        pod=read.pod,
        name=read.object.name,
        ref=read.ref,
        verdict=verdict,
        value=value,
        age=age,
        reason=reason,
    )
