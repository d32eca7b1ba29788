"""Which files of local objects are accepted, what is known of the objects, and what is told of that. Pure.

If the file of an object breaks, or its directory cannot be listed any more, the last known object is kept,
and is stale from then on.

The version of an object is the time at which its file was written, in nanoseconds, or one more than the
version before if the time is not higher. A new object also gets a higher version than all objects that
went, since it may be one of them. So versions grow while the agent runs, and are the same after a restart
if nobody removed or replaced a file; nobody should compare them across restarts. They do not depend on
values: a digest of a short password would reveal it to those who see versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from files.looking.found import Entry
from files.verdicts.state import FileRecord, FileState
from manifests.objects.local import LocalObject, display_name
from manifests.objects.values import changed_keys, fingerprint
from manifests.refusals import Refused
from manifests.texts import printable, quoted
from messages.holders import NO_MARK, HolderIs, LocalObjectsListed, Mark
from messages.objects import (
    HeldObject,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.sources import RejectReason, Verdict
from messages.units import Instant, Timestamp
from stores.objects.changes import object_change
from stores.objects.knowledge import LastKnown


class KnownLocalObject(NamedTuple):
    """One local object, as readers get it."""

    described: LocalObject
    version: int
    known: LastKnown
    """Its value has the version. Its flaw says why the object may have changed by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Since when and why the path cannot be listed."""

    since: Timestamp | None
    """When the path could be listed last; None if it never could."""
    reason: str


_CERTAIN: Final = LastKnown(is_known=True)

KnownLocalObjects = Mapping[ObjectId, KnownLocalObject]

Gone = Mapping[ObjectId, int | None]
"""Objects that do not exist any more. Each has its last fingerprint until somebody was told that it went."""


def known_objects(
    state: FileState[LocalObject],
    outage: Outage | None,
    before: KnownLocalObjects,
    highest_gone: int,
    now: Instant,
) -> dict[ObjectId, KnownLocalObject]:
    """Return what is known from now on. Where nothing changed, it is the identical ``KnownLocalObject``.

    ``before`` is what was known until now, and ``highest_gone`` the highest version of all objects that went.
    """
    records = {record.good.object: record for record in _serving(state) if record.good is not None}
    return {
        described.object: _known_object(
            described,
            _known(records[described.object], outage, now),
            before.get(described.object),
            highest_gone,
        )
        for described in state.served or ()
    }


def news(
    before: KnownLocalObjects,
    after: KnownLocalObjects,
    gone: Gone,
    concerned: Callable[[ObjectId], Mark],
) -> Iterator[HolderIs]:
    """Yield what to tell when ``after`` replaces ``before``, in the order of namespaces and names.

    ``concerned`` returns the highest mark of the pods that may have used the former value. An object that is
    there again with the content that it had when it went concerns nobody.
    """
    others = [each for each in {*before, *after} if before.get(each) is not after.get(each)]
    for object_id in sorted(others, key=lambda each: (each.display_name, each.kind)):
        new = after.get(object_id)
        is_back = new is not None and gone.get(object_id) == fingerprint(new.described.value)
        yield HolderIs(
            described=described(object_id, new),
            changed=_changed(object_id, before.get(object_id), new),
            concerns=NO_MARK if is_back else concerned(object_id),
        )


def described(object_id: ObjectId, held: KnownLocalObject | None) -> ObjectDescribed:
    """Return how an object is held; absent if ``held`` is None."""
    known = _CERTAIN if held is None else held.known
    return known.described(object_id, ObjectState.LOCAL, known.flaw)


def listed(
    kind: ObjectKind, state: FileState[LocalObject], outage: Outage | None
) -> LocalObjectsListed:
    """Return what is so of all objects of ``kind`` that no file holds. The files have been listed."""
    refused: dict[str, str] = {}
    for each in state.verdicts:
        claimed_kind, _, name = each.pod.partition(" ")
        if each.verdict is Verdict.REJECTED and claimed_kind == kind:
            refused.setdefault(name, f"{each.path}: {each.reason}")
    if outage is None:
        return LocalObjectsListed(refused=refused)
    return LocalObjectsListed(refused=refused, current_until=outage.since, error=outage.reason)


def held_object(
    wanted: ObjectId,
    objects: KnownLocalObjects,
    state: FileState[LocalObject],
    outage: Outage | None,
    now: Instant,
) -> HeldObject:
    """Return what followers of an object are told, once the files have been listed."""
    known = objects.get(wanted)
    if known is not None:
        return known.known.held(reason=known.known.flaw)
    unheld = listed(wanted.kind, state, outage)
    refusal = unheld.refused.get(wanted.display_name)
    if refusal is not None:
        return HeldObject(verdict=ReadVerdict.UNUSABLE, reason=refusal)
    absent = LastKnown(is_known=True, current_until=_moment(unheld.current_until, now))
    return absent.held(reason=unheld.error or f"no file describes {display_name(wanted)}")


def unlisted(trouble: str) -> HeldObject:
    """Return what followers are told before the files have been listed."""
    reason = trouble or "the files have not been listed yet"
    return HeldObject(verdict=ReadVerdict.NOT_SYNCED, reason=reason)


def _serving(state: FileState[LocalObject]) -> Iterator[FileRecord[LocalObject]]:
    """Yield the records whose objects are served. If several have equal objects, the last counts."""
    served = {id(each) for each in state.served or ()}
    return (record for record in state.records.values() if id(record.good) in served)


def _known_object(
    described: LocalObject,
    known: LastKnown,
    held: KnownLocalObject | None,
    highest_gone: int,
) -> KnownLocalObject:
    """Return what is known of an object whose file says ``described``; ``known`` has no value yet."""
    if held is None:
        version = max(described.written, highest_gone + 1)
    elif held.described is described or held.described == described:
        if _doubt(held.known) == _doubt(known):
            return held
        version = held.version
    else:
        version = max(described.written, held.version + 1)
    value = replace(described.value, resource_version=str(version))
    return KnownLocalObject(described, version, replace(known, value=value))


def _known(record: FileRecord[LocalObject], outage: Outage | None, now: Instant) -> LastKnown:
    """Return since when, and why, the object of a file may have changed. There is no value in it yet."""
    since, flaw = record.broken_since, ""
    if isinstance(record.outcome, Refused):
        flaw = f"{printable(record.entry.path)}: {record.outcome.reason}"
    if outage is not None and outage.since is not None:
        since = outage.since if since is None else min(outage.since, since)
        flaw = flaw or outage.reason
    if since is None and not flaw:
        return _CERTAIN
    return LastKnown(is_known=True, flaw=flaw, current_until=_moment(since, now))


def _moment(since: Timestamp | None, now: Instant) -> Instant | None:
    return None if since is None else now.on_wall(since)


def _doubt(known: LastKnown) -> tuple[Timestamp | None, str]:
    since = known.current_until
    return None if since is None else since.wall, known.flaw


def _changed(
    object_id: ObjectId, old: KnownLocalObject | None, new: KnownLocalObject | None
) -> ObjectChanged | None:
    if old is not None and new is not None and old.version == new.version:
        return None  # what changed is only whether it is current
    return object_change(
        object_id, old.known.value if old else None, new.known.value if new else None
    )


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
