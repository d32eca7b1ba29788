"""What a request is about, read from its path: for sentences, for its turn, for whose trouble it is."""

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
    """What a path of the API names. Empty is what it does not name."""

    group: str = ""
    resource: str = ""
    """In the plural: ``pods``."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def request_info(path: str) -> RequestInfo:
    """Return what ``path`` is about; of a path that is none of the API's, only the first part."""
    match path.strip("/").split("/"):
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case rest:
            return RequestInfo(resource=rest[0])
    namespace = ""
    # The namespace of something, unless it is the namespace itself that is asked for.
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
    """Return whether the cluster takes this node for dead when ``request`` is late: Node and Lease."""
    info = request_info(request.path)
    return (info.group, info.resource) in {("", "nodes"), ("coordination.k8s.io", "leases")}


def _name_in(request: ApiRequest) -> str:
    metadata = (request.body or {}).get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _singular(resource: str) -> str:
    if resource.endswith("ies"):
        return resource[:-3] + "y"
    return resource[:-2] if resource.endswith("sses") else resource.removesuffix("s")
