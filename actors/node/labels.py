"""Labels of the Node: those every Node has, and what is left to others. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from manifests.names import label_value

HOSTNAME = "kubernetes.io/hostname"


def default_labels(hostname: str, architecture: str) -> dict[str, str]:
    """Return the labels of every Node.

    The ``beta`` ones are deprecated since 1.14, but kubelets set them to this day and there are node
    selectors that ask for them. A host name that cannot be a label is left out: the Node would be
    refused with it.
    """
    machine = {"kubernetes.io/os": "linux", "kubernetes.io/arch": architecture}
    beta = {f"beta.{key}": value for key, value in machine.items()}
    name = {} if label_value(hostname) else {HOSTNAME: hostname}
    return {**beta, **machine, **name}


def label_patch(present: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``wanted`` that ``present`` lacks or has otherwise. Others are left alone."""
    return {key: value for key, value in wanted.items() if present.get(key) != value}
