"""What to do next about the mirror of one name, and how long to wait for it. Pure.

``next_step`` depends on the present state and not on events. So it can be asked again after every change
and every answer, and it returns at most one call. Replacing a mirror takes two steps: after the deletion
there is no mirror, so the next step is to create one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from actors.mirrors.pod import can_be_shown, is_owned_by, shows
from kernel import Backoff
from messages.api import ApiFailure, FailureKind
from messages.node import NodeIs
from messages.pods import FILE, HTTP, Pod, PodUid, SourceName
from messages.units import Seconds

STATIC_SOURCES = frozenset({FILE, HTTP})
"""All sources of static pods, whether or not this agent is configured to use them."""

CREATION_WINDOW = Seconds(10.0)
CREATION_LIMIT = 6
"""How often one version of a mirror is created within the window, the first time included. So somebody who
deletes it again and again costs less than a request a second, and otherwise nothing waits."""

EDIT_PAUSE = Seconds(1.0)
"""How long an edit of a manifest is shown before the next one. Edits within that time are shown as one, when
it is over, and the mirror of the earlier version stays until then."""

SOURCES_WITHIN = Seconds(5.0)
"""How long a start waits for all static sources before it asks which source each orphan came from."""

LAG_LIMIT = Seconds(5.0)
"""How long an answer is believed before the watch shows the same. Doubled each time that a look confirms
it, since the watch may be down for hours."""
LAG_LIMIT_CAP = Seconds(300.0)

NAME_BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(20.0), jitter=Seconds(0.5))
"""While the namespace is missing or the name is taken: both can end at any moment."""
REFUSAL_BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(300.0), jitter=Seconds(1.0))
"""While the API server refuses the pod: somebody has to change something."""


class NoCall(Enum):
    """No call is needed."""

    NOTHING = auto()
    """The mirror is as it should be, or nothing can be done about it."""
    NO_NODE = auto()
    """There is no Node to own a mirror. Earlier verdicts stay."""
    REFUSED = auto()
    """There is no mirror, and API servers would refuse one."""


class Ask(Enum):
    """A question, since what is known is in doubt."""

    LOOK = auto()
    """Get the pod of this name from the API server."""


@dataclass(frozen=True, slots=True)
class CreateMirror:
    """Create the mirror of this pod, owned by this Node."""

    static: Pod
    node: NodeIs


@dataclass(frozen=True, slots=True)
class DeleteMirror:
    """Delete the pod of this UID."""

    uid: PodUid


Step: TypeAlias = NoCall | Ask | CreateMirror | DeleteMirror

NOTHING, NO_NODE, REFUSED, LOOK = NoCall.NOTHING, NoCall.NO_NODE, NoCall.REFUSED, Ask.LOOK


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSources:
    """The static sources: which are configured, and which have listed."""

    configured: AbstractSet[SourceName]
    listed: AbstractSet[SourceName]
    are_late: bool = False
    """The rest may never list, so it is worth asking which source an orphan came from."""

    @property
    def all_listed(self) -> bool:
        """Whether all configured sources have listed, so that an untold pod is wanted by none."""
        return self.configured <= self.listed

    def has_dropped(self, origin: str) -> bool:
        """Return whether the source called ``origin`` has listed, or is not configured."""
        return origin in STATIC_SOURCES - (self.configured - self.listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSituation:
    """Everything that a decision about one name depends on."""

    static: Pod | None
    """The static pod that is served under it."""
    mirrors: Collection[Pod]
    """The mirrors of this node under it. More than one are a contradiction."""
    node: NodeIs | None
    """The Node; None while it is unknown or gone."""
    sources: StaticSources
    origin: str | None = None
    """The source that the mirror names at the API server; None if no look asked yet. Pods from the watch do
    not have it: their source is written as ``api``."""
    is_in_doubt: bool = False
    """An answer was lost, or contradicts what is known."""


def next_step(now: MirrorSituation) -> Step:
    """Return the one call to make next (rules M4-M7, M11-M15, M19)."""
    if now.is_in_doubt or len(now.mirrors) > 1:
        return LOOK
    mirror = next(iter(now.mirrors), None)
    if mirror is not None and mirror.is_deleting:
        # Nobody else will finish it: a graceful deletion waits for the node.
        return DeleteMirror(mirror.uid)
    if now.static is None:
        return NOTHING if mirror is None else orphan_step(mirror, now)
    node = usable(now.node)
    if mirror is not None and is_right(mirror, now.static, node):
        return NOTHING
    if not can_be_shown(now.static):
        # An existing mirror shows it as it was before it referenced anything.
        return REFUSED if mirror is None else DeleteMirror(mirror.uid)
    if node is None:
        return NO_NODE
    return CreateMirror(now.static, node) if mirror is None else DeleteMirror(mirror.uid)


def orphan_step(mirror: Pod, now: MirrorSituation) -> Step:
    """Return what to do about a mirror that no static pod is served for.

    The mirrors of a source that has not listed are left alone: it may still tell their pods.
    """
    if now.sources.all_listed:
        return DeleteMirror(mirror.uid)
    if now.origin is None:
        return LOOK if now.sources.are_late else NOTHING
    return DeleteMirror(mirror.uid) if now.sources.has_dropped(now.origin) else NOTHING


def usable(node: NodeIs | None) -> NodeIs | None:
    """Return the Node if it can own a mirror (rules M4 and M7), else None."""
    return node if node is not None and node.uid and not node.is_deleting else None


def is_right(mirror: Pod, static: Pod, node: NodeIs | None) -> bool:
    """Return whether ``mirror`` can stay. Without a Node its owner is not judged."""
    return (
        not mirror.is_deleting
        and shows(mirror, static)
        and (node is None or is_owned_by(mirror, node.uid))
    )


def has_right_mirror(now: MirrorSituation) -> bool:
    """Return whether the static pod has the right mirror, as far as is known."""
    if now.static is None or now.is_in_doubt or len(now.mirrors) != 1:
        return False
    return all(is_right(mirror, now.static, usable(now.node)) for mirror in now.mirrors)


def creation_delay(creations: Sequence[Seconds], now: Seconds) -> Seconds:
    """Return how long the next creation has to wait. ``creations`` are the last ones, oldest first."""
    if len(creations) < CREATION_LIMIT:
        return Seconds(0.0)
    return Seconds(max(0.0, creations[-CREATION_LIMIT] + CREATION_WINDOW - now))


def edit_delay(shown: Seconds | None, now: Seconds) -> Seconds:
    """Return how long the next edit has to wait; the last one was ``shown`` then, or none was."""
    return Seconds(0.0) if shown is None else Seconds(max(0.0, shown + EDIT_PAUSE - now))


def is_replacement(mirrors: Collection[Pod], static: Pod) -> bool:
    """Return whether deleting ``mirrors`` only makes room for this version of ``static``.

    So they may stay a little longer: nobody else deletes them, and what they show was right before.
    """
    return can_be_shown(static) and not any(
        mirror.is_deleting or shows(mirror, static) for mirror in mirrors
    )


_UNCERTAIN = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.MALFORMED,
        FailureKind.SERVER_ERROR,
    }
)


def may_have_happened(failure: ApiFailure) -> bool:
    """Return whether the request may have had its effect in spite of ``failure``."""
    return failure.kind in _UNCERTAIN


def lag_limit(confirmations: int) -> Seconds:
    """Return how long to believe an answer that ``confirmations`` looks confirmed and no watch showed."""
    return min(LAG_LIMIT_CAP, Seconds(LAG_LIMIT * 2.0 ** min(confirmations, 10)))
