"""Which labels a Node may have that registers itself. Pure.

Such a Node may give itself only some of Kubernetes' own labels. The admission plugin NodeRestriction refuses
others, and the whole registration with them. So they are refused when they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from manifests.names import label_value, qualified_name

KUBELET_LABELS: Final = frozenset({
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
})  # fmt: skip
"""Labels of Kubernetes' domains that a node may give itself, as NodeRestriction's documentation has them."""

KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
"""A node may give itself any label of these domains and of those below them."""

KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")


def check_labels(labels: Mapping[str, str], *, is_restricted: bool = True) -> None:
    """Raise ``ValueError``, with the end of a sentence, if a node may not give itself ``labels``.

    Nothing restricts a node without a cluster.
    """
    for key, value in labels.items():
        wrong = qualified_name(key) or label_value(value)
        if wrong:
            raise ValueError(f"has the label {key[:64]!r}, whose name or value {wrong}")
    refused = refused_labels(labels)
    if refused and is_restricted:
        raise ValueError(
            f"has {', '.join(key[:64] for key in refused)}: of the labels of kubernetes.io and k8s.io a"
            f" node may give itself only those of {' and '.join(KUBELET_DOMAINS)} and"
            f" {', '.join(sorted(KUBELET_LABELS))}"
        )


def refused_labels(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the labels among ``keys`` that a node may not give itself, sorted."""
    return tuple(sorted(key for key in keys if _is_refused(key)))


def _is_refused(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    if not slash or not _is_within(domain, KUBERNETES_DOMAINS):
        return False
    return key not in KUBELET_LABELS and not _is_within(domain, KUBELET_DOMAINS)


def _is_within(domain: str, domains: Iterable[str]) -> bool:
    return any(domain == each or domain.endswith(f".{each}") for each in domains)
