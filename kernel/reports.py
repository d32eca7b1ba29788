"""What the tree reports of its endings, restarts and failed loops: to the log, counts, observers and health.

A loop is a child in the fixed part of the tree. All dynamic children of one supervisor together are one loop,
too: one bad object does no harm to the others, and must not make the agent unhealthy, or have it restarted.
Which loops count as failed is computed on the control thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from kernel.endings import Ended, EndReason
from kernel.telemetry import Telemetry
from messages.units import Seconds

EndingsObserver: TypeAlias = Callable[[Ended], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatus:
    """How an actor or supervisor is that has failed."""

    name: str
    state: str
    """``backoff``, ``failed`` if it fails too often, ``running``, or ``gone`` if nobody wants it any more."""
    restarts: int
    error: str
    """Why it failed last, on one line."""


StatusesObserver: TypeAlias = Callable[[ActorStatus], None]

_log = structlog.get_logger("kernel")


class Reports:
    """Takes reports from supervisors and their children, on the control thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._observers: list[EndingsObserver] = []
        self._status_observers: list[StatusesObserver] = []
        self._troubled: set[str] = set()
        """Names of those that have failed and do not run again yet."""

    def observe_endings(self, observer: EndingsObserver) -> None:
        """Have ``observer`` called with each ending. An exception that it raises is only logged."""
        self._observers.append(observer)

    def observe_statuses(self, observer: StatusesObserver) -> None:
        """Have ``observer`` called whenever the status of an actor that failed changes."""
        self._status_observers.append(observer)

    def troubled(self, status: ActorStatus) -> None:
        """Tell the observers that somebody failed and will be started again."""
        self._troubled.add(status.name)
        self._tell(status)

    def well(self, name: str, state: str, restarts: int) -> None:
        """Tell the observers that somebody who had failed runs again, or is gone. Does nothing for others."""
        if name in self._troubled:
            self._troubled.discard(name)
            self._tell(ActorStatus(name=name, state=state, restarts=restarts, error=""))

    def _tell(self, status: ActorStatus) -> None:
        for observer in self._status_observers:
            try:
                observer(status)
            except Exception:  # noqa: BLE001  # supervision goes on, whatever an observer raises
                _log.exception("observer of statuses failed", actor=status.name)

    def ended(self, ended: Ended) -> None:
        """Log an ending, failures as errors, and call the observers with it."""
        if ended.reason is EndReason.FAILED:
            _log.error(
                "actor failed",
                actor=ended.name,
                incarnation=ended.incarnation,
                hook=ended.hook,
                message=ended.message,
                error=ended.error,
                **({"exception": ended.details} if ended.details else {}),
            )
        else:
            _log.debug("actor ended", actor=ended.name, reason=ended.reason)
        for observer in self._observers:
            try:
                observer(ended)
            except Exception:  # noqa: BLE001  # endings go on, whatever an observer raises
                _log.exception("observer of endings failed", actor=ended.name)

    def restarted(self, name: str, reason: EndReason, delay: Seconds) -> None:
        """Count and log that the actor ``name`` is started again in ``delay`` seconds."""
        self._telemetry.meter(name.partition("/")[0]).restarted(reason)
        _log.info("actor restarts", actor=name, after=reason, delay=round(delay, 3))

    def gave_up(self, name: str, why: str) -> None:
        """Log that the supervisor ``name`` stops its children and fails."""
        _log.error("supervisor gives up", actor=name, why=why)

    def abandoned(self, name: str, why: str, stack: str) -> None:
        """Log that nobody waits for an incarnation of ``name`` any more.

        ``stack`` is where its thread hangs; empty when that is not known.
        """
        _log.error("actor abandoned", actor=name, why=why, stack=stack)


FailedLoopsObserver: TypeAlias = Callable[[frozenset[str]], None]

FEWEST_FAILING: Final = 5
"""Fewer failing dynamic children count as failing each for a reason of its own, and not for one that all of
them share. A guess."""


def are_most_failing(failed: int, members: int) -> bool:
    """Return whether the dynamic children of a supervisor count as a failed loop.

    They do when more than half of the ``members``, and at least ``FEWEST_FAILING``, ``failed`` too often:
    then something that all of them need must be failing.
    """
    return failed >= FEWEST_FAILING and failed > members / 2


def dynamic_loop_name(supervisor: str) -> str:
    """Return the name of the loop that the children of a dynamic supervisor are together."""
    return f"{supervisor}/*"


class FailedLoops:
    """The names of the failed loops, and the observers who are told of them."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._observers: list[FailedLoopsObserver] = []

    def observe(self, observer: FailedLoopsObserver) -> None:
        """Call ``observer`` with all names whenever they change."""
        self._observers.append(observer)

    def note(self, name: str, *, failed: bool) -> None:
        """Note that the loop ``name`` failed too often, or is well again. May be repeated."""
        if failed == (name in self._names):
            return
        self._names = self._names | {name} if failed else self._names - {name}
        for observer in self._observers:
            observer(self._names)

    def __contains__(self, name: str) -> bool:
        """Whether the loop ``name`` counts as failed, even if it runs at this moment."""
        return name in self._names
