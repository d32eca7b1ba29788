"""What is known of an object that is fetched, and what a read is answered: the strategies Cache and Get.

Two things make a value fresh enough for a read. It is younger than the time to live (rule T4), and it was
asked for after the reading pod had come to reference the object, which is what marks are compared for.
So a new reference costs one fetch, for its own first read, and nobody else's (quirk K20).

Only an answer out of etcd proves a mark, or that there is no object. The API server's cache, which is
cheaper to ask and may lag, can only confirm a version or tell of a newer one; whatever else it says is
asked again of etcd (rules T6, T7). So what etcd says counts, even when its version is a lower one: then
it was restored from a backup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from manifests.objects.values import UnusableObjectError, object_value
from manifests.versions import is_older
from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.holders import NO_MARK, Mark, ReadObject
from messages.objects import (
    ObjectChanged,
    ObjectId,
    ObjectRead,
    ObjectValue,
    ReadVerdict,
)
from messages.pods import JsonObject
from messages.units import Seconds
from stores.objects.changes import object_change
from stores.objects.last_known import LastKnown, Moment
from stores.objects.paths import object_path

FORBIDDEN_GRACE: Final = Seconds(5.0)
"""How long after a new reference a 403 says nothing yet: who decides about it, the Node authorizer, hears
of pods by a watch of its own."""


class FailedFetch(NamedTuple):
    """Why a fetch found out nothing."""

    verdict: ReadVerdict
    """What a read is answered when nothing was known before either."""
    reason: str


FetchResult: TypeAlias = ObjectValue | FailedFetch | None
"""What came of a fetch; None: there is no such object."""


class ObjectFetch(NamedTuple):
    """One request for the object."""

    begun: Moment
    mark: Mark
    """The newest reference that was known when it began."""
    from_etcd: bool


@dataclass(slots=True)
class CachedObject:
    """What is known of one object, and what the last fetch said of that."""

    known: LastKnown = field(default_factory=LastKnown)
    """Current until the request began that confirmed it last."""
    proven: Mark = NO_MARK
    """What is known is no older than the reference of this mark."""
    trouble: str = ""
    """Why the last fetch failed; empty when it did not."""
    is_contested: bool = False
    """The API server's cache says otherwise, or knows nothing, of what is known here."""

    @property
    def error(self) -> str:
        """What is wrong at present."""
        return self.trouble or self.known.flaw

    def is_fresh_for(self, read: ReadObject, now: Seconds) -> bool:
        """Return whether ``read`` may be answered with ``value``, without a fetch.

        An absent or broken object is always asked for anew (rule T5).
        """
        confirmed = self.known.current_until
        if not self._is_sound or confirmed is None:
            return False
        return read.mark <= self.proven and now < confirmed.at + read.time_to_live

    def needs_etcd(self, reads: Iterable[ReadObject]) -> bool:
        """Return whether the API server's cache is not good enough for any of ``reads`` (rule T6)."""
        return not self._is_sound or any(read.mark > self.proven for read in reads)

    @property
    def _is_sound(self) -> bool:
        return self.known.value is not None and not self.known.flaw and not self.is_contested

    def learn(self, fetch: ObjectFetch, result: FetchResult) -> bool:
        """Take in what a fetch found; return False if the same must be asked of etcd.

        What is known outlasts failures, and so does a good version one that is broken.
        """
        if isinstance(result, FailedFetch) and result.verdict is not ReadVerdict.UNUSABLE:
            self.trouble = result.reason
            return True
        self.is_contested = not fetch.from_etcd and not self._is_continued_by(result)
        if self.is_contested:
            return False
        self.trouble = ""
        if isinstance(result, FailedFetch):
            self.known = replace(self.known, flaw=result.reason)
            return True
        if fetch.from_etcd:
            self.proven = max(self.proven, fetch.mark)
        before = self.known.value
        is_same = result is not None and before is not None and _is_same(result, before)
        value = before if is_same else result
        self.known = LastKnown(value=value, is_known=True, current_until=fetch.begun)
        return True

    def _is_continued_by(self, result: FetchResult) -> bool:
        known = self.known.value
        if not isinstance(result, ObjectValue) or known is None:
            return False
        return not is_older(result.resource_version, than=known.resource_version)

    def answer(self, read: ReadObject, now: Moment, failed: FailedFetch | None) -> ObjectRead:
        """Return what ``read`` is answered: what was just fetched, or the last value known (quirk K24).

        ``failed`` is why there was no fetch for it that succeeded (rule T9).
        """
        if failed is None:
            current = replace(self.known, current_until=None)
            return current.answer(read, now, reason="there is no such object")
        return self.known.answer(read, now, reason=failed.reason, otherwise=failed.verdict)


def request_for(wanted: ObjectId, *, from_etcd: bool) -> ApiRequest:
    """Return the request for an object, out of etcd or out of the API server's cache."""
    return ApiRequest(
        verb=Verb.GET,
        path=object_path(wanted),
        query={} if from_etcd else {"resourceVersion": "0"},
    )


def found(outcome: JsonObject | ApiFailure, wanted: ObjectId) -> FetchResult:
    """Return what the answer of a request says of the object."""
    if isinstance(outcome, ApiFailure):
        match outcome.kind:
            case FailureKind.NOT_FOUND:
                return None
            case FailureKind.FORBIDDEN:
                return FailedFetch(ReadVerdict.FORBIDDEN, outcome.sentence)
            case _:
                return FailedFetch(ReadVerdict.NOT_SYNCED, outcome.sentence)
    try:
        return object_value(outcome, wanted)
    except UnusableObjectError as error:
        return FailedFetch(ReadVerdict.UNUSABLE, str(error))


def is_passing(outcome: JsonObject | ApiFailure, since_reference: Seconds) -> bool:
    """Return whether an answer says nothing, and another may come in a moment.

    ``since_reference`` is the time since the newest reference. A lost request says as little.
    """
    if not isinstance(outcome, ApiFailure):
        return False
    if outcome.kind is FailureKind.FORBIDDEN:
        return since_reference < FORBIDDEN_GRACE
    return outcome.kind is FailureKind.LOST


def change_between(
    wanted: ObjectId, before: ObjectValue | None, after: ObjectValue | None
) -> ObjectChanged | None:
    """Return what is told of the step from one version to another; None of no step."""
    if before is after or (before and after and _is_same(before, after)):
        return None
    return object_change(wanted, before, after)


def _is_same(one: ObjectValue, other: ObjectValue) -> bool:
    return (one.uid, one.resource_version) == (other.uid, other.resource_version)
