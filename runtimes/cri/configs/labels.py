"""Labels and annotations of sandboxes and containers, in a kubelet's words. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from manifests.container_hashes import hash_of_image
from manifests.restart_rules import is_sidecar
from messages.pod_runtime import UsedObject
from messages.pods import JsonObject, Pod
from runtimes.cri.configs import names
from runtimes.cri.configs.documents import metadata_of, spec_of

_HANDLERS: Final[Mapping[str, tuple[str, ...]]] = {
    "exec": ("command",),
    "httpGet": ("path", "port", "host", "scheme", "httpHeaders"),
    "tcpSocket": ("port", "host"),
    "sleep": ("seconds",),
}
_PORT: Final = ("name", "hostPort", "containerPort", "protocol", "hostIP")


def sandbox_labels(pod: Pod) -> dict[str, str]:
    """Return the labels of a sandbox: the pod's own, and whose it is."""
    return {**(metadata_of(pod).get("labels") or {}), **_owner(pod)}


def sandbox_annotations(pod: Pod) -> dict[str, str]:
    """Return the annotations of a sandbox: the pod's own."""
    return dict(pod.annotations)


def container_labels(pod: Pod, container: JsonObject) -> dict[str, str]:
    """Return the labels of a container."""
    return {**_owner(pod), names.CONTAINER_NAME: container.get("name") or ""}


def container_annotations(
    pod: Pod,
    container: JsonObject,
    attempt: int,
    spec_hash: str,
    volume_images: Sequence[str] = (),
    variables_from: Sequence[UsedObject] = (),
) -> dict[str, str]:
    """Return the annotations of a container: what is to be known of it when its pod is gone."""
    annotations = {
        names.CONTAINER_HASH: hash_of_image(spec_hash),
        names.RESTART_COUNT: str(attempt),
        names.TERMINATION_MESSAGE_PATH: container.get("terminationMessagePath") or "",
        names.TERMINATION_MESSAGE_POLICY: container.get("terminationMessagePolicy") or "",
        names.RESOURCES: _json(container.get("resources") or {}),
    }
    if spec_hash != annotations[names.CONTAINER_HASH]:
        annotations[names.WHOLE_HASH] = spec_hash
    graces = (
        (names.DELETION_GRACE, metadata_of(pod).get("deletionGracePeriodSeconds")),
        (names.TERMINATION_GRACE, spec_of(pod).get("terminationGracePeriodSeconds")),
    )
    annotations.update((name, str(grace)) for name, grace in graces if grace is not None)
    if is_sidecar(container):
        inits = [each.get("name") for each in spec_of(pod).get("initContainers") or ()]
        name = container.get("name")
        annotations |= {names.SIDECAR: str(inits.index(name))} if name in inits else {}
    if pre_stop := (container.get("lifecycle") or {}).get("preStop"):
        annotations[names.PRE_STOP_HANDLER] = _json(_handler(pre_stop))
    if ports := container.get("ports"):
        annotations[names.PORTS] = _json([_picked(port, _PORT) for port in ports])
    if volume_images:
        annotations[names.VOLUME_IMAGES] = " ".join(volume_images)
    if variables_from:
        annotations[names.VARIABLES_FROM] = _json([list(each) for each in variables_from])
    return annotations


def _owner(pod: Pod) -> dict[str, str]:
    return {names.POD_NAME: pod.name, names.POD_NAMESPACE: pod.namespace, names.POD_UID: pod.uid}


def _handler(handler: JsonObject) -> JsonObject:
    return {
        kind: _picked(handler[kind], fields)
        for kind, fields in _HANDLERS.items()
        if handler.get(kind) is not None
    }


def _picked(document: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    return {field: document[field] for field in fields if document.get(field) not in (None, "", 0)}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
