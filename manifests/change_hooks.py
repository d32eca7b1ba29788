"""Change hooks: the annotation that says what to do when a Secret or ConfigMap that a pod references changes.

The forms are ``none``, ``restart`` and ``signal:SIGHUP``; each may end in ``,splay=30s``. Annotations
belong to their owners, so no sentence of this module quotes one.
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from typing import Final, NamedTuple

from manifests.references import Use
from manifests.times import parse_duration
from messages.objects import ChangeAction
from messages.units import Seconds

ON_OBJECT_CHANGE: Final = "actorlet/on-object-change"
ROLLOUT_GROUP: Final = "actorlet/rollout-group"
"""Pods of one namespace with the same value are restarted one container at a time, on each node."""

MAX_SPLAY = Seconds(3600.0)
"""A change that arrives later than in an hour is surely not meant."""

_FORMS = "should be none, restart or signal:SIGHUP, and may end in ,splay=30s"
_NEVER_HANDLED = frozenset({"SIGKILL", "SIGSTOP"})
"""A signal tells a program to read its files again, and no program can handle these two."""

_CARRIERS: Final = {
    ChangeAction.SIGNAL: frozenset({Use.VOLUME}),
    ChangeAction.RESTART: frozenset({Use.VOLUME, Use.PART, Use.START}),
}
"""How a change can reach a program: one that runs sees it in files of a volume only; one that is started
again also in what it starts with."""


class ChangeHook(NamedTuple):
    """What to do about a change."""

    action: ChangeAction
    signal: str
    """Such as ``SIGHUP``; empty for a restart."""
    splay: Seconds
    """The longest delay. Each pod waits a random part of it, so that not all pods do it at once."""

    def concerns(self, uses: Collection[Use]) -> bool:
        """Return whether a change of an object can reach a pod that needs it for ``uses``."""
        return not _CARRIERS[self.action].isdisjoint(uses)


class ChangeHookError(ValueError):
    """An annotation that cannot be read. The text is the end of a sentence that begins with its name."""


def change_hook(value: str) -> ChangeHook | None:
    """Return what the annotation asks for; None for nothing. Raises ``ChangeHookError``.

    Spaces around the parts do not matter. Signals are those that this operating system names.
    """
    action, comma, option = (part.strip() for part in value.partition(","))
    if not action and not comma:
        return None
    splay = _splay(option) if comma else Seconds(0.0)
    form, colon, name = (part.strip() for part in action.partition(":"))
    match form, colon:
        case "none", "":
            return None
        case "restart", "":
            return ChangeHook(ChangeAction.RESTART, "", splay)
        case "signal", ":":
            return ChangeHook(ChangeAction.SIGNAL, _signal(name), splay)
        case _:
            raise ChangeHookError(_FORMS)


def _signal(name: str) -> str:
    if name in _NEVER_HANDLED:
        raise ChangeHookError(
            f"should not name {name}, which no program can handle: say restart instead"
        )
    if name not in signal.Signals.__members__:
        raise ChangeHookError("should name a signal as POSIX does, such as SIGHUP or SIGUSR1")
    return name


def _splay(option: str) -> Seconds:
    name, _, span = (part.strip() for part in option.partition("="))
    if name != "splay":
        raise ChangeHookError(_FORMS)
    try:
        splay = parse_duration(span)
    except ValueError as error:
        raise ChangeHookError(f"has a splay that {error}") from None
    if not 0 <= splay <= MAX_SPLAY:
        raise ChangeHookError("has a splay that should be between 0s and 1h")
    return splay
