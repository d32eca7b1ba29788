"""What the tree reports of its endings and restarts: to the log, to the counts, and to observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

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
