"""Tokens of service accounts, as the API server in memory issues them: readable claims, and a signature that
is the canary. Whoever shows such a token to people is seen."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime

from messages.pods import JsonObject
from tests.support.apiserver.paths import POD, SERVICE_ACCOUNT, Place
from tests.support.apiserver.status import StatusError, conflict, forbidden, invalid, not_found
from tests.support.canary import CANARY

ISSUER = "https://kubernetes.default"
SHORTEST = 600
RECREATED = "The object might have been deleted and then recreated"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """A TokenRequest, and all that its answer depends on."""

    place: Place
    body: JsonObject
    account: JsonObject | None
    pod: JsonObject | None
    """The one that it is to be bound to, if there is one of that name."""
    node: str
    """Empty for an administrator."""
    now: float
    number: int
    """Each token has another one."""

    @property
    def bound(self) -> JsonObject:
        found: JsonObject = self.body.get("spec", {}).get("boundObjectRef") or {}
        return found


def issued(wish: TokenWish) -> JsonObject:
    """Return the answer to ``wish``. Raises ``StatusError``."""
    _check(wish)
    spec = wish.body["spec"]
    life = spec.get("expirationSeconds", 3600)
    audiences = spec.get("audiences") or [ISSUER]
    claims = {
        "aud": audiences,
        "iat": int(wish.now),
        "exp": int(wish.now) + life,
        "jti": wish.number,
        "sub": f"system:serviceaccount:{wish.place.namespace}:{wish.place.name}",
        "kubernetes.io": {"pod": {"name": wish.bound.get("name"), "uid": wish.bound.get("uid")}},
    }
    until = datetime.fromtimestamp(int(wish.now) + life, UTC)
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"creationTimestamp": None},
        "spec": {**spec, "audiences": audiences, "expirationSeconds": life},
        "status": {
            "token": f"{_part({'alg': 'none'})}.{_part(claims)}.{CANARY}",
            "expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }


def _check(wish: TokenWish) -> None:
    name, bound = wish.place.name, wish.bound
    if wish.node:
        _check_node(wish)
    if wish.account is None:
        raise not_found(SERVICE_ACCOUNT, name)
    life = wish.body.get("spec", {}).get("expirationSeconds", 3600)
    if life < SHORTEST:
        why = f"spec.expirationSeconds: Invalid value: {life}: "
        why += "may not specify a duration less than 10 minutes"
        raise invalid(SERVICE_ACCOUNT, "", why)
    if bound and wish.pod is None:
        raise not_found(POD, bound["name"])
    if wish.pod is not None and bound["uid"] != wish.pod["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record"
        raise conflict(POD, bound["name"], f"{why}. {RECREATED}")


def _check_node(wish: TokenWish) -> None:
    name, bound = wish.place.name, wish.bound
    if not bound.get("uid"):
        raise forbidden(SERVICE_ACCOUNT, name, "node requested token not bound to a pod")
    if wish.pod is None:
        raise StatusError(404, "NotFound", f'pod "{bound["name"]}" not found')
    uid = wish.pod["metadata"]["uid"]
    if bound["uid"] != uid:
        raise forbidden(
            SERVICE_ACCOUNT,
            name,
            f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record "
            f"({uid}). {RECREATED}",
        )
    if wish.pod["spec"].get("nodeName") != wish.node:
        raise forbidden(
            SERVICE_ACCOUNT,
            name,
            "node requested token bound to a pod scheduled on a different node",
        )


def _part(claims: JsonObject) -> str:
    return urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
