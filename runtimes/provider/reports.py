"""What a provider answered, checked. Pure.

A class that somebody else wrote may answer anything. ``sound_reports`` looks at types and ranges, on the
thread of the call. What a sound report means for its pod is in ``following``.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from messages.pods import PodPhase, PodUid
from runtimes.provider.pod_provider import ContainerReport, PodReport
from runtimes.provider.texts import cut, quoted

MOST: Final = 2**31 - 1
"""The greatest exit code and number of restarts that the API has room for."""
YEAR_10000: Final = 253_402_300_800
MESSAGE_BYTES: Final = 4096
REASON_BYTES: Final = 128
_STATES: Final = frozenset({"", "waiting", "running", "terminated"})


@dataclass(frozen=True, slots=True)
class Nonsense:
    """An answer, or a part of it, that cannot be understood."""

    sentence: str


Readings = Mapping[PodUid, PodReport | Nonsense]


def sound_reports(answer: object) -> Readings | Nonsense:
    """Return a copy of what ``observe`` answered, with each report checked."""
    if not isinstance(answer, Mapping):
        return Nonsense(f"observe returned {_kind(answer)}, not a mapping of UIDs to reports")
    readings: dict[PodUid, PodReport | Nonsense] = {}
    # A copy first: the provider's own threads may go on changing it.
    for uid, report in dict(answer).items():
        if not isinstance(uid, str):
            return Nonsense(f"observe returned a mapping in which {quoted(uid)} is no UID")
        readings[PodUid(uid)] = sound_report(report)
    return readings


def sound_report(report: object) -> PodReport | Nonsense:
    """Return a copy of ``report``, or what is wrong with it."""
    if isinstance(report, str):
        report = PodReport(report)
    if not isinstance(report, PodReport):
        return Nonsense(f"its report is {_kind(report)}, not a PodReport")
    wrong = next(_wrong_in_pod(report), None)
    if wrong is not None:
        return Nonsense(wrong)
    containers = {name: _shortened(each) for name, each in report.containers.items()}
    return replace(
        report,
        containers=containers,
        reason=cut(report.reason, REASON_BYTES),
        message=cut(report.message, MESSAGE_BYTES),
    )


def _wrong_in_pod(report: PodReport) -> Iterator[str]:
    yield from _wrong_texts(report, "phase", "ip", "reason", "message", "namespace", "name")
    yield from _wrong_texts(report, "source")
    if report.phase not in {"", *PodPhase} - {PodPhase.UNKNOWN.value}:
        yield f"{quoted(report.phase)} is no phase that a node can tell"
    if report.ip and not _is_address(report.ip):
        yield f"{quoted(report.ip)} is no IP address"
    if not isinstance(report.containers, Mapping):
        yield f"its containers are {_kind(report.containers)}, not a mapping"
        return
    told: list[tuple[object, object]] = [*report.containers.items()]  # whatever is in it
    for name, container in told:
        if isinstance(name, str) and isinstance(container, ContainerReport):
            yield from (f"container {name}: {wrong}" for wrong in _wrong_in_container(container))
        else:
            yield f"the report of container {quoted(name)} is {_kind(container)}"


def _wrong_in_container(container: ContainerReport) -> Iterator[str]:
    yield from _wrong_texts(container, "state", "reason", "message")
    if container.state not in _STATES:
        yield f"{quoted(container.state)} is no state of a container"
    if not isinstance(container.ready, bool):
        yield f"ready is {_kind(container.ready)}, not a bool"
    if not _is_number(container.restarts) or not 0 <= container.restarts <= MOST:
        yield f"{quoted(container.restarts)} is no number of restarts"
    code = container.exit_code
    if code is not None and (not _is_number(code) or not -MOST - 1 <= code <= MOST):
        yield f"{quoted(code)} is no exit code"
    for name in ("started_at", "finished_at"):
        if not _is_moment(getattr(container, name)):
            yield f"{name} is not in seconds since 1970"


def _wrong_texts(report: object, *names: str) -> Iterator[str]:
    for name in names:
        value = getattr(report, name)
        if not isinstance(value, str):
            yield f"{name} is {_kind(value)}, not a str"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_moment(value: object) -> bool:
    if value is None:
        return True
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and 0 <= value < YEAR_10000


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _shortened(container: ContainerReport) -> ContainerReport:
    return replace(
        container,
        reason=cut(container.reason, REASON_BYTES),
        message=cut(container.message, MESSAGE_BYTES),
    )


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
