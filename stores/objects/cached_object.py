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
from dataclasses import dataclass
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
from stores.objects.answers import answer_of
from stores.objects.changes import object_change
from stores.objects.places import object_path

FORBIDDEN_GRACE: Final = Seconds(5.0)
"""How long after a new reference a 403 says nothing yet: who decides about it, the Node authorizer, hears
of pods by a watch of its own."""


class Setback(NamedTuple):
    """Why a fetch found out nothing."""

    verdict: ReadVerdict
    """What a read is answered when nothing was known before either."""
    reason: str


Finding: TypeAlias = ObjectValue | Setback | None
"""What came of a fetch; None: there is no such object."""


class Fetch(NamedTuple):
    """One request for the object."""

    begun: Seconds
    mark: Mark
    """The newest reference that was known when it began."""
    from_etcd: bool


class Answer(NamedTuple):
    """What a read is answered."""

    verdict: ReadVerdict
    value: ObjectValue | None = None
    age: Seconds | None = None
    reason: str = ""

    def to(self, read: ReadObject) -> ObjectRead:
        """Return it as the answer of ``read``."""
        return answer_of(read, self.verdict, value=self.value, age=self.age, reason=self.reason)


@dataclass(slots=True)
class CachedObject:
    """What is known of one object. Times are those of a monotonic clock."""

    is_known: bool = False
    """It was ever learned what it is, or that there is none."""
    value: ObjectValue | None = None
    """The last good version; None when there is no object."""
    as_of: Seconds = Seconds(0.0)
    """When the request began that confirmed this last."""
    proven: Mark = NO_MARK
    """What is known is no older than the reference of this mark."""
    broken: str = ""
    """What is wrong with the newest version, if that is not ``value``."""
    trouble: str = ""
    """Why the last fetch failed; empty when it did not."""
    is_contested: bool = False
    """The API server's cache says otherwise, or knows nothing, of what is known here."""

    @property
    def error(self) -> str:
        """What is wrong at present."""
        return self.trouble or self.broken

    def is_fresh_for(self, read: ReadObject, now: Seconds) -> bool:
        """Return whether ``read`` may be answered with ``value``, without a fetch.

        An absent or broken object is always asked for anew (rule T5).
        """
        if self.value is None or self.broken or self.is_contested:
            return False
        return read.mark <= self.proven and now < self.as_of + read.time_to_live

    def needs_etcd(self, reads: Iterable[ReadObject]) -> bool:
        """Return whether the API server's cache is not good enough for any of ``reads`` (rule T6)."""
        if self.value is None or self.broken or self.is_contested:
            return True
        return any(read.mark > self.proven for read in reads)

    def learn(self, fetch: Fetch, finding: Finding) -> bool:
        """Take in what a fetch found; return False if the same must be asked of etcd.

        What is known outlasts failures, and so does a good version one that is broken.
        """
        if isinstance(finding, Setback) and finding.verdict is not ReadVerdict.UNUSABLE:
            self.trouble = finding.reason
            return True
        self.is_contested = not fetch.from_etcd and not self._is_continued_by(finding)
        if self.is_contested:
            return False
        self.trouble = ""
        if isinstance(finding, Setback):
            self.broken = finding.reason
            return True
        self.is_known, self.broken, self.as_of = True, "", fetch.begun
        if fetch.from_etcd:
            self.proven = max(self.proven, fetch.mark)
        if finding is None or self.value is None or not _is_same(finding, self.value):
            self.value = finding
        return True

    def _is_continued_by(self, finding: Finding) -> bool:
        if not isinstance(finding, ObjectValue) or self.value is None:
            return False
        return not is_older(finding.resource_version, than=self.value.resource_version)

    def current(self) -> Answer:
        """Return the answer of a fetch that succeeded."""
        if self.value is None:
            return Answer(ReadVerdict.NOT_FOUND, reason="there is no such object")
        return Answer(ReadVerdict.FOUND, self.value)

    def last_known(self, now: Seconds, setback: Setback) -> Answer:
        """Return the answer of a read that ``setback`` kept from a current one (rule T9, quirk K24)."""
        age = Seconds(now - self.as_of)
        if self.value is not None:
            return Answer(ReadVerdict.STALE, self.value, age, setback.reason)
        if self.is_known and not self.broken:
            return Answer(ReadVerdict.NOT_FOUND, age=age, reason=setback.reason)
        return Answer(setback.verdict, reason=setback.reason)


def request_for(wanted: ObjectId, *, from_etcd: bool) -> ApiRequest:
    """Return the request for an object, out of etcd or out of the API server's cache."""
    return ApiRequest(
        verb=Verb.GET,
        path=object_path(wanted),
        query={} if from_etcd else {"resourceVersion": "0"},
    )


def found(outcome: JsonObject | ApiFailure, wanted: ObjectId) -> Finding:
    """Return what the answer of a request says of the object."""
    if isinstance(outcome, ApiFailure):
        match outcome.kind:
            case FailureKind.NOT_FOUND:
                return None
            case FailureKind.FORBIDDEN:
                return Setback(ReadVerdict.FORBIDDEN, outcome.sentence)
            case _:
                return Setback(ReadVerdict.NOT_SYNCED, outcome.sentence)
    try:
        return object_value(outcome, wanted)
    except UnusableObjectError as error:
        return Setback(ReadVerdict.UNUSABLE, str(error))


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
