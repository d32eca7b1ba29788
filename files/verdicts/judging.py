"""What becomes of each file of a directory: the object that it describes, and a verdict.

``judge`` is pure: the listing, the time and the way to decode are handed in. It knows files by name, as a
user does, and remembers the last content of each that could be used. A file that exists and was good once
never loses its object (K4, K5), unless another file has the same object and comes first.

A file that is being written counts as it was before. Half of a file may well be valid YAML, and a pod with
half its containers is worse than one that comes 50 ms later (``files.looking.found`` has the times).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic

from files.looking.directory import in_byte_order
from files.looking.found import (
    GRACE,
    PATIENCE,
    QUIET,
    ROUNDING,
    Content,
    Entry,
    Ignored,
    Listed,
    Listing,
    LookTime,
    Problem,
    Unlistable,
    unrest,
)
from files.looking.steps import Steps, result_of
from files.verdicts.state import Admit, Decode, FileRecord, FileState, T, Usable, admit_all
from manifests.conflicts import Conflict, conflicts, served
from manifests.refusals import Refused
from manifests.texts import printable
from messages.pods import PodUid
from messages.sources import ManifestVerdict, RejectReason, Verdict
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Generic[T]):
    """What became of the files after one look."""

    state: FileState[T]
    error: str = ""
    """Why the manifest path could not be listed; empty if it could."""
    look_again_in: Seconds | None = None
    """In how many seconds a file that is being written may have settled; None if there is none."""

    @property
    def served(self) -> tuple[T, ...] | None:
        """What to serve, by namespace and name; None until the first listing is complete.

        The identical tuple as before if nothing changed. Objects that did not change are identical.
        """
        return self.state.served

    @property
    def verdicts(self) -> tuple[ManifestVerdict, ...]:
        """One for each file, in the order of names. New files that are still being written have none."""
        return self.state.verdicts


def judge(
    state: FileState[T],
    listing: Listing,
    decode: Decode[T],
    *,
    now: Timestamp | LookTime,
    admit: Admit[T] = admit_all,
    clear_on_missing: bool = False,
) -> Judgement[T]:
    """Return what becomes of ``state``: see ``judging``."""
    steps = judging(state, listing, decode, now=now, admit=admit, clear_on_missing=clear_on_missing)
    return result_of(steps)


def judging(
    state: FileState[T],
    listing: Listing,
    decode: Decode[T],
    *,
    now: Timestamp | LookTime,
    admit: Admit[T] = admit_all,
    clear_on_missing: bool = False,
) -> Steps[Judgement[T]]:
    """Find in steps what becomes of ``state`` when a look at ``now`` has found ``listing``.

    A path that cannot be listed changes nothing. A missing one is taken as empty in two cases: if it was
    never listed (a directory that is not there yet holds up no source), which is provisional; and
    if ``clear_on_missing`` asks for a kubelet's way (rule F4).

    A single file that cannot be used is listed like a directory with one bad file: a verdict, and nothing is
    served. A kubelet holds back the whole listing instead (F10), and so, for as long as the file stays bad,
    everything that waits for the source to be ready (K27).
    """
    error = "does not exist" if listing == Listed(entries=(), single=True) else ""
    is_provisional = False
    if isinstance(listing, Unlistable):
        error = listing.reason
        if not listing.missing or not (state.never_listed or clear_on_missing):
            return Judgement(state=replace(state, moving={}, gone={}, entries=None), error=error)
        error += ", taken as empty"
        listing, is_provisional = Listed(entries=()), not clear_on_missing
    settled = state.served is not None and not state.moving and not state.gone
    same = listing.entries is state.entries and is_provisional == state.is_provisional
    if settled and same:
        return Judgement(state=state, error=error)
    time = now if isinstance(now, LookTime) else LookTime(now, now)
    look = _Look(state, decode, admit, time, is_provisional=is_provisional)
    return (yield from look.judgement(listing, error))


class _Look(Generic[T]):
    """One judgement in the making: the next records, and what has to be waited for."""

    def __init__(
        self,
        state: FileState[T],
        decode: Decode[T],
        admit: Admit[T],
        time: LookTime,
        *,
        is_provisional: bool,
    ) -> None:
        self._state = state
        self._decode = decode
        self._admit = admit
        self._now, self._ended = time
        self._is_provisional = is_provisional
        self._records: dict[str, FileRecord[T]] = {}
        self._moving: dict[str, Timestamp] = {}
        self._gone: dict[str, Timestamp] = {}
        self._waits: list[Seconds] = []
        goods = (record.good for record in state.records.values())
        self._known = {good: good for good in goods if good is not None}

    def judgement(self, listing: Listed, error: str) -> Steps[Judgement[T]]:
        present = {entry.name for entry in listing.entries}
        vanished = {
            name: record for name, record in self._state.records.items() if name not in present
        }
        moved = {_inode(record.entry): record for record in vanished.values()}
        for entry in listing.entries:
            old = self._state.records.get(entry.name)
            if old is None:
                # A file with the same inode and content, or problem, was only renamed. The inode alone
                # proves nothing: a new file often gets that of one that was just deleted.
                old = moved.get(_inode(entry))
                old = old if old is not None and old.entry.found == entry.found else None
            self._consider(entry, old)
            if old is None or old.entry is not entry:
                yield
        self._part_with(vanished)
        yield
        return Judgement(
            state=(yield from self._next_state(listing)),
            error=error,
            look_again_in=Seconds(min(self._waits) + ROUNDING) if self._waits else None,
        )

    def _consider(self, entry: Entry, old: FileRecord[T] | None) -> None:
        if old is not None and old.entry is entry:
            self._records[entry.name] = old
            return
        if old is not None and old.entry.says_the_same_as(entry):
            self._records[entry.name] = replace(old, entry=entry)
            return
        wait = self._unrest(entry, QUIET)
        if not wait:
            record = self._record(entry, old)
            is_bad = isinstance(record.outcome, Refused)
            wait = self._doubt(entry, old) if is_bad else Seconds(0.0)
            if not wait:
                self._records[entry.name] = record
                return
        if old is not None:
            self._records[entry.name] = old
        self._moving[entry.name] = self._state.moving.get(entry.name, self._now)
        self._waits.append(wait)

    def _doubt(self, entry: Entry, old: FileRecord[T] | None) -> Seconds:
        """Return for how many seconds not to believe yet that ``entry`` is broken; 0 to believe it.

        For a known file the modification time is not enough. When it is opened for writing it is empty a few
        microseconds before it gets a new time (measured on ext4), and looks long settled meanwhile.
        """
        wait = self._unrest(entry, GRACE)
        noticed_for = self._now - self._state.moving.get(entry.name, self._now)
        if old is None or not 0 <= noticed_for < GRACE:
            return wait
        return Seconds(max(wait, GRACE - noticed_for))

    def _unrest(self, entry: Entry, quiet: Seconds) -> Seconds:
        """Return for how many seconds ``entry`` counts as before; 0 if it is settled, or never will be."""
        since = self._state.moving.get(entry.name, self._now)
        impatient = not 0 <= self._now - since < PATIENCE
        return Seconds(0.0) if impatient else unrest(entry, quiet, self._now, self._ended)

    def _record(self, entry: Entry, old: FileRecord[T] | None) -> FileRecord[T]:
        """Return the record of ``entry``; ``old`` is what was known of this file."""
        data = old.good_data if old is not None else self._state.recalled.get(entry.name)
        before = old.good if old is not None else self._recalled(data)
        outcome, good = self._outcome(entry, before)
        if good is not None:
            found = entry.found
            data = found.data if isinstance(found, Content) else None
            return FileRecord(entry=entry, outcome=outcome, good=good, good_data=data)
        since = old.broken_since if old is not None else None
        return FileRecord(
            entry=entry,
            outcome=outcome,
            good=before,
            good_data=data if before is not None else None,
            broken_since=self._now if since is None else since,
        )

    def _recalled(self, data: bytes | None) -> T | None:
        """Return what a content of the process before describes; None if it cannot be used any more."""
        outcome = self._decode(data) if data is not None else None
        return None if outcome is None or isinstance(outcome, Refused) else outcome.described

    def _outcome(
        self, entry: Entry, before: T | None
    ) -> tuple[Usable[T] | Refused | Ignored, T | None]:
        match entry.found:
            case Ignored() as ignored:
                return ignored, None
            case Problem(kind=kind, reason=reason):
                return Refused(code=RejectReason(kind.value), reason=reason), None
            case content:
                outcome = self._decode(content.data)
        if isinstance(outcome, Refused):
            return outcome, None
        # An equal object stays the identical one: a comment was edited, or the file was copied.
        known = self._known.get(outcome.described, outcome.described)
        admitted = self._admit(entry, known, before)
        if isinstance(admitted, Refused):
            return admitted, None
        self._known[admitted] = admitted
        return outcome, admitted

    def _part_with(self, vanished: Mapping[str, FileRecord[T]]) -> None:
        """Keep files that vanished for a moment, unless other files have their objects: they may be back.

        While a new file is waited for, one may have been written and given that name within the moment.
        """
        if not vanished:
            return
        awaits_new = any(name not in self._records for name in self._moving)
        moment = PATIENCE if awaits_new else QUIET
        goods = [record.good for record in self._records.values() if record.good is not None]
        claimed = {good.display_name for good in goods} | {good.uid for good in goods}
        for name, record in vanished.items():
            since = self._state.gone.get(name, self._now)
            missing_for = self._now - since
            if record.good is None or not 0 <= missing_for < moment:
                continue
            if record.good.display_name in claimed or record.good.uid in claimed:
                continue
            self._records[name] = record
            self._gone[name] = since
            if missing_for < QUIET:
                self._waits.append(Seconds(QUIET - missing_for))

    def _next_state(self, listing: Listed) -> Steps[FileState[T]]:
        before = self._state
        records = {name: self._records[name] for name in in_byte_order(self._records)}
        yield
        claims = {name: record.good for name, record in records.items() if record.good is not None}
        yield
        # The last in name order wins, as in a kubelet (F12).
        lost = conflicts((name, claims[name]) for name in reversed(claims))
        yield
        # An object that is missing in the first listing would be taken for removed.
        is_complete = not self._waits or not before.never_listed
        things = (thing for name, thing in claims.items() if name not in lost)
        present = served(things, before.served) if is_complete else before.served
        yield
        verdicts = yield from self._verdicts(records, lost)
        return FileState(
            records=records,
            moving=self._moving,
            gone=self._gone,
            entries=listing.entries,
            served=present,
            recalled={} if is_complete and not self._is_provisional else before.recalled,
            is_provisional=self._is_provisional if is_complete else before.is_provisional,
            lost=lost,
            verdicts=verdicts,
        )

    def _verdicts(
        self, records: Mapping[str, FileRecord[T]], lost: Mapping[str, Conflict]
    ) -> Steps[tuple[ManifestVerdict, ...]]:
        """Return a verdict on each record: the identical one as before if nothing about it changed."""
        before = self._state
        known = dict(zip(before.records, before.verdicts, strict=True))
        verdicts = []
        for name, record in records.items():
            verdict, conflict = known.get(name), lost.get(name)
            same = before.records.get(name) is record and before.lost.get(name) == conflict
            if verdict is None or not same:
                verdict = _verdict(record, conflict)
                yield
            verdicts.append(verdict)
        return tuple(verdicts)


def _inode(entry: Entry) -> tuple[int, int] | None:
    return None if entry.signature is None else entry.signature[:2]


def _verdict(record: FileRecord[T], lost: Conflict | None) -> ManifestVerdict:
    path = printable(record.entry.path)
    outcome, good = record.outcome, record.good
    if isinstance(outcome, Ignored):
        return ManifestVerdict(path=path, verdict=Verdict.IGNORED, reason=outcome.reason)
    shadow = (
        f"{printable(lost.winner)} has {lost.over} and comes later in name order" if lost else ""
    )
    uid = PodUid(good.uid) if good is not None else None
    if isinstance(outcome, Refused):
        # It is broken and lost to another file, too. Nothing is served, and the file has to be mended.
        unserved = f"{outcome.reason}; its last good content is not served: {shadow}"
        return ManifestVerdict(
            path=path,
            verdict=Verdict.KEPT if good is not None and not lost else Verdict.REJECTED,
            reason=unserved if lost else outcome.reason,
            code=outcome.code,
            pod=good.display_name if good is not None else outcome.pod,
            uid=uid,
        )
    return ManifestVerdict(
        path=path,
        verdict=Verdict.SHADOWED if lost else Verdict.ACCEPTED,
        reason=shadow,
        warnings=outcome.warnings,
        pod=outcome.described.display_name,
        uid=uid,
    )
