"""MirrorKeeper's calls: how many may be in flight, and outages of the API server.

An outage concerns all names. While it lasts, one call is tried from time to time, for whichever name is
next, and the other names wait. This is a part of MirrorKeeper, and lives as long as one life of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from actors.mirrors.deadlines import OutageOver
from actors.mirrors.index import MirrorRecord
from actors.mirrors.plan import OUTAGE_BACKOFF, CreateMirror, DeleteMirror, Step, pause
from actors.pending_calls import PendingCalls
from kernel import Timer
from messages.api import ApiAnswered, ApiFailure, ApiRequest, CallApi
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

IN_FLIGHT_LIMIT = 16
"""Calls in flight. So a thousand mirrors at a start leave room for the agent's other calls."""

_log = structlog.get_logger("mirror-keeper")


@dataclass(frozen=True, slots=True)
class MirrorCall:
    """What a call is for."""

    record: MirrorRecord
    step: Step


class MirrorCalls:
    """The calls that are in flight."""

    def __init__(
        self, port: Port[CallApi], after: Callable[[Seconds, ApiAnswered | OutageOver], Timer]
    ) -> None:
        self._after = after
        self._pending = PendingCalls[MirrorCall](port, after)
        self._outage_len = 0
        """How many attempts in a row did not reach the API server."""
        self._pause: Timer | None = None

    @property
    def has_room(self) -> bool:
        """Whether one more call may be made."""
        if self._pause is not None:
            return False
        return len(self._pending) < (1 if self._outage_len else IN_FLIGHT_LIMIT)

    def send(
        self, record: MirrorRecord, step: Step, request: ApiRequest, reply_to: Port[ApiAnswered]
    ) -> None:
        """Send the call for ``step``; the answer goes to ``reply_to``."""
        record.is_asking = True
        self._pending.send(MirrorCall(record, step), request, reply_to)

    def take(self, answer: ApiAnswered) -> MirrorCall | None:
        """Return the call that ``answer`` is for; None for a late answer."""
        call = self._pending.take(answer)
        if call is not None:
            call.record.is_asking = False
        return call

    def note_outage(self, failure: ApiFailure) -> None:
        """Send no calls for a while. Failures of calls that were in flight belong to the same outage."""
        if self._pause is not None:
            return
        if not self._outage_len:
            _log.warning("mirror pods have to wait for the API server", error=failure.sentence)
        self._outage_len += 1
        self._pause = self._after(pause(OUTAGE_BACKOFF, self._outage_len, failure), OutageOver())

    def end_pause(self) -> None:
        """Let the next call be sent."""
        self._pause = None

    def note_answer(self, call: MirrorCall, outcome: JsonObject | ApiFailure) -> None:
        """Log what was done. An outage is over, since the API server answers."""
        match call.step:
            case CreateMirror() if not isinstance(outcome, ApiFailure):
                _log.info("created mirror pod", mirror=call.record.full_name)
            case DeleteMirror(uid=uid) if not isinstance(outcome, ApiFailure):
                _log.info("deleted mirror pod", mirror=call.record.full_name, uid=uid)
            case _:
                pass
        self._outage_len = 0
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
