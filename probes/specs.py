"""What a pod's document says of a probe, with a kubelet's defaults. Pure.

A document is validated before it comes here. What is still impossible, such as a port that the container does
not name, is a handler of its own: ``UnusableProbe`` says why, and the probe's answer is unknown.

A probe may carry confidential values in its command, path and headers. No ``repr`` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from messages.pods import JsonObject
from messages.probes import ProbeKind
from messages.units import Seconds
from probes.thresholds import AnswersNeeded

MOST_PORT: Final = 65_535
MOST_NUMBER: Final = 2**31 - 1
"""The largest number of the fields of a probe: 68 years, where it counts seconds."""
TLS: Final = "TLS"
PLAINTEXT: Final = "Plaintext"
GRPC_MODES: Final = frozenset({TLS, PLAINTEXT})
DEFAULT_PERIOD: Final = 10
DEFAULT_TIMEOUT: Final = 1
DEFAULT_FAILURES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProbe:
    """Ask for a page. It succeeds with a status from 200 to 399."""

    is_https: bool
    host: str
    """A name or an address; empty for the pod's address."""
    port: int
    path: str = field(repr=False)
    """As it stands in the document, mostly with a query. May be empty."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpProbe:
    """Open a connection. It succeeds if that is accepted."""

    host: str
    """A name or an address; empty for the pod's address."""
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcProbe:
    """Ask the health service of gRPC, on the pod's address. It succeeds if that says SERVING."""

    port: int
    service: str
    is_tls: bool = False
    """Whether the call is made over TLS, where any certificate will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecProbe:
    """Run a command in the container. It succeeds if the command ends with 0."""

    command: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableProbe:
    """A probe that cannot be carried out."""

    why: str
    """For people."""


ProbeHandler: TypeAlias = HttpProbe | TcpProbe | GrpcProbe | ExecProbe | UnusableProbe


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
    if command := (document.get("exec") or {}).get("command"):
        return ExecProbe(command=tuple(map(str, command)))
    if page := document.get("httpGet"):
        return _http_get(page, container)
    if target := document.get("tcpSocket"):
        port = _port(target.get("port"), container)
        if isinstance(port, UnusableProbe):
            return port
        return TcpProbe(host=str(target.get("host") or ""), port=port)
    if service := document.get("grpc"):
        return _grpc(service, container)
    return UnusableProbe(why="the probe says nothing that can be done")


def _grpc(service: JsonObject, container: JsonObject) -> ProbeHandler:
    port, mode = _port(service.get("port"), container), service.get("mode") or PLAINTEXT
    if isinstance(port, UnusableProbe):
        return port
    if mode not in GRPC_MODES:
        return UnusableProbe(why=f"a call of gRPC in mode {str(mode)[:64]!r} is not known")
    return GrpcProbe(port=port, service=str(service.get("service") or ""), is_tls=mode == TLS)


def _http_get(page: JsonObject, container: JsonObject) -> ProbeHandler:
    port = _port(page.get("port"), container)
    if isinstance(port, UnusableProbe):
        return port
    headers = tuple(
        (str(each.get("name") or ""), str(each.get("value") or ""))
        for each in page.get("httpHeaders") or ()
    )
    if page.get("protocol") not in {None, "", "HTTP1"}:
        return UnusableProbe(why="a page is asked for by HTTP/1.1 alone")
    if any(set("\r\n\0") & set(name + value) for name, value in headers):
        return UnusableProbe(why="a header of the probe has a line feed in it")
    return HttpProbe(
        is_https=str(page.get("scheme") or "").upper() == "HTTPS",
        host=str(page.get("host") or ""),
        port=port,
        path=str(page.get("path") or ""),
        headers=headers,
    )


def _port(said: Any, container: JsonObject) -> int | UnusableProbe:
    """Return the number of a port that a handler says by its number or by its name."""
    text = str(said if said is not None else "")
    named = (
        each.get("containerPort")
        for each in container.get("ports") or ()
        if each.get("name") == text
    )
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else next(named, None)
    if isinstance(number, int) and 0 < number <= MOST_PORT:
        return number
    return UnusableProbe(why=f"the container has no port {text[:64]!r}")
