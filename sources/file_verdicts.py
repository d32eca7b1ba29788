"""What becomes of each file of a manifest directory: from what was known and what is there, to pods.

``judge`` is pure: the listing, the time and the way to decode are handed in. It knows files by name,
as a user does, and remembers for each the last content that could be used; a file that exists and was
good once is never without its pod (K4, K5), except behind a stronger claim to the same pod.

What is still moving is left as it was. A file that is half written may well be valid YAML, and a pod
with half its containers is worse than one that comes 50 ms later (``settling`` has the times).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TypeAlias, assert_never

from actors.messages.pods import Pod
from actors.messages.sources import ManifestVerdict, Verdict
from actors.messages.units import Seconds, Timestamp
from sources.claims import LostTo, lost_claims
from sources.manifest import Decoded, Refused
from sources.manifest_directory import Entry, Ignored, Listed, Listing, Problem, Unlistable
from sources.settling import GRACE, PATIENCE, QUIET, ROUNDING, unrest
from sources.verdicts import printable

Decode: TypeAlias = Callable[[bytes], Decoded | Refused]
"""From bytes to a pod or a refusal, always the same for the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """What is known about one file."""

    entry: Entry
    """As it was when it was judged."""
    outcome: Decoded | Refused | Ignored
    good: Decoded | None
    """What its last usable content said; the outcome itself if that is usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """Everything the file source knows. Lives in memory: a fresh start begins with an empty one."""

    records: Mapping[str, FileRecord] = field(default_factory=dict)
    """By file name."""
    moving: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that are being written, and since when they have been left as they were."""
    gone: Mapping[str, Timestamp] = field(default_factory=dict)
    """Files that vanished a moment ago, and when that was seen; their records are still there."""
    entries: tuple[Entry, ...] = ()
    """What the last listing held."""
    pods: tuple[Pod, ...] | None = None
    """What is served; None until the first listing is complete."""
    verdicts: tuple[ManifestVerdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one look came to."""

    state: FileState
    error: str = ""
    """Why the manifest path could not be listed; empty if it could."""
    look_again_in: Seconds | None = None
    """When something that is moving may have settled; None if nothing is."""

    @property
    def pods(self) -> tuple[Pod, ...] | None:
        """The pods to serve, ordered by namespace and name; None while nothing can be told yet.

        The identical tuple as before if no pod changed, and identical pods where they did not.
        """
        return self.state.pods

    @property
    def verdicts(self) -> tuple[ManifestVerdict, ...]:
        """One for each file, in name order, except new ones that are still being written."""
        return self.state.verdicts


def judge(
    state: FileState,
    listing: Listing,
    decode: Decode,
    *,
    now: Timestamp,
    clear_on_missing: bool = False,
) -> Judgement:
    """Return what becomes of ``state`` when the manifest path looks like ``listing`` at ``now``.

    A path that cannot be listed changes nothing, except that a missing one is an empty one if it was
    never listed before (scenario 1: a source is not held up by a directory that is not there yet) or
    if ``clear_on_missing`` asks for a kubelet's way (rule F4).

    A single file that cannot be used is listed like a directory with one bad file: a verdict and no
    pods. A kubelet holds back the whole listing instead (F10), and with it, for as long as the file
    stays bad, everything that waits for the source to be ready (K27).
    """
    error = "does not exist" if listing == Listed(entries=(), single=True) else ""
    if isinstance(listing, Unlistable):
        error = listing.reason
        if not listing.missing or (state.pods is not None and not clear_on_missing):
            return Judgement(state=replace(state, moving={}, gone={}), error=error)
        listing = Listed(entries=())
    settled = state.pods is not None and not state.moving and not state.gone
    if settled and listing.entries is state.entries:
        return Judgement(state=state, error=error)
    return _Look(state, decode, now).judgement(listing, error)


class _Look:
    """One judgement in the making: the records that it will leave, and what has to be awaited."""

    def __init__(self, state: FileState, decode: Decode, now: Timestamp) -> None:
        self._state = state
        self._decode = decode
        self._now = now
        self._records: dict[str, FileRecord] = {}
        self._moving: dict[str, Timestamp] = {}
        self._gone: dict[str, Timestamp] = {}
        self._waits: list[Seconds] = []
        goods = (record.good for record in state.records.values())
        self._pods = {good.pod: good.pod for good in goods if good is not None}

    def judgement(self, listing: Listed, error: str) -> Judgement:
        present = {entry.name for entry in listing.entries}
        vanished = {
            name: record for name, record in self._state.records.items() if name not in present
        }
        moved = {_inode(record.entry): record for record in vanished.values()}
        for entry in listing.entries:
            old = self._state.records.get(entry.name)
            if old is None:
                # The same inode with the same content, or the same problem, was only renamed. The
                # inode alone proves nothing: a new file often gets that of one just deleted.
                old = moved.get(_inode(entry))
                old = old if old is not None and old.entry.found == entry.found else None
            self._consider(entry, old)
        self._part_with(vanished)
        return Judgement(
            state=self._next_state(listing),
            error=error,
            look_again_in=Seconds(min(self._waits) + ROUNDING) if self._waits else None,
        )

    def _consider(self, entry: Entry, old: FileRecord | None) -> None:
        if old is not None and old.entry.found == entry.found:
            unchanged = old.entry is entry
            self._records[entry.name] = old if unchanged else replace(old, entry=entry)
            return
        wait = self._unrest(entry, QUIET)
        if not wait:
            outcome = self._outcome(entry)
            wait = self._doubt(entry, old) if isinstance(outcome, Refused) else Seconds(0.0)
            if not wait:
                last_good = old.good if old is not None else None
                good = outcome if isinstance(outcome, Decoded) else last_good
                self._records[entry.name] = FileRecord(entry=entry, outcome=outcome, good=good)
                return
        if old is not None:
            self._records[entry.name] = old
        self._moving[entry.name] = self._state.moving.get(entry.name, self._now)
        self._waits.append(wait)

    def _doubt(self, entry: Entry, old: FileRecord | None) -> Seconds:
        """Return for how long not to believe that ``entry`` is broken; 0 if it is.

        Of a known file the time of modification is not enough: opened for writing it is empty a few
        microseconds before it gets a new time (measured on ext4), and looks long settled meanwhile.
        """
        wait = self._unrest(entry, GRACE)
        noticed_for = self._now - self._state.moving.get(entry.name, self._now)
        if old is None or not 0 <= noticed_for < GRACE:
            return wait
        return Seconds(max(wait, GRACE - noticed_for))

    def _unrest(self, entry: Entry, quiet: Seconds) -> Seconds:
        """Return for how long to leave ``entry`` as it was; 0 if it is settled, or never will be."""
        since = self._state.moving.get(entry.name, self._now)
        impatient = not 0 <= self._now - since < PATIENCE
        return Seconds(0.0) if impatient else unrest(entry, quiet, self._now)

    def _outcome(self, entry: Entry) -> Decoded | Refused | Ignored:
        match entry.found:
            case Ignored() as ignored:
                return ignored
            case Problem(code=code, reason=reason):
                return Refused(code=code, reason=reason)
            case content:
                outcome = self._decode(content.data)
        if isinstance(outcome, Decoded):
            # An equal pod is the identical one: a comment was edited, or the file was copied.
            pod = self._pods.setdefault(outcome.pod, outcome.pod)
            return outcome if pod is outcome.pod else replace(outcome, pod=pod)
        return outcome

    def _part_with(self, vanished: Mapping[str, FileRecord]) -> None:
        """Keep what vanished for a moment, unless another file has its pod: it may be right back."""
        if not vanished:
            return
        goods = [record.good.pod for record in self._records.values() if record.good is not None]
        claimed = {pod.full_name for pod in goods} | {pod.uid for pod in goods}
        for name, record in vanished.items():
            since = self._state.gone.get(name, self._now)
            missing_for = self._now - since
            if record.good is None or not 0 <= missing_for < QUIET:
                continue
            if record.good.pod.full_name in claimed or record.good.pod.uid in claimed:
                continue
            self._records[name] = record
            self._gone[name] = since
            self._waits.append(Seconds(QUIET - missing_for))

    def _next_state(self, listing: Listed) -> FileState:
        records = {name: self._records[name] for name in sorted(self._records, key=os.fsencode)}
        claims = {name: record.good.pod for name, record in records.items() if record.good}
        # The last in name order wins, as in a kubelet (F12).
        lost = lost_claims((name, claims[name]) for name in reversed(claims))
        return FileState(
            records=records,
            moving=self._moving,
            gone=self._gone,
            entries=listing.entries,
            pods=self._served(pod for name, pod in claims.items() if name not in lost),
            verdicts=tuple(_verdict(record, lost.get(name)) for name, record in records.items()),
        )

    def _served(self, pods: Iterable[Pod]) -> tuple[Pod, ...] | None:
        before = self._state.pods
        if before is None and self._waits:
            return None  # whoever misses a pod in the first listing takes it for removed
        # Not in the order of the files: renaming one changes nothing.
        served = tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name)))
        same = before is not None and len(before) == len(served) and all(map(is_, before, served))
        return before if same else served


def _inode(entry: Entry) -> tuple[int, int] | None:
    return None if entry.signature is None else entry.signature[:2]


def _verdict(record: FileRecord, lost: LostTo | None) -> ManifestVerdict:
    path = printable(record.entry.path)
    outcome = record.outcome
    shadow = (
        f"{printable(lost.winner)} has {lost.over} and comes later in name order" if lost else ""
    )
    pod = record.good.pod if record.good is not None else None
    match outcome:
        case Ignored(reason=reason):
            return ManifestVerdict(path=path, verdict=Verdict.IGNORED, reason=reason)
        case Decoded():
            return ManifestVerdict(
                path=path,
                verdict=Verdict.SHADOWED if lost else Verdict.ACCEPTED,
                reason=shadow,
                warnings=outcome.warnings,
                pod=outcome.pod.display_name,
                uid=outcome.pod.uid,
            )
        case Refused(code=code, reason=reason):
            # Broken and outclaimed too: nothing of it is served, and the breakage is what to mend.
            return ManifestVerdict(
                path=path,
                verdict=Verdict.KEPT if pod is not None and not lost else Verdict.REJECTED,
                reason=f"{reason}; its last good pod is not served: {shadow}" if lost else reason,
                code=code,
                pod=pod.display_name if pod is not None else outcome.pod,
                uid=pod.uid if pod is not None else None,
            )
        case _:
            assert_never(outcome)
