"""Labels and annotations of sandboxes and containers, in a kubelet's words. Pure.

We write them for each container, and read what they say about its end, since its pod may be gone by then.
A kubelet may have written them, or anybody: what a specification could not say counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from manifests.container_hashes import hash_of_image
from manifests.restart_rules import is_sidecar
from messages.pod_runtime import StopTerms, UsedObject
from messages.pods import JsonObject, Pod
from messages.units import Seconds
from runtimes.cri.configs.documents import metadata_of, spec_of

POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
POD_UID: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME: Final = "io.kubernetes.container.name"

CONTAINER_HASH: Final = "io.kubernetes.container.hash"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
TERMINATION_MESSAGE_PATH: Final = "io.kubernetes.container.terminationMessagePath"
TERMINATION_MESSAGE_POLICY: Final = "io.kubernetes.container.terminationMessagePolicy"
PRE_STOP_HANDLER: Final = "io.kubernetes.container.preStopHandler"
PORTS: Final = "io.kubernetes.container.ports"
DELETION_GRACE: Final = "io.kubernetes.pod.deletionGracePeriod"
TERMINATION_GRACE: Final = "io.kubernetes.pod.terminationGracePeriod"

WHOLE_HASH: Final = "actorlet/container-hash"
"""Of a container of a static pod whose UID its user has fixed: with the digest of all that is said of it."""
RESOURCES: Final = "actorlet/resources"
"""Of a container: the resources of the specification that it was created with, as JSON."""
SIDECAR: Final = "actorlet/sidecar"
"""Of a container that is a sidecar: its place among the pod's init containers, from 0 on."""
VOLUME_IMAGES: Final = "actorlet/volume-images"
"""Of a container: the ids of the images that it mounts, with a blank between. No runtime tells them."""
USER_NAMESPACE: Final = "actorlet/user-namespace"
"""Of a sandbox: the first of its user ids on the node, and how many there are: ``65536:65536``."""
VARIABLES_FROM: Final = "actorlet/variables-from"
"""Of a container: the objects that its variables were made from, as JSON: kind, name and ``resourceVersion``
of each."""

_PORT: Final = ("name", "hostPort", "containerPort", "protocol", "hostIP")

_HANDLERS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "exec": {"command": (list,)},
    "httpGet": {
        "path": (str,),
        "port": (int, str),
        "host": (str,),
        "scheme": (str,),
        "httpHeaders": (list,),
    },
    "tcpSocket": {"port": (int, str), "host": (str,)},
    "sleep": {"seconds": (int,)},
}
"""The fields of each kind of handler, and what they may be."""
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
NOTHING: Final = StopTerms()


def sandbox_labels(pod: Pod) -> dict[str, str]:
    """Return the labels of a sandbox: the pod's own, and whose it is."""
    return {**(metadata_of(pod).get("labels") or {}), **_owner(pod)}


def sandbox_annotations(pod: Pod) -> dict[str, str]:
    """Return the annotations of a sandbox: the pod's own."""
    return dict(pod.annotations)


def container_labels(pod: Pod, container: JsonObject) -> dict[str, str]:
    """Return the labels of a container."""
    return {**_owner(pod), CONTAINER_NAME: container.get("name") or ""}


def container_annotations(
    pod: Pod,
    container: JsonObject,
    attempt: int,
    spec_hash: str,
    volume_images: Sequence[str] = (),
    variables_from: Sequence[UsedObject] = (),
) -> dict[str, str]:
    """Return the annotations of a container: what we have to know when its pod is gone."""
    annotations = {
        CONTAINER_HASH: hash_of_image(spec_hash),
        RESTART_COUNT: str(attempt),
        TERMINATION_MESSAGE_PATH: container.get("terminationMessagePath") or "",
        TERMINATION_MESSAGE_POLICY: container.get("terminationMessagePolicy") or "",
        RESOURCES: _json(container.get("resources") or {}),
    }
    if spec_hash != annotations[CONTAINER_HASH]:
        annotations[WHOLE_HASH] = spec_hash
    graces = (
        (DELETION_GRACE, metadata_of(pod).get("deletionGracePeriodSeconds")),
        (TERMINATION_GRACE, spec_of(pod).get("terminationGracePeriodSeconds")),
    )
    annotations.update((name, str(grace)) for name, grace in graces if grace is not None)
    if is_sidecar(container):
        inits = [each.get("name") for each in spec_of(pod).get("initContainers") or ()]
        name = container.get("name")
        annotations |= {SIDECAR: str(inits.index(name))} if name in inits else {}
    if pre_stop := (container.get("lifecycle") or {}).get("preStop"):
        annotations[PRE_STOP_HANDLER] = _json(_written_handler(pre_stop))
    if ports := container.get("ports"):
        annotations[PORTS] = _json([_picked(port, _PORT) for port in ports])
    if volume_images:
        annotations[VOLUME_IMAGES] = " ".join(volume_images)
    if variables_from:
        annotations[VARIABLES_FROM] = _json([list(each) for each in variables_from])
    return annotations


def _owner(pod: Pod) -> dict[str, str]:
    return {POD_NAME: pod.name, POD_NAMESPACE: pod.namespace, POD_UID: pod.uid}


def _written_handler(handler: JsonObject) -> JsonObject:
    return {
        kind: _picked(handler[kind], fields)
        for kind, fields in _HANDLERS.items()
        if handler.get(kind) is not None
    }


def _picked(document: JsonObject, fields: Iterable[str]) -> JsonObject:
    return {field: document[field] for field in fields if document.get(field) not in (None, "", 0)}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def stop_terms(annotations: Mapping[str, str]) -> StopTerms | None:
    """Return what is written about a container's end; None if that is nothing."""
    pre_stop = _read_handler(json_of(annotations.get(PRE_STOP_HANDLER)))
    ports = json_of(annotations.get(PORTS)) if pre_stop is not None else ()
    written = StopTerms(
        grace=_grace(annotations),
        pre_stop=pre_stop,
        ports=tuple(_dicts(ports)),
        sidecar=_number(annotations.get(SIDECAR, "")),
    )
    return None if written == NOTHING else written


def json_of(text: str | None) -> Any:
    """Return what a text says as JSON; None if that is nothing, or no JSON."""
    try:
        return json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None


def _grace(annotations: Mapping[str, str]) -> Seconds | None:
    for name in (DELETION_GRACE, TERMINATION_GRACE):
        seconds = _number(annotations.get(name, ""))
        if seconds is not None:
            return Seconds(float(seconds))
    return None


def _number(written: str) -> int | None:
    return int(written) if _NUMBER.fullmatch(written) else None


def _read_handler(written: Any) -> JsonObject | None:
    if not isinstance(written, dict):
        return None
    for kind, fields in _HANDLERS.items():
        action = written.get(kind)
        if isinstance(action, dict):
            read = {
                name: action[name]
                for name, types in fields.items()
                if isinstance(action.get(name), types) and not isinstance(action[name], bool)
            }
            if "httpHeaders" in read:
                read["httpHeaders"] = _dicts(read["httpHeaders"])
            return {kind: read}
    return None


def _dicts(written: Any) -> list[JsonObject]:
    return [each for each in written if isinstance(each, dict)] if isinstance(written, list) else []
