"""Which pod and which instance of a container a request means, or the sentence that people search for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from aiohttp import web

from messages.pods import Pod
from messages.statuses import StatusesDescribed
from server import questions
from server.backend import EndpointBackend
from server.control.console import Instance, container_status, instance_of
from server.questions import answered
from stores.statuses.rendering import with_status

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_WAITS_FOR_IMAGE: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


class FoundPod(NamedTuple):
    """A pod of this node, and its document with the status that the node gives it."""

    pod: Pod
    document: Mapping[str, Any]


async def find_pod(
    backend: EndpointBackend, namespace: str, name: str, uid: str = ""
) -> FoundPod | None:
    """Return the pod of that name, and of that UID if one is given. None if there is none.

    The UID of a static pod's mirror, by which the API server knows it, is one of its own.
    Raises HTTPServiceUnavailable if nobody knows.
    """
    told = answered(await backend.ask(questions.PODS))
    named = (each for each in told.pods if (each.namespace, each.name) == (namespace, name))
    mirrors = told.static_to_mirror
    pod = next((each for each in named if uid in {"", each.uid, mirrors.get(each.uid)}), None)
    if pod is None:
        return None
    statuses = await backend.ask(questions.STATUSES)
    known = statuses.statuses if isinstance(statuses, StatusesDescribed) else {}
    return FoundPod(pod, with_status(pod, known.get(pod.uid)))


def logged_instance(found: FoundPod, container: str, *, previous: bool) -> Instance:
    """Return the instance whose log is asked for. Raises HTTPNotFound, HTTPBadRequest."""
    name = found.pod.name
    if not _has(found.pod, container):
        raise web.HTTPNotFound(text=f'container "{container}" not found in pod "{name}"')
    about = f'container "{container}" in pod "{name}"'
    status = container_status(found.document, container) or {}
    ended = (status.get("lastState") or {}).get("terminated") or {}
    if previous and not ended.get("containerID"):
        raise web.HTTPBadRequest(text=f"previous terminated {about} not found")
    if not status.get("containerID") and not ended.get("containerID"):
        raise web.HTTPBadRequest(text=f"{about} {_why_there_is_none(status)}")
    return instance_of(found.document, container, previous=previous)


def running_instance(found: FoundPod, container: str) -> Instance:
    """Return the instance of a container that runs. Raises HTTPNotFound, HTTPBadRequest."""
    if not _has(found.pod, container):
        raise web.HTTPNotFound(text=f'container not found ("{container}")')
    status = container_status(found.document, container) or {}
    about = f'container "{container}" in pod "{found.pod.name}"'
    if "running" not in (status.get("state") or {}):
        raise web.HTTPBadRequest(text=f"{about} does not run: it {_why_there_is_none(status)}")
    return instance_of(found.document, container, previous=False)


def _why_there_is_none(status: Mapping[str, Any]) -> str:
    state = status.get("state") or {}
    if "terminated" in state:
        return "is terminated"
    if "waiting" not in state:
        return "is not available"
    reason = (state["waiting"] or {}).get("reason") or "ContainerCreating"
    return f"is waiting to start: {_WAITS_FOR_IMAGE.get(reason, reason)}"


def _has(pod: Pod, container: str) -> bool:
    spec = pod.document.get("spec") or {}
    return any(
        each.get("name") == container for kind in _CONTAINERS for each in spec.get(kind) or ()
    )
