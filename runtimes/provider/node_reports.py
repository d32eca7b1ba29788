"""What a provider says of the Node, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from manifests.names import ip_address, label_value, qualified_name
from manifests.quantities import amount, is_quantity
from manifests.taints import check_taints
from messages.pod_runtime import RuntimeNode
from messages.pods import JsonObject
from runtimes.provider.pod_provider import NodeReport
from runtimes.provider.reports import MESSAGE_BYTES, Nonsense
from runtimes.provider.texts import cut

VIRTUAL_TAINTS: Final[tuple[JsonObject, ...]] = (
    {"key": "actorlet/virtual", "effect": "NoSchedule"},
)
"""Keep pods away that do not ask for such a Node."""
UNTOLD: Final = RuntimeNode(taints=VIRTUAL_TAINTS, has_own_machines=True)
"""A Node of which the class says nothing."""
CONDITIONS: Final = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})


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
