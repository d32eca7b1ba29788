"""What the answers of a probe come to, by its thresholds. Pure.

An answer that differs from what counts so far must come several times in a row before it counts: failures as
often as ``failureThreshold`` says, successes as often as ``successThreshold`` says.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from messages.probing import ProbeKind, ProbeResult

_INITIAL: Final = {
    ProbeKind.LIVENESS: ProbeResult.SUCCESS,
    ProbeKind.READINESS: ProbeResult.FAILURE,
    ProbeKind.STARTUP: ProbeResult.UNKNOWN,
}


class AnswersNeeded(NamedTuple):
    """How many answers in a row count."""

    kind: ProbeKind
    failures: int
    successes: int


class Count(NamedTuple):
    """How the answers of one instance of a container stand."""

    result: ProbeResult
    """What counts: a success or a failure; at the beginning of a startup probe it is unknown."""
    last: ProbeResult | None = None
    """The last answer, success or failure; None as long as there is none."""
    in_a_row: int = 0
    """How many of the last answers were as ``last``."""
    is_held: bool = False
    """The probe rests until there is another instance of the container."""


def initial_result(kind: ProbeKind) -> ProbeResult:
    """Return what counts before the first answer: alive, not ready, and nothing known of the startup."""
    return _INITIAL[kind]


def begin(kind: ProbeKind, result: ProbeResult | None = None) -> Count:
    """Return the count for a new instance of a container.

    ``result`` is what counted for this very instance before, if that is known.
    """
    settled = result or initial_result(kind)
    return Count(settled, is_held=_holds(kind, settled))


def counted(count: Count, answer: ProbeResult, needed: AnswersNeeded) -> Count:
    """Return how it stands after one more ``answer``.

    An unknown answer changes nothing. Liveness rests after a failure, since the container is killed, and
    startup after any result, since it has been decided. Readiness never rests.
    """
    if answer is ProbeResult.UNKNOWN or count.is_held:
        return count
    is_failure = answer is ProbeResult.FAILURE
    last = ProbeResult.FAILURE if is_failure else ProbeResult.SUCCESS
    in_a_row = count.in_a_row + 1 if count.last is last else 1
    enough = needed.failures if is_failure else needed.successes
    result = last if in_a_row >= enough else count.result
    is_held = in_a_row >= enough and _holds(needed.kind, result)
    return Count(result, last, in_a_row, is_held)


def _holds(kind: ProbeKind, result: ProbeResult) -> bool:
    """Return whether a probe rests once ``result`` counts."""
    if kind is ProbeKind.LIVENESS:
        return result is ProbeResult.FAILURE
    return kind is ProbeKind.STARTUP and result is not ProbeResult.UNKNOWN
