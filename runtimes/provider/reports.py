"""What a provider answered of pods and the Node, checked and fit for others. Pure.

A class that somebody else wrote may answer anything. ``sound_reports`` and ``sound_node`` look at types and
ranges, on the thread of the call. What a sound report means for its pod is in ``following``. Texts are made
short, and values of Secrets are hidden in them.
"""

from __future__ import annotations

import base64
import ipaddress
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from manifests.names import check_taints, ip_address, label_value, qualified_name
from manifests.quantities import amount, is_quantity
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import RuntimeNode
from messages.pods import JsonObject, PodPhase, PodUid
from runtimes.provider.pod_provider import ContainerReport, NodeReport, PodReport

MOST: Final = 2**31 - 1
"""The greatest exit code and number of restarts that the API has room for."""
YEAR_10000: Final = 253_402_300_800
MESSAGE_BYTES: Final = 4096
REASON_BYTES: Final = 128
_STATES: Final = frozenset({"", "waiting", "running", "terminated"})
HIDDEN: Final = "[hidden]"
VIRTUAL_TAINTS: Final[tuple[JsonObject, ...]] = (
    {"key": "actorlet/virtual", "effect": "NoSchedule"},
)
"""Keep pods away that do not ask for such a Node."""
UNTOLD: Final = RuntimeNode(taints=VIRTUAL_TAINTS, has_own_machines=True)
"""A Node of which the class says nothing."""
CONDITIONS: Final = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})


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


# The Node.


def sound_node(answer: object) -> RuntimeNode | Nonsense:
    """Return what ``node`` answered as others read it, or what is wrong with it."""
    if not isinstance(answer, NodeReport):
        return Nonsense(f"node returned a {type(answer).__name__}, not a NodeReport")
    wrong = _wrong(answer)
    if wrong:
        return Nonsense(f"node: {wrong}")
    return RuntimeNode(
        capacity=dict(answer.capacity),
        labels=dict(answer.labels),
        taints=VIRTUAL_TAINTS if answer.taints is None else _sound_taints(answer.taints),
        has_own_machines=True,
        addresses=tuple(answer.addresses),
        troubles={name: cut(text, MESSAGE_BYTES) for name, text in answer.conditions.items()},
    )


def _wrong(node: NodeReport) -> str:
    for name in ("capacity", "labels", "conditions"):
        if not _is_texts(getattr(node, name)):
            return f"{name} is not a mapping of str to str"
    return _wrong_address(node.addresses) or _wrong_names(node) or _wrong_taints(node.taints)


def _wrong_taints(taints: object) -> str:
    if taints is None:
        return ""
    if isinstance(taints, str) or not isinstance(taints, Sequence):
        return "taints is not a sequence of mappings"
    told: list[object] = [*taints]
    for taint in told:
        if not _is_texts(taint) or not isinstance(taint, Mapping):
            return "taints is not a sequence of mappings of str to str"
        if not {"key", "effect"} <= taint.keys() <= {"key", "value", "effect"}:
            return (
                f"{cut(repr(dict(taint)), 160)} is no taint: it has key, effect and perhaps value"
            )
    try:
        check_taints(_sound_taints(taints))
    except ValueError as error:
        return cut(str(error), 240)
    return ""


def _sound_taints(taints: Sequence[Mapping[str, str]]) -> tuple[JsonObject, ...]:
    """Return a copy of ``taints`` without values that are empty."""
    return tuple(
        {key: text for key, text in taint.items() if text or key != "value"} for taint in taints
    )


def _wrong_address(addresses: object) -> str:
    if isinstance(addresses, str) or not isinstance(addresses, Sequence):
        return "addresses is not a sequence of str"
    told: Sequence[object] = addresses
    for address in told:
        if not isinstance(address, str) or ip_address(address):
            return f"{cut(repr(address), 80)} is no IP address"
    return ""


def _wrong_names(node: NodeReport) -> str:
    for name, quantity in node.capacity.items():
        if qualified_name(name) or not is_quantity(quantity) or amount(quantity) < 0:
            return f"{cut(f'{name}: {quantity}', 80)} is no resource with its quantity"
    for label, value in node.labels.items():
        if qualified_name(label) or label_value(value):
            return f"{cut(f'{label}={value}', 160)} is no label"
    unknown = sorted(node.conditions.keys() - CONDITIONS)
    return f"{cut(unknown[0], 80)} is no condition of the Node" if unknown else ""


def _is_texts(found: object) -> bool:
    return isinstance(found, Mapping) and all(
        isinstance(key, str) and isinstance(value, str) for key, value in found.items()
    )


# Texts.


def cut(text: str, most_bytes: int) -> str:
    """Return ``text``, of which at most so many bytes are left."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - 3].decode(errors="ignore") + "..."


def without_values(text: str, objects: Mapping[ObjectId, ObjectValue]) -> str:
    """Return ``text`` with each value of a Secret in ``objects`` hidden, also as base64 and quoted."""
    secrets = (each for of, each in objects.items() if of.kind is ObjectKind.SECRET)
    values = (value for secret in secrets for value in secret.data.values())
    # The longest first: a short one may be a part of it.
    for form in sorted(set(_forms(values)), key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _forms(values: Iterable[bytes]) -> Iterator[str]:
    for value in values:
        text = value.decode(errors="replace")
        lines = (line.strip() for line in text.splitlines())
        for form in (text, text.strip(), *lines):
            # A single character hides nothing, and is in every text.
            if len(form) > 1:
                yield form
                yield repr(form)[1:-1]
        if value:
            yield base64.b64encode(value).decode()


def quoted(value: object) -> str:
    """Return how Python writes ``value``, cut to what fits into a sentence."""
    return cut(repr(value), 80)
