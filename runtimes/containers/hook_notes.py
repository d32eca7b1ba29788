"""What is remembered of the hooks of one pod's containers, and the steps that a plan takes with them. Pure.

Most pods have no hooks, and nothing is remembered for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from messages.units import Seconds
from runtimes.lifecycle_hooks.messages import HookKind

LONGEST_POST_START: Final = Seconds(86_400.0)
"""A kubelet waits for ever. After a day it counts as failed."""
ASK_AGAIN_AFTER: Final = Seconds(5.0)
"""How often who carries a hook out is told of it: a crash may have lost that, or the answer."""
LATE: Final = Seconds(2.0)
"""How long after its deadline the end of a hook is still waited for. It is told at the deadline."""


@dataclass(slots=True)
class HookRun:
    """How one hook of one instance stands. It is called once for an instance."""

    until: Seconds = Seconds(0.0)
    """When it is given up, by the monotonic clock. It only ever gets earlier."""
    asked_at: Seconds | None = None
    """When somebody was last told to carry it out; None if it is due."""
    is_over: bool = False
    failure: str = ""
    """Why it failed; empty if it did not, or not yet."""

    @property
    def ask_again_at(self) -> Seconds:
        """When its end is asked for once more."""
        return Seconds((self.asked_at or 0.0) + ASK_AGAIN_AFTER)

    @property
    def has_succeeded(self) -> bool:
        """Whether it is over and did not fail."""
        return self.is_over and not self.failure


HookKey: TypeAlias = tuple[str, HookKind]
"""The id of an instance, and which of its hooks."""


class HookStep(NamedTuple):
    """A hook is to be called, or to be given less time."""

    target: str
    """The name of the container."""
    container_id: str
    kind: HookKind
    within: Seconds
    """From now on."""
    is_call: bool
    """Whether it is called, perhaps once more. Otherwise it is in progress, and gets less time."""
    why: str = ""
    """For people: why the container is stopped."""
    replaces: str = ""
    """As of a ``Step``."""

    @property
    def key(self) -> HookKey:
        """Which hook it is."""
        return self.container_id, self.kind
