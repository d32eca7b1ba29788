"""Makes the answers to reads, whichever holder gives them."""

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
    """Return the answer to ``read``. The arguments are the fields of ``ObjectRead``."""
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
