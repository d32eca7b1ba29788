"""Which object a pod means by a name: one of the API server, or one of local files. Pure."""

from __future__ import annotations

from messages.objects import ObjectId, ObjectKind, Origin
from messages.pods import Pod


def origin_of(pod: Pod) -> Origin:
    """Return where the objects of ``pod`` are read from."""
    return Origin.LOCAL if pod.is_static else Origin.API


def object_of(pod: Pod, kind: ObjectKind, name: str) -> ObjectId:
    """Return the object of that name in the pod's namespace."""
    return ObjectId(kind=kind, namespace=pod.namespace, name=name, origin=origin_of(pod))
