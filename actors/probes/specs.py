"""What a pod's document says of a probe, with a kubelet's defaults, and what answers come to by that. Pure.

What cannot be carried out is a handler of its own: ``UnusableHandler`` says why, and the probe's answer is
unknown.

An answer that differs from what counts so far must come several times in a row before it counts: failures as
often as ``failureThreshold`` says, successes as often as ``successThreshold`` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from manifests.handlers import (
    ExecAction,
    HttpGetAction,
    TcpSocketAction,
    UnusableHandler,
    common_action,
    port_of,
)
from messages.pods import JsonObject
from messages.probing import ProbeKind, ProbeResult
from messages.units import Seconds

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


MOST_NUMBER: Final = 2**31 - 1
"""The largest number of the fields of a probe: 68 years, where it counts seconds."""
TLS: Final = "TLS"
PLAINTEXT: Final = "Plaintext"
GRPC_MODES: Final = frozenset({TLS, PLAINTEXT})
DEFAULT_PERIOD: Final = 10
DEFAULT_TIMEOUT: Final = 1
DEFAULT_FAILURES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcAction:
    """Ask the health service of gRPC, on the pod's address. It succeeds if that says SERVING."""

    port: int
    service: str
    is_tls: bool = False
    """Whether the call is made over TLS, where any certificate will do."""


ProbeHandler: TypeAlias = (
    HttpGetAction | TcpSocketAction | GrpcAction | ExecAction | UnusableHandler
)
"""A page succeeds with a status from 200 to 399."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """One probe of a container."""

    kind: ProbeKind
    handler: ProbeHandler
    initial_delay: Seconds = Seconds(0.0)
    """From the start of the container to the first attempt."""
    period: Seconds = Seconds(float(DEFAULT_PERIOD))
    timeout: Seconds = Seconds(float(DEFAULT_TIMEOUT))
    success_threshold: int = 1
    failure_threshold: int = DEFAULT_FAILURES
    grace: Seconds | None = None
    """The grace of a kill for this probe; None for the pod's own."""

    @property
    def answers_needed(self) -> AnswersNeeded:
        """How many answers in a row count."""
        return AnswersNeeded(self.kind, self.failure_threshold, self.success_threshold)


def probe_of(container: JsonObject, kind: ProbeKind) -> ProbeSpec | None:
    """Return the probe of this ``kind`` that ``container`` has, if any."""
    document = container.get(kind.field_name)
    if not document:
        return None
    grace = document.get("terminationGracePeriodSeconds")
    is_readiness = kind is ProbeKind.READINESS
    return ProbeSpec(
        kind=kind,
        handler=_handler(document, container),
        initial_delay=Seconds(float(_number(document, "initialDelaySeconds", 0))),
        period=Seconds(float(_number(document, "periodSeconds", DEFAULT_PERIOD))),
        timeout=Seconds(float(_number(document, "timeoutSeconds", DEFAULT_TIMEOUT))),
        success_threshold=_number(document, "successThreshold", 1) if is_readiness else 1,
        failure_threshold=_number(document, "failureThreshold", DEFAULT_FAILURES),
        grace=Seconds(float(grace)) if isinstance(grace, int) and not is_readiness else None,
    )


def _number(document: JsonObject, name: str, default: int) -> int:
    """Return a number of a probe. None and 0 stand for the default, as does what is no number."""
    number = document.get(name)
    is_number = isinstance(number, int) and number > 0
    return min(int(number), MOST_NUMBER) if is_number and number else default


def _handler(document: JsonObject, container: JsonObject) -> ProbeHandler:
    action = common_action(document, container)
    if isinstance(action, HttpGetAction):
        return _page(action, document["httpGet"])
    if action is not None:
        return action
    if service := document.get("grpc"):
        return _grpc(service, container)
    return UnusableHandler(why="the probe says nothing that can be done")


def _page(action: HttpGetAction, document: JsonObject) -> HttpGetAction | UnusableHandler:
    if document.get("protocol") not in {None, "", "HTTP1"}:
        return UnusableHandler(why="a page is asked for by HTTP/1.1 alone")
    if action.has_unusable_header:
        return UnusableHandler(why="a header of the probe has a line feed in it")
    return action


def _grpc(service: JsonObject, container: JsonObject) -> GrpcAction | UnusableHandler:
    port, mode = port_of(service, container), service.get("mode") or PLAINTEXT
    if isinstance(port, UnusableHandler):
        return port
    if mode not in GRPC_MODES:
        return UnusableHandler(why=f"a call of gRPC in mode {str(mode)[:64]!r} is not known")
    return GrpcAction(port=port, service=str(service.get("service") or ""), is_tls=mode == TLS)
