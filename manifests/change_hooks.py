"""What a pod wants done when a Secret or ConfigMap that it references changes: its annotation.

The forms are ``none``, ``restart`` and ``signal:SIGHUP``; each may end in ``,splay=30s``. Annotations
belong to their owners, so that no sentence of this module quotes one.
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from typing import Final, NamedTuple

from manifests.durations import parse_duration
from manifests.references.pods import Use
from messages.objects import ChangeAction
from messages.units import Seconds

ON_OBJECT_CHANGE: Final = "actorlet/on-object-change"

MAX_SPLAY = Seconds(3600.0)
"""Who wants a change to arrive later than in an hour has something else in mind."""

_FORMS = "should be none, restart or signal:SIGHUP, and may end in ,splay=30s"
_NEVER_HANDLED = frozenset({"SIGKILL", "SIGSTOP"})
"""A signal is for a program that reads its files again, and these two never reach one."""

_CARRIERS: Final = {
    ChangeAction.SIGNAL: frozenset({Use.VOLUME}),
    ChangeAction.RESTART: frozenset({Use.VOLUME, Use.START}),
}
"""How a change gets to a program: to one that runs by the files of a volume alone, to one that is started
again by what it starts with as well."""


class ChangeHook(NamedTuple):
    """What is to be done about a change."""

    action: ChangeAction
    signal: str
    """Such as ``SIGHUP``; empty for a restart."""
    splay: Seconds
    """It may be done so much later: a random part of it, so that not all pods do it at once."""

    def concerns(self, uses: Collection[Use]) -> bool:
        """Return whether a pod that needs an object for ``uses`` can see what became of a change of it."""
        return not _CARRIERS[self.action].isdisjoint(uses)


class ChangeHookError(ValueError):
    """An annotation that says nothing; the text is the end of a sentence that begins with its name."""


def change_hook(value: str) -> ChangeHook | None:
    """Return what the annotation asks for; None when that is nothing. Raises ``ChangeHookError``.

    Spaces around the parts do not matter. Signals are those that this system has names for.
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
