"""What the API server is asked about tokens and access, and what its answers mean. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from messages.access import AccessVerb, Identity, Known, Unknown
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject

TOKENS: Final = ("authentication.k8s.io/v1", "TokenReview", "tokenreviews")
ACCESS: Final = ("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews")
NOT_GOOD: Final = "the API server does not accept the token"


def token_review(token: str) -> ApiRequest:
    """Return the request that asks whose ``token`` this is.

    It names no audiences: those of the API server count.
    """
    return _review(TOKENS, {"token": token})


def access_review(spec: JsonObject) -> ApiRequest:
    """Return the request that asks about ``spec``, which ``access`` has made."""
    return _review(ACCESS, spec)


def access(identity: Identity, verb: AccessVerb, subresource: str, node: str) -> JsonObject:
    """Return what is asked about ``identity``: whether they may do ``verb`` to a part of the ``node``."""
    return {
        "user": identity.user,
        "uid": identity.uid,
        "groups": list(identity.groups),
        "extra": {name: list(values) for name, values in sorted(identity.extra.items())},
        "resourceAttributes": {
            "verb": verb.value,
            "group": "",
            "version": "v1",
            "resource": "nodes",
            "subresource": subresource,
            "name": node,
        },
    }


def as_bytes(spec: JsonObject) -> bytes:
    """Return ``spec`` in one form: the same question has the same bytes, and no other one has them."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()


def identity_in(answer: JsonObject) -> Known | Unknown | None:
    """Return what a TokenReview says; None if it says nothing."""
    status = answer.get("status")
    if not isinstance(status, Mapping):
        return None
    if status.get("authenticated") is not True:
        return Unknown(sentence=str(status.get("error") or NOT_GOOD))
    user = status.get("user")
    name = user.get("username") if isinstance(user, Mapping) else None
    if not isinstance(user, Mapping) or not isinstance(name, str) or not name:
        return None
    extra = user.get("extra")
    return Known(
        identity=Identity(
            user=name,
            uid=str(user.get("uid") or ""),
            groups=_texts(user.get("groups")),
            extra={str(each): _texts(values) for each, values in extra.items()}
            if isinstance(extra, Mapping)
            else {},
        )
    )


def is_allowed_in(answer: JsonObject) -> bool | None:
    """Return what a SubjectAccessReview says; None if it says nothing."""
    status = answer.get("status")
    if not isinstance(status, Mapping) or not isinstance(status.get("allowed"), bool):
        return None
    return status["allowed"] is True and status.get("denied") is not True


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, list | tuple) else ()


def _review(kind: tuple[str, str, str], spec: Mapping[str, Any]) -> ApiRequest:
    version, name, plural = kind
    return ApiRequest(
        verb=Verb.CREATE,
        path=f"/apis/{version}/{plural}",
        body={"apiVersion": version, "kind": name, "metadata": {}, "spec": dict(spec)},
    )
