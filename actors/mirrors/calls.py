"""MirrorKeeper's calls: what each is for, and what is logged of it.

This is a part of MirrorKeeper, and lives as long as one life of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from actors.bounded_calls import BoundedCalls
from actors.mirrors.deadlines import OutageOver
from actors.mirrors.index import MirrorRecord
from actors.mirrors.plan import CreateMirror, DeleteMirror, Step
from kernel import Timer
from messages.api import ApiAnswered, ApiFailure, ApiRequest, CallApi
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

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
        waiting = "mirror pods have to wait for the API server"
        self._calls = BoundedCalls[MirrorCall, OutageOver](port, after, OutageOver(), _log, waiting)

    @property
    def has_room(self) -> bool:
        """Whether one more call may be made."""
        return self._calls.has_room

    def send(
        self, record: MirrorRecord, step: Step, request: ApiRequest, reply_to: Port[ApiAnswered]
    ) -> None:
        """Send the call for ``step``; the answer goes to ``reply_to``."""
        record.is_asking = True
        self._calls.send(MirrorCall(record, step), request, reply_to)

    def take(self, answer: ApiAnswered) -> MirrorCall | None:
        """Return the call that ``answer`` is for; None for a late answer."""
        call = self._calls.take(answer)
        if call is not None:
            call.record.is_asking = False
        return call

    def note_outage(self, failure: ApiFailure) -> None:
        """Send no calls for a while."""
        self._calls.note_outage(failure)

    def end_pause(self) -> None:
        """Let the next call be sent."""
        self._calls.end_pause()

    def note_answer(self, call: MirrorCall, outcome: JsonObject | ApiFailure) -> None:
        """Log what was done. An outage is over, since the API server answers."""
        match call.step:
            case CreateMirror() if not isinstance(outcome, ApiFailure):
                _log.info("created mirror pod", mirror=call.record.full_name)
            case DeleteMirror(uid=uid) if not isinstance(outcome, ApiFailure):
                _log.info("deleted mirror pod", mirror=call.record.full_name, uid=uid)
            case _:
                pass
        self._calls.note_answer()
