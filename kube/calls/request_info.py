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
class Subject:
    """What a path of the API names. Empty is what it does not name."""

    group: str = ""
    resource: str = ""
    """In the plural: ``pods``."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def subject_of(path: str) -> Subject:
    """Return what ``path`` is about; of a path that is none of the API's, only the first part."""
    match path.strip("/").split("/"):
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case rest:
            return Subject(resource=rest[0])
    namespace = ""
    # The namespace of something, unless it is the namespace itself that is asked for.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    return Subject(
        group=group,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def attempt_of(request: ApiRequest) -> str:
    """Return what ``request`` attempts, in words: ``create pod default/web``, ``list pods``."""
    subject = subject_of(request.path)
    name = subject.name or _name_in(request)
    if request.verb is Verb.GET and not name:
        where = f" in {subject.namespace}" if subject.namespace else ""
        return f"list {subject.resource}{where}"
    full_name = "/".join(part for part in (subject.namespace, name) if part)
    part = f"{subject.subresource} of " if subject.subresource else ""
    what = f"{part}{_singular(subject.resource)} {full_name}".rstrip()
    return f"{_IN_WORDS[request.verb]} {what}"


def is_lifeline(request: ApiRequest) -> bool:
    """Return whether the cluster takes this node for dead when ``request`` is late: Node and Lease."""
    subject = subject_of(request.path)
    return (subject.group, subject.resource) in {("", "nodes"), ("coordination.k8s.io", "leases")}


def _name_in(request: ApiRequest) -> str:
    metadata = (request.body or {}).get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _singular(resource: str) -> str:
    if resource.endswith("ies"):
        return resource[:-3] + "y"
    return resource[:-2] if resource.endswith("sses") else resource.removesuffix("s")
