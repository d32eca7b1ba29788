"""Whether the runtime is there: it is greeted until it answers, and given up when it does not any more."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import structlog

from kernel import Alarm, Operation
from messages.container_runtime import (
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeIsAway,
)
from messages.units import Seconds
from runtimes.cri.messages import NOT_ASKED, CheckHealth, Connect, LookAgain, Purpose
from runtimes.cri.operations.flow import one_line
from runtimes.cri.operations.looking import Greeting, greet
from runtimes.cri.pleg import EventStream, Pleg
from runtimes.cri.running_operations import RunningOperations, RuntimeFollowers

TRY_AGAIN_AFTER: Final = Seconds(0.1)
"""While the runtime is away. A connection to a socket of this machine costs nothing."""
UNANSWERED: Final = 2
"""So many questions in a row after its health that a runtime leaves unanswered before it counts as away."""
LONGEST_REASON: Final = 300
"""Characters of why it is away: what people read in a log line or in a condition of the Node."""
MOST_REASONS: Final = 10
"""Of one outage. A runtime that says something else each time is not told about each time."""

_log = structlog.get_logger("runtime")


class RuntimeConnection:
    """Greets the runtime, and says when it is there and when and why it is away.

    An outage is one line of the log; each of its reasons is told once to followers. After a loss the stream
    of events is opened anew, and all that is there is looked at before anybody is told that the runtime is
    back.
    """

    def __init__(
        self,
        followers: RuntimeFollowers,
        operations: RunningOperations,
        stream: EventStream,
        pleg: Pleg,
        begin: Callable[[Purpose, Operation[Any]], None],
        next_attempt: Alarm,
    ) -> None:
        """``next_attempt`` rings when ``due`` is to be called."""
        self._memory = followers.memory
        self._followers = followers
        self._operations = operations
        self._stream = stream
        self._pleg = pleg
        self._begin = begin
        self._next_attempt = next_attempt
        self._unanswered = 0

    def start(self) -> None:
        """Go on in a new life: what the one before was asking for itself is asked once more."""
        self._operations.drop_own()
        if self._memory.away:
            self._stream.close()
            self._connect()
        else:
            self._stream.open()
            self._pleg.start()

    def due(self) -> None:
        """Try again, unless that is under way: the time for that has come."""
        if self._memory.away and not any(map(_is_attempt, self._operations.own())):
            self._connect()

    def check(self) -> None:
        """Ask how the runtime is, unless that is being asked, or the runtime is away."""
        if not self._memory.away and not self._is_asking(CheckHealth):
            self._begin(CheckHealth(), greet())

    def greeted(self, result: object) -> None:
        """Take what came of a greeting."""
        if isinstance(result, Greeting):
            self._memory.greeting = result
            self._unanswered = 0
            self._stream.open()
            self._pleg.start()
            return
        if isinstance(result, RuntimeFailure):
            is_sure = result.kind is RuntimeFailureKind.UNSUPPORTED
            self._say_away(result.message, is_sure=is_sure)
        self._try_again()

    def checked(self, result: object) -> bool:
        """Take what came of a question after its health. Return whether the runtime is another one now."""
        memory = self._memory
        if isinstance(result, Greeting):
            before, memory.greeting = memory.greeting, result
            self._unanswered = 0
            return before is not None and before.name != result.name
        if isinstance(result, RuntimeFailure) and not memory.away:
            self._unanswered += 1
            is_sure = result.kind is RuntimeFailureKind.UNSUPPORTED
            if is_sure or self._unanswered >= UNANSWERED:
                self.lose(result.message, is_sure=is_sure)
        return False

    def lose(self, message: str, *, is_sure: bool = False) -> None:
        """Begin anew: the runtime cannot be asked, or does not answer.

        ``is_sure`` says that it answers, and that it will not be of use before somebody changes it.
        """
        self._say_away(message, is_sure=is_sure)
        self._stream.close()
        self._operations.drop_own()
        self._try_again()

    def is_there(self) -> None:
        """Tell that the runtime can be used: everything was seen."""
        memory = self._memory
        memory.away = ""
        memory.reasons.clear()
        there = self._followers.tell_everything()
        _log.info("the container runtime is there", runtime=there.name, version=there.version)

    # --- inside ----------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._begin(Connect(), greet())

    def _try_again(self) -> None:
        if self._next_attempt.due is None:
            self._next_attempt.after(TRY_AGAIN_AFTER)

    def _is_asking(self, kind: type[Purpose]) -> bool:
        return any(isinstance(each, kind) for each in self._operations.own())

    def _say_away(self, message: str, *, is_sure: bool = False) -> None:
        memory = self._memory
        reason = one_line(message)[:LONGEST_REASON] or "it does not say why"
        if reason not in memory.reasons and len(memory.reasons) < MOST_REASONS:
            # What one that starts again says on its way belongs to the same outage.
            is_news = is_sure or not memory.reasons
            memory.reasons.add(reason)
            level = logging.WARNING if is_news else logging.DEBUG
            _log.log(level, "the container runtime cannot be used", trouble=reason)
            self._followers.tell(RuntimeIsAway(message=reason))
            memory.away = reason
        elif memory.away in {"", NOT_ASKED}:
            memory.away = reason


def _is_attempt(purpose: Purpose) -> bool:
    """Return whether this asks a runtime that was away who it is, or then what there is.

    A look at one pod does neither: one can be under way, since a request that was lost had begun before.
    """
    is_look = isinstance(purpose, LookAgain) and purpose.uid is None
    return is_look or isinstance(purpose, Connect)
