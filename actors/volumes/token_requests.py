"""What the API server is asked for a token, and what its answer says of it. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from actors.volumes.token_schedule import IssuedToken
from manifests.times import moment_of
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject, Pod
from messages.tokens import TokenNeeded
from messages.units import Instant, Seconds

DEFAULT_ACCOUNT: Final = "default"
"""The service account of a pod that names none."""
NO_TOKEN: Final = "the API server's answer holds no token that could be used"  # noqa: S105  # a sentence
NO_ACCOUNT: Final = "a static pod has no service account, and so no token of one"


class TokenAsk(NamedTuple):
    """What is asked for. Files of a pod that differ in their path alone have one token."""

    audience: str
    expiration_seconds: int


def ask_of(needed: TokenNeeded) -> TokenAsk:
    """Return what is asked for where ``needed`` is shown."""
    return TokenAsk(needed.audience, needed.expiration_seconds)


def account_of(pod: Pod) -> str:
    """Return the name of the pod's service account."""
    spec = pod.document.get("spec") or {}
    return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT_ACCOUNT)


def no_tokens(pod: Pod) -> str:
    """Return why ``pod`` never gets a token; empty if it may."""
    # No API server knows a static pod by its UID, and of its mirror a kubelet's has no service account.
    return NO_ACCOUNT if pod.is_static or pod.is_mirror else ""


def token_request(pod: Pod, ask: TokenAsk) -> ApiRequest:
    """Return the request for a token that is good as long as ``pod`` exists, or shorter."""
    spec: dict[str, Any] = {
        "expirationSeconds": ask.expiration_seconds,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid},
    }
    if ask.audience:
        spec["audiences"] = [ask.audience]
    return ApiRequest(
        verb=Verb.CREATE,
        path=f"/api/v1/namespaces/{pod.namespace}/serviceaccounts/{account_of(pod)}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {},
            "spec": spec,
        },
    )


def token_issued(answer: JsonObject, now: Instant, share: float) -> IssuedToken | None:
    """Return the token in ``answer``, which came ``now``; None if there is none.

    ``share`` is between 0 and 1, drawn at random for each token.
    """
    status = answer.get("status")
    value = status.get("token") if isinstance(status, Mapping) else None
    if not isinstance(value, str) or not value.isascii() or not value:
        return None
    life = _life(answer, value)
    if life is None:
        return None
    return IssuedToken(value=value.encode("ascii"), since=now, life=life, share=share)


def _life(answer: JsonObject, value: str) -> Seconds | None:
    """Return for how long the token is good, by the API server's clock alone: this machine's may be wrong.

    That is from its own moment of issue to its word on the end. An API server may write a much later end
    into the token than it says, so that clients that never read their file again go on for a year: what it
    says is when the token has to be another one.
    """
    begin, end = _claims(value)
    said = moment_of(answer["status"].get("expirationTimestamp"))
    if begin is not None and (said is not None or end is not None):
        life = min(moment for moment in (said, end) if moment is not None) - begin
    else:
        life = _asked_for(answer)
    return Seconds(life) if life > 0 else None


def _asked_for(answer: JsonObject) -> float:
    """Return the life as the API server took the wish: it may have shortened that."""
    spec = answer.get("spec")
    return _number(spec.get("expirationSeconds") if isinstance(spec, Mapping) else None) or 0.0


def _claims(value: str) -> tuple[float | None, float | None]:
    """Return when the token was issued and when it ends, as far as it can be read."""
    parts = value.split(".")
    if len(parts) != 3:
        return None, None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(claims, dict):
        return None, None
    return _number(claims.get("iat")), _number(claims.get("exp"))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 2**53 else None
