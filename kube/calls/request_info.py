"""What a request is about, read from its path: for sentences, for its turn, and for its failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.api import ApiRequest, Verb

_IN_WORDS: Final = {
    Verb.GET: "get",
    Verb.CREATE: "create",
    Verb.UPDATE: "update",
    Verb.PATCH: "patch",
    Verb.DELETE: "delete",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """What a path of the API names. A part that it does not name is empty."""

    group: str = ""
    resource: str = ""
    """In the plural: ``pods``."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def request_info(path: str) -> RequestInfo:
    """Return what ``path`` is about. Outside the API, only its first part, as the resource."""
    match path.strip("/").split("/"):
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case rest:
            return RequestInfo(resource=rest[0])
    namespace = ""
    # The namespace of another object, unless the request is about the namespace itself.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    return RequestInfo(
        group=group,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def attempt_of(request: ApiRequest) -> str:
    """Return what ``request`` attempts, in words: ``create pod default/web``, ``list pods``."""
    info = request_info(request.path)
    name = info.name or _name_in(request)
    if request.verb is Verb.GET and not name:
        where = f" in {info.namespace}" if info.namespace else ""
        return f"list {info.resource}{where}"
    full_name = "/".join(part for part in (info.namespace, name) if part)
    part = f"{info.subresource} of " if info.subresource else ""
    what = f"{part}{_singular(info.resource)} {full_name}".rstrip()
    return f"{_IN_WORDS[request.verb]} {what}"


def is_heartbeat(request: ApiRequest) -> bool:
    """Return whether ``request`` is about a Node or a Lease.

    If these are late, the cluster takes this node for dead.
    """
    info = request_info(request.path)
    return (info.group, info.resource) in {("", "nodes"), ("coordination.k8s.io", "leases")}


def is_event(request: ApiRequest) -> bool:
    """Return whether ``request`` is about an event. Nobody waits for these."""
    info = request_info(request.path)
    return (info.group, info.resource) in {("", "events"), ("events.k8s.io", "events")}


def _name_in(request: ApiRequest) -> str:
    metadata = (request.body or {}).get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _singular(resource: str) -> str:
    if resource.endswith("ies"):
        return resource[:-3] + "y"
    return resource[:-2] if resource.endswith("sses") else resource.removesuffix("s")
