"""What is held of local objects, and what is told of it: as pure functions of what the files say.

An object whose file broke, or whose directory cannot be listed any more, is held as it was when it was
known last, and called stale from then on.

Versions are times of writing, in nanoseconds, or one more than the version before where that is not
higher; what is new is also higher than all that went, since it may be one of them. So they grow while the
agent runs, and are the same after a restart if nobody removed or replaced a file. They are made of no
value: a digest of a short password would give it away to those who see versions. Nobody should compare
them across restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from files.verdicts.state import FileRecord, FileState
from manifests.objects.local_object import LocalObject, display_name
from manifests.objects.values import fingerprint
from manifests.refusals import Refused
from manifests.texts import printable
from messages.holders import NO_MARK, HolderIs, LocalObjectsListed, Mark, ReadObject
from messages.objects import (
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectRead,
    ObjectState,
    ReadVerdict,
)
from messages.sources import Verdict
from messages.units import Timestamp
from stores.objects.answers import answer_of
from stores.objects.changes import object_change
from stores.objects.last_known import LastKnown, Moment


class KnownLocalObject(NamedTuple):
    """One object, as it is answered to readers."""

    described: LocalObject
    version: int
    known: LastKnown
    """Its value has the version. Its flaw says why the object may be another one by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The path cannot be listed: what is known of it may have changed since."""

    since: Timestamp | None
    """When it could be listed last; None if it never could."""
    reason: str


KnownLocalObjects = Mapping[ObjectId, KnownLocalObject]

Gone = Mapping[ObjectId, int | None]
"""Objects that were, and are no more, each with its last fingerprint until somebody was told of that."""


def known_objects(
    state: FileState[LocalObject],
    outage: Outage | None,
    held: KnownLocalObjects,
    highest_gone: int,
    now: Moment,
) -> dict[ObjectId, KnownLocalObject]:
    """Return what is held from here on: where nothing changed, the identical holding.

    ``held`` is what was held before, and ``highest_gone`` the highest version of what is no more.
    """
    records = {record.good.object: record for record in _serving(state) if record.good is not None}
    return {
        described.object: _known_object(
            described,
            _known(records[described.object], outage, now),
            held.get(described.object),
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
    """Yield what is to be told when ``after`` takes the place of ``before``, by namespace and name.

    ``concerned`` says up to which mark references may have used what was. What is there again as it was
    when it went concerns nobody.
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


def described(object_id: ObjectId, holding: KnownLocalObject | None) -> ObjectDescribed:
    """Return how an object is held; one that there is not, when ``holding`` is None."""
    known = LastKnown(is_known=True) if holding is None else holding.known
    return known.described(object_id, ObjectState.LOCAL, known.flaw)


def listed(
    kind: ObjectKind, state: FileState[LocalObject], outage: Outage | None
) -> LocalObjectsListed:
    """Return what is so of all objects of ``kind`` that are not held, once the files have been listed."""
    refused: dict[str, str] = {}
    for each in state.verdicts:
        claimed_kind, _, name = each.pod.partition(" ")
        if each.verdict is Verdict.REJECTED and claimed_kind == kind:
            refused.setdefault(name, f"{each.path}: {each.reason}")
    if outage is None:
        return LocalObjectsListed(refused=refused)
    return LocalObjectsListed(refused=refused, current_until=outage.since, error=outage.reason)


def answer(
    read: ReadObject,
    held: KnownLocalObjects,
    state: FileState[LocalObject],
    outage: Outage | None,
    now: Moment,
) -> ObjectRead:
    """Return the answer to ``read``, once the files have been listed."""
    holding = held.get(read.object)
    if holding is not None:
        return holding.known.answer(read, now, reason=holding.known.flaw)
    unheld = listed(read.object.kind, state, outage)
    refusal = unheld.refused.get(read.object.display_name)
    if refusal is not None:
        return answer_of(read, ReadVerdict.UNUSABLE, reason=refusal)
    absent = LastKnown(is_known=True, current_until=_moment(unheld.current_until, now))
    reason = unheld.error or f"no file describes {display_name(read.object)}"
    return absent.answer(read, now, reason=reason)


def unanswered(read: ReadObject, trouble: str) -> ObjectRead:
    """Return the answer to ``read`` if the files could not be listed in time."""
    reason = trouble or "the files have not been listed yet"
    return answer_of(read, ReadVerdict.NOT_SYNCED, reason=reason)


def _serving(state: FileState[LocalObject]) -> Iterator[FileRecord[LocalObject]]:
    """Yield the records whose objects are served; of several with an equal one the last counts."""
    served = {id(each) for each in state.served or ()}
    return (record for record in state.records.values() if id(record.good) in served)


def _known_object(
    described: LocalObject,
    known: LastKnown,
    held: KnownLocalObject | None,
    highest_gone: int,
) -> KnownLocalObject:
    """Return how an object is held whose file says ``described``; ``known`` has no value yet."""
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


def _known(record: FileRecord[LocalObject], outage: Outage | None, now: Moment) -> LastKnown:
    """Return since when an object's file may say something else, and why."""
    since, flaw = record.broken_since, ""
    if isinstance(record.outcome, Refused):
        flaw = f"{printable(record.entry.path)}: {record.outcome.reason}"
    if outage is not None and outage.since is not None:
        since = outage.since if since is None else min(outage.since, since)
        flaw = flaw or outage.reason
    return LastKnown(is_known=True, flaw=flaw, current_until=_moment(since, now))


def _moment(since: Timestamp | None, now: Moment) -> Moment | None:
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
