"""Checks of values, and of the labels that a Node may have which registers itself.

Where a row is checked, ``ValueError`` has the end of a sentence that begins with the name of the row. Other
complaints are a ``UsageError`` with one sentence.

A Node may give itself only some of Kubernetes' own labels. The admission plugin NodeRestriction refuses
others, and the whole registration with them. So they are refused when they are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from manifests.names import label_value, qualified_name
from manifests.times import format_duration
from messages.units import Seconds
from settings.errors import UsageError

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FILE_KINDS = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def checked_node_name(name: str) -> str:
    """Return ``name`` as the name of a node: trimmed and in lower case, as in a kubelet."""
    node_name = name.strip().lower()
    if len(node_name) > 253 or not _NODE_NAME.fullmatch(node_name):
        raise UsageError(
            f"{name[:64]!r} cannot be the name of a node: letters, digits, - and . only, beginning and "
            "ending with a letter or digit, up to 253 of them; choose one with --hostname-override",
            at="--hostname-override",
        )
    return node_name


def check_path(what: str, path: Path, *, at: str) -> None:
    """Raise ``UsageError`` if neither a directory nor a file is at ``path``. It may be missing yet.

    ``at`` is the field or the flag that names it.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    kind = next((name for is_kind, name in _FILE_KINDS if is_kind(mode)), None)
    if kind:
        raise UsageError(f"{what} {path} is {kind}; it should be a directory or a file", at=at)


def check_apart(local_objects_dir: Path, static_pod_path: Path | None) -> None:
    """Raise ``UsageError`` if Secrets would be read as manifests of pods, or the other way round."""
    if static_pod_path is None:
        return
    # Not ``resolve``, which raises for links that lead in a circle.
    here, there = Path(os.path.realpath(local_objects_dir)), Path(os.path.realpath(static_pod_path))
    if here == there or there in here.parents:
        where = "is" if here == there else "is inside of"
        raise UsageError(
            f"--local-objects-dir {local_objects_dir} {where} the manifest path {static_pod_path}; "
            "keep Secrets and ConfigMaps apart from the manifests of pods",
            at="--local-objects-dir",
        )


T = TypeVar("T")


def at_least(least: int, why: str = "") -> Callable[[int], int]:
    """Return what refuses numbers below ``least``."""
    return _checked(lambda number: number >= least, f"{{}} should be at least {least}{why}")


def no_shorter_than(least: Seconds) -> Callable[[Seconds], Seconds]:
    """Return what refuses durations below ``least``."""
    return _checked(lambda span: span >= least, f"should be at least {format_duration(least)}")


def between(least: float, most: float, sentence: str) -> Callable[[float], float]:
    """Return what refuses numbers out of bounds by ``sentence``, in which ``{}`` is the number."""
    return _checked(lambda number: least <= number <= most, sentence)


def one_of(choices: tuple[str, ...], sentence: str) -> Callable[[str], str]:
    """Return what refuses other texts by ``sentence``, in which ``{}`` is the text."""
    return _checked(lambda text: text in choices, sentence, lambda text: repr(text[:32]))


def _checked(
    is_good: Callable[[T], bool], sentence: str, shown: Callable[[T], Any] = lambda value: value
) -> Callable[[T], T]:
    def check(value: T) -> T:
        if not is_good(value):
            raise ValueError(sentence.format(shown(value)))
        return value

    return check


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
