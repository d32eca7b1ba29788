"""What to do next about the mirror of one name, and how long to wait for it. Pure.

``next_step`` looks at how things are, never at what happened: it can be asked again whenever anything
changed and after every answer, and it asks for at most one call at a time. Replacing a mirror is
therefore no step of its own: after the deletion there is none, and the next step is to create one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import TypeAlias

from actors.mirrors.pod import can_be_shown, is_owned_by, shows
from actors.outages import NOT_ASKED
from kernel import Backoff
from messages.api import ApiFailure, FailureKind
from messages.node import NodeIs
from messages.pods import FILE, HTTP, Pod, PodUid, SourceName
from messages.units import Seconds

STATIC_SOURCES = frozenset({FILE, HTTP})
"""Where static pods can come from, whether or not this agent is configured to take them from there."""

CREATION_WINDOW = Seconds(10.0)
CREATION_LIMIT = 6
"""A mirror is created at most this often within the window, the first time included: who deletes it
again and again costs less than a request a second, and everybody else never waits."""

SOURCES_WITHIN = Seconds(5.0)
"""How long all static sources are waited for at a start, before looking whose each orphan is."""

LAG_LIMIT = Seconds(5.0)
"""How long what an answer said is believed before the watch shows it. Doubled each time that a look
confirms it, since the watch may be down for hours."""
LAG_LIMIT_CAP = Seconds(300.0)

OUTAGE_BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(7.0), jitter=Seconds(0.5))
"""One request for all names together, so it can be as patient as the Node's are (rule N1)."""
NAME_BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(20.0), jitter=Seconds(0.5))
"""While the namespace is missing or the name is taken: both can end any moment."""
REFUSAL_BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(300.0), jitter=Seconds(1.0))
"""While the API server does not accept the pod: somebody has to change something."""


class Idle(Enum):
    """No call is needed."""

    NOTHING = auto()
    """All is as it should be, or nothing can be done about it."""
    NO_NODE = auto()
    """There is no Node to own a mirror. What is known of earlier tries stands."""
    REFUSED = auto()
    """There is no mirror, and an API server would refuse each."""


class Ask(Enum):
    """What is known is in doubt."""

    LOOK = auto()
    """Get the pod of this name from the API server."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create the mirror of this pod, owned by this Node."""

    static: Pod
    node: NodeIs


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the pod of this UID."""

    uid: PodUid


Step: TypeAlias = Idle | Ask | Create | Delete

NOTHING, NO_NODE, REFUSED, LOOK = Idle.NOTHING, Idle.NO_NODE, Idle.REFUSED, Ask.LOOK


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The static sources: which there are, and which have said what they want to run."""

    configured: AbstractSet[SourceName]
    listed: AbstractSet[SourceName]
    are_late: bool = False
    """Those that have not listed by now may never: it is worth asking whose an orphan is."""

    @property
    def all_listed(self) -> bool:
        """Whether a pod that nobody told is wanted by nobody."""
        return self.configured <= self.listed

    def has_dropped(self, origin: str) -> bool:
        """Whether the source called ``origin`` will not tell a pod that it has not told by now."""
        return origin in STATIC_SOURCES - (self.configured - self.listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that matters about one name."""

    static: Pod | None
    """The static pod that is served under it."""
    mirrors: Collection[Pod]
    """The mirrors of this node that have it: one, as far as is known. Two are a contradiction."""
    node: NodeIs | None
    """The Node, None when it is unknown or gone."""
    sources: Sources
    origin: str | None = None
    """Of which source the mirror says at the API server that it came; None if nobody asked yet. What
    the watch tells does not have it: pod managers write ``api`` there."""
    is_in_doubt: bool = False
    """An answer was lost, or contradicts what is known."""


def next_step(now: Situation) -> Step:
    """Return the one call to make next (rules M4-M7, M11-M15, M19)."""
    if now.is_in_doubt or len(now.mirrors) > 1:
        return LOOK
    mirror = next(iter(now.mirrors), None)
    if mirror is not None and mirror.is_deleting:
        # Nobody else will finish it: a graceful deletion waits for the node's word.
        return Delete(mirror.uid)
    if now.static is None:
        return NOTHING if mirror is None else orphan_step(mirror, now)
    node = usable(now.node)
    if mirror is not None and is_right(mirror, now.static, node):
        return NOTHING
    if not can_be_shown(now.static):
        # What there is shows it as it was before it referenced anything.
        return REFUSED if mirror is None else Delete(mirror.uid)
    if node is None:
        return NO_NODE
    return Create(now.static, node) if mirror is None else Delete(mirror.uid)


def orphan_step(mirror: Pod, now: Situation) -> Step:
    """Return what to do about a mirror that no static pod is served for.

    A source that has not listed may want to run that pod still, so its mirrors are left alone.
    """
    if now.sources.all_listed:
        return Delete(mirror.uid)
    if now.origin is None:
        return LOOK if now.sources.are_late else NOTHING
    return Delete(mirror.uid) if now.sources.has_dropped(now.origin) else NOTHING


def usable(node: NodeIs | None) -> NodeIs | None:
    """Return the Node if it can own a mirror (rules M4 and M7), else None."""
    return node if node is not None and node.uid and not node.is_deleting else None


def is_right(mirror: Pod, static: Pod, node: NodeIs | None) -> bool:
    """Return whether ``mirror`` is to stay. Without a Node its owner cannot be judged."""
    return (
        not mirror.is_deleting
        and shows(mirror, static)
        and (node is None or is_owned_by(mirror, node.uid))
    )


def has_right_mirror(now: Situation) -> bool:
    """Return whether the static pod is shown as it should be, as far as is known."""
    if now.static is None or now.is_in_doubt or len(now.mirrors) != 1:
        return False
    return all(is_right(mirror, now.static, usable(now.node)) for mirror in now.mirrors)


def creation_delay(creations: Sequence[Seconds], now: Seconds) -> Seconds:
    """Return how long to wait with the next creation, given when the last ones were, oldest first."""
    if len(creations) < CREATION_LIMIT:
        return Seconds(0.0)
    return Seconds(max(0.0, creations[-CREATION_LIMIT] + CREATION_WINDOW - now))


_UNCERTAIN = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.MALFORMED,
        FailureKind.SERVER_ERROR,
    }
)


def is_outage(failure: ApiFailure) -> bool:
    """Return whether it says nothing about the mirror: the API server could not be asked.

    A 500 is none: it is what a webhook that must answer, and does not, makes of one kind of request.
    """
    return failure.kind in NOT_ASKED and failure.status != HTTPStatus.INTERNAL_SERVER_ERROR


def may_have_happened(failure: ApiFailure) -> bool:
    """Return whether what was requested may have been done in spite of it."""
    return failure.kind in _UNCERTAIN


def pause(backoff: Backoff, failures: int, failure: ApiFailure | None = None) -> Seconds:
    """Return how long to wait after ``failures`` in a row, or longer if the server wishes so."""
    wished = failure.retry_after if failure is not None and failure.retry_after else Seconds(0.0)
    return max(backoff.delay(failures), wished)


def lag_limit(confirmations: int) -> Seconds:
    """Return how long to believe an answer that so many looks confirmed and no watch showed."""
    return min(LAG_LIMIT_CAP, Seconds(LAG_LIMIT * 2.0 ** min(confirmations, 10)))
