"""What a provider says of the Node, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from manifests.names import ip_address, label_value, qualified_name
from manifests.quantities import amount, is_quantity
from messages.pod_runtime import RuntimeNode
from runtimes.virtual.provider import NodeReport
from runtimes.virtual.reports import MESSAGE_BYTES, Nonsense
from runtimes.virtual.texts import cut

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
        addresses=tuple(answer.addresses),
        troubles={name: cut(text, MESSAGE_BYTES) for name, text in answer.conditions.items()},
    )


def _wrong(node: NodeReport) -> str:
    for name in ("capacity", "labels", "conditions"):
        if not _is_texts(getattr(node, name)):
            return f"{name} is not a mapping of str to str"
    return _wrong_address(node.addresses) or _wrong_names(node)


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
