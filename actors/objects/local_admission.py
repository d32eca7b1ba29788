"""Decides whether the file of a local object is accepted: by its permissions, and by what the object was."""

from __future__ import annotations

from dataclasses import replace

from files.looking.found import Entry
from manifests.objects.local import LocalObject
from manifests.objects.values import changed_keys
from manifests.refusals import Refused
from manifests.texts import quoted
from messages.objects import ObjectKind, ObjectValue
from messages.sources import RejectReason


def admit(
    entry: Entry, described: LocalObject, before: LocalObject | None
) -> LocalObject | Refused:
    """Return the object that a usable file describes, or why the file is refused.

    Others may neither read nor write the file of a Secret. An immutable object cannot change until its file
    is removed, or until another file takes its place in the order of names.
    """
    refusal = ""
    if described.object.kind is ObjectKind.SECRET and entry.is_open_to_others:
        refusal = "the file of this Secret is open to others: chmod o-rwx the file"
    elif before is not None and before.object == described.object and before.value.immutable:
        refusal = _tampering(before.value, described.value)
    if refusal:
        name = described.display_name
        return Refused(code=RejectReason.INVALID, reason=refusal, pod=name)
    written = entry.signature.modified_ns if entry.signature is not None else 0
    return described if described.written else replace(described, written=written)


def _tampering(before: ObjectValue, after: ObjectValue) -> str:
    """Return why ``after`` cannot replace the immutable ``before``; empty if it can."""
    changed = [quoted(key) for key in changed_keys(before, after)]
    changed += ["immutable"] if not after.immutable else []
    changed += ["type"] if before.type != after.type else []
    if not changed:
        return ""
    what = f"{', '.join(changed[:3])}{' and others' if len(changed) > 3 else ''}"
    return f"it is immutable, and {what} changed: remove the file first, then write it anew"
