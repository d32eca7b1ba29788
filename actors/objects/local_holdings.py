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

from files.verdicts.state import FileRecord, FileState
from manifests.objects.local_object import LocalObject, display_name
from manifests.objects.values import fingerprint
from manifests.pod_manifest import Refused
from manifests.verdicts.judgements import printable
from messages.holders import NO_MARK, HolderIs, LocalObjectsListed, Mark, ReadObject
from messages.objects import (
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectRead,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.sources import Verdict
from messages.units import Seconds, Timestamp
from stores.objects.answers import answer_of
from stores.objects.changes import object_change


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One object, as it is answered to readers."""

    described: LocalObject
    version: int
    current_until: Timestamp | None = None
    """When it was last known to be so; None when that is now."""
    error: str = ""
    """Why it is not; empty when it is."""

    @property
    def value(self) -> ObjectValue:
        """The value, with its version."""
        return replace(self.described.value, resource_version=str(self.version))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The path cannot be listed: what is known of it may have changed since."""

    since: Timestamp | None
    """When it could be listed last; None if it never could."""
    reason: str


Holdings = Mapping[ObjectId, Holding]

Gone = Mapping[ObjectId, int | None]
"""Objects that were, and are no more, each with its last fingerprint until somebody was told of that."""


def holdings(
    state: FileState[LocalObject],
    outage: Outage | None,
    held: Holdings,
    highest_gone: int,
) -> dict[ObjectId, Holding]:
    """Return what is held from here on: where nothing changed, the identical holding.

    ``held`` is what was held before, and ``highest_gone`` the highest version of what is no more.
    """
    records = {record.good.object: record for record in _serving(state) if record.good is not None}
    return {
        described.object: _holding(
            described, records[described.object], outage, held.get(described.object), highest_gone
        )
        for described in state.served or ()
    }


def news(
    before: Holdings, after: Holdings, gone: Gone, concerned: Callable[[ObjectId], Mark]
) -> Iterator[HolderIs]:
    """Yield what is to be told when ``after`` takes the place of ``before``, by namespace and name.

    ``concerned`` says up to which mark references may have used what was. What is there again as it was
    when it went concerns nobody.
    """
    others = [each for each in {*before, *after} if before.get(each) is not after.get(each)]
    for object_id in sorted(others, key=lambda each: (each.display_name, each.kind)):
        new = after.get(object_id)
        is_back = new is not None and gone.get(object_id) == fingerprint(new.value)
        yield HolderIs(
            described=described(object_id, new),
            changed=_changed(object_id, before.get(object_id), new),
            concerns=NO_MARK if is_back else concerned(object_id),
        )


def described(object_id: ObjectId, holding: Holding | None) -> ObjectDescribed:
    """Return how an object is held; one that there is not, when ``holding`` is None."""
    if holding is None:
        return ObjectDescribed(object=object_id, state=ObjectState.ABSENT, is_known=True)
    return ObjectDescribed(
        object=object_id,
        state=ObjectState.LOCAL,
        uid=holding.described.uid,
        resource_version=str(holding.version),
        current_until=holding.current_until,
        is_known=True,
        error=holding.error,
    )


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
    held: Holdings,
    state: FileState[LocalObject],
    outage: Outage | None,
    now: Timestamp,
) -> ObjectRead:
    """Return what comes of ``read``, once the files have been listed."""
    holding = held.get(read.object)
    if holding is not None:
        since = holding.current_until
        verdict = ReadVerdict.FOUND if since is None else ReadVerdict.STALE
        return _read(read, verdict, since, now, reason=holding.error, value=holding.value)
    unheld = listed(read.object.kind, state, outage)
    refusal = unheld.refused.get(read.object.display_name)
    if refusal is not None:
        return _read(read, ReadVerdict.UNUSABLE, None, now, reason=refusal)
    reason = unheld.error or f"no file describes {display_name(read.object)}"
    return _read(read, ReadVerdict.NOT_FOUND, unheld.current_until, now, reason=reason)


def unanswered(read: ReadObject, trouble: str) -> ObjectRead:
    """Return what comes of ``read`` if the files could not be listed in time."""
    reason = trouble or "the files have not been listed yet"
    return _read(read, ReadVerdict.NOT_SYNCED, None, Timestamp(0.0), reason=reason)


def _serving(state: FileState[LocalObject]) -> Iterator[FileRecord[LocalObject]]:
    """Yield the records whose objects are served; of several with an equal one the last counts."""
    served = {id(each) for each in state.served or ()}
    return (record for record in state.records.values() if id(record.good) in served)


def _holding(
    described: LocalObject,
    record: FileRecord[LocalObject],
    outage: Outage | None,
    held: Holding | None,
    highest_gone: int,
) -> Holding:
    since, error = record.broken_since, ""
    if isinstance(record.outcome, Refused):
        error = f"{printable(record.entry.path)}: {record.outcome.reason}"
    if outage is not None and outage.since is not None:
        since = min(outage.since, outage.since if since is None else since)
        error = error or outage.reason
    if held is None:
        version = max(described.written, highest_gone + 1)
    elif held.described is described or held.described == described:
        if (held.current_until, held.error) == (since, error):
            return held
        version = held.version
    else:
        version = max(described.written, held.version + 1)
    return Holding(described=described, version=version, current_until=since, error=error)


def _changed(object_id: ObjectId, old: Holding | None, new: Holding | None) -> ObjectChanged | None:
    if old is not None and new is not None and old.version == new.version:
        return None  # what changed is only whether it is current
    return object_change(object_id, old.value if old else None, new.value if new else None)


def _read(  # an answer has that many parts
    read: ReadObject,
    verdict: ReadVerdict,
    since: Timestamp | None,
    now: Timestamp,
    *,
    reason: str,
    value: ObjectValue | None = None,
) -> ObjectRead:
    age = None if since is None else Seconds(max(0.0, now - since))
    return answer_of(read, verdict, value=value, age=age, reason=reason)
