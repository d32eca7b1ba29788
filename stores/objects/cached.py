"""What is known of an object that is fetched, and what followers are told: the strategies Cache and Get.

A value is fresh enough for a pod if it is younger than the time to live (rule T4), and was asked for after
the pod had come to reference the object; marks are compared for that. So a new reference costs one fetch
(quirk K20).

Only an answer from etcd proves a mark, or that the object does not exist. The API server's cache is cheaper
to ask and may lag: it can only confirm a version or tell a newer one. Anything else that it says is asked of
etcd again (rules T6, T7). What etcd says always counts, even a lower version: etcd was then restored from a
backup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from manifests.objects.values import UnusableObjectError, object_value
from manifests.versions import is_older
from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.holders import NO_MARK, Mark
from messages.objects import (
    HeldObject,
    ObjectAvailability,
    ObjectChanged,
    ObjectId,
    ObjectValue,
    ReadVerdict,
)
from messages.pods import JsonObject
from messages.units import Instant, Seconds
from stores.objects.changes import object_change
from stores.objects.knowledge import FORBIDDEN_GRACE, NOTHING_KNOWN, LastKnown
from stores.objects.paths import object_path

NO_SUCH_OBJECT: Final = "there is no such object"


class FailedFetch(NamedTuple):
    """Why a fetch brought no usable answer."""

    verdict: ReadVerdict
    """What followers are told if nothing was known before either."""
    reason: str


FetchResult: TypeAlias = ObjectValue | FailedFetch | None
"""The result of a fetch; None: there is no such object."""


class ObjectFetch(NamedTuple):
    """One request for the object."""

    begun: Instant
    mark: Mark
    """The mark of the newest reference that was known when it began."""
    from_etcd: bool
    """Whether it asks etcd, and not the API server's cache."""
    wanted: int = 0
    """The number of the last look that a follower wanted when it began."""


@dataclass(slots=True)
class CachedObject:
    """What is known of one object by fetching it."""

    known: LastKnown = NOTHING_KNOWN
    """Counts as current until the moment at which the request began that last confirmed it."""
    proven: Mark = NO_MARK
    """What is known is no older than the reference of this mark."""
    trouble: str = ""
    """Why the last fetch failed; empty if it did not."""
    is_contested: bool = False
    """Whether the API server's cache contradicts what is known here."""

    @property
    def error(self) -> str:
        """What is wrong at present; empty if nothing is."""
        return self.trouble or self.known.flaw

    def is_fresh(self, mark: Mark, time_to_live: Seconds, now: Seconds) -> bool:
        """Return whether the known value is good enough for the reference of ``mark``, without a fetch.

        An absent or broken object is always fetched (rule T5).
        """
        confirmed = self.known.current_until
        if not self._is_sound or confirmed is None:
            return False
        return mark <= self.proven and now < confirmed.monotonic + time_to_live

    def needs_etcd(self, marks: Iterable[Mark]) -> bool:
        """Return whether a fetch for these references has to ask etcd, and not a cache (rule T6)."""
        return not self._is_sound or any(mark > self.proven for mark in marks)

    @property
    def _is_sound(self) -> bool:
        return self.known.value is not None and not self.known.flaw and not self.is_contested

    def learn(self, fetch: ObjectFetch, result: FetchResult) -> bool:
        """Note the result of a fetch; return False if the same must be asked of etcd.

        A failed fetch changes nothing of what is known. A broken version does not replace a good one.
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

    def held(self, failed: FailedFetch | None) -> HeldObject:
        """Return what followers are told: what a fetch just found, or what was known if it ``failed``."""
        if failed is None:
            return replace(self.known, current_until=None).held(reason=NO_SUCH_OBJECT)
        return self.known.held(reason=failed.reason, otherwise=failed.verdict)


def request_for(wanted: ObjectId, *, from_etcd: bool) -> ApiRequest:
    """Return the request for an object, from etcd or from the API server's cache."""
    return ApiRequest(
        verb=Verb.GET,
        path=object_path(wanted),
        query={} if from_etcd else {"resourceVersion": "0"},
    )


def found(outcome: JsonObject | ApiFailure, wanted: ObjectId) -> FetchResult:
    """Return what the answer to a request says of the object."""
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


def availability(known: LastKnown, result: FetchResult) -> ObjectAvailability:
    """Return what a pod gets that wants the object after a fetch. ``known`` is what is kept by then."""
    if known.value is not None or isinstance(result, ObjectValue):
        return ObjectAvailability.AVAILABLE
    if result is None:
        return ObjectAvailability.MISSING
    match result.verdict:
        case ReadVerdict.FORBIDDEN:
            return ObjectAvailability.FORBIDDEN
        case ReadVerdict.UNUSABLE:
            return ObjectAvailability.UNUSABLE
        case _:
            return ObjectAvailability.UNKNOWN


def is_passing(outcome: JsonObject | ApiFailure, since_reference: Seconds) -> bool:
    """Return whether an answer means nothing yet, so that the request is repeated a moment later.

    That is a lost request, and a 403 soon after a new reference. ``since_reference`` is the time in seconds
    since the newest reference.
    """
    if not isinstance(outcome, ApiFailure):
        return False
    if outcome.kind is FailureKind.FORBIDDEN:
        return since_reference < FORBIDDEN_GRACE
    return outcome.kind is FailureKind.LOST


def change_between(
    wanted: ObjectId, before: ObjectValue | None, after: ObjectValue | None
) -> ObjectChanged | None:
    """Return the message about the step from one version to another; None if they are the same."""
    if before is after or (before and after and _is_same(before, after)):
        return None
    return object_change(wanted, before, after)


def _is_same(one: ObjectValue, other: ObjectValue) -> bool:
    return (one.uid, one.resource_version) == (other.uid, other.resource_version)
