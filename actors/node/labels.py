"""Labels of the Node: the default ones, and how they are added to those of others. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from manifests.names import label_value

HOSTNAME = "kubernetes.io/hostname"


def default_labels(hostname: str, architecture: str) -> dict[str, str]:
    """Return the labels of every Node.

    The ``beta`` labels are deprecated since 1.14, but kubelets still set them and node selectors still
    ask for them. A host name that is no valid label value is left out: the API server would refuse the
    Node with it.
    """
    machine = {"kubernetes.io/os": "linux", "kubernetes.io/arch": architecture}
    beta = {f"beta.{key}": value for key, value in machine.items()}
    name = {} if label_value(hostname) else {HOSTNAME: hostname}
    return {**beta, **machine, **name}


def label_patch(present: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of ``wanted`` that are missing or different in ``present``."""
    return {key: value for key, value in wanted.items() if present.get(key) != value}
