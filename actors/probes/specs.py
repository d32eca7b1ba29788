"""What a pod's document says of a probe, with a kubelet's defaults. Pure.

What cannot be carried out is a handler of its own: ``UnusableHandler`` says why, and the probe's answer is
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from actors.probes.thresholds import AnswersNeeded
from manifests.handlers import (
    ExecAction,
    HttpGetAction,
    TcpSocketAction,
    UnusableHandler,
    common_action,
    port_of,
)
from messages.pods import JsonObject
from messages.probing import ProbeKind
from messages.units import Seconds

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
