"""Reviews of tokens and access, as the API server in memory answers them.

Who has which token and who may what is set by the test. Whatever nobody was granted is denied.
"""

from __future__ import annotations

from typing import Any

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Reviews:
    """What the API server knows of users."""

    def __init__(self) -> None:
        self._users: dict[str, JsonObject] = {}
        self._grants: set[tuple[str, str, str]] = set()

    def knows(self, token: str, user: str, *groups: str, **others: Any) -> None:
        """Have ``token`` be that of ``user``."""
        self._users[token] = {"username": user, "groups": list(groups), **others}

    def forgets(self, token: str) -> None:
        """Have ``token`` be nobody's."""
        self._users.pop(token, None)

    def grants(self, user: str, verb: str, subresource: str) -> None:
        """Let ``user`` do ``verb`` to this part of any Node."""
        self._grants.add((user, verb, subresource))

    def takes_back(self, user: str, verb: str, subresource: str) -> None:
        """Let them no more."""
        self._grants.discard((user, verb, subresource))

    def answer(self, request: ApiRequest) -> JsonObject | None:
        """Return the review that ``request`` creates; None if it is about something else."""
        spec = (request.body or {}).get("spec") or {}
        if request.verb is not Verb.CREATE:
            return None
        if request.path == TOKEN_REVIEWS:
            return {**(request.body or {}), "status": self._token_status(spec)}
        if request.path == ACCESS_REVIEWS:
            asked = spec["resourceAttributes"]
            may = (spec["user"], asked["verb"], asked["subresource"]) in self._grants
            return {**(request.body or {}), "status": {"allowed": may}}
        return None

    def _token_status(self, spec: JsonObject) -> JsonObject:
        user = self._users.get(spec["token"])
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": user}
