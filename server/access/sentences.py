"""What is said to who may not, or not now. Pure."""

from __future__ import annotations

from typing import Final

from messages.access import AccessVerb, Identity, Review

RETRY_AFTER: Final = 5
"""Seconds after which it makes sense to ask again, where nobody could be asked."""

_MISSING: Final = {
    Review.TOKEN: "whose token this is",
    Review.ACCESS: "whether this is allowed",
}


def unauthorized() -> str:
    """Return the text of a 401, for whoever it is: why a token is not good is no business of its sender."""
    return "Unauthorized"


def forbidden(identity: Identity, verb: AccessVerb, subresources: tuple[str, ...]) -> str:
    """Return the text of a 403, which names the missing right as a kubelet does."""
    user = "".join(each if each.isprintable() else "\ufffd" for each in identity.user)
    missing = f"verb={verb}, resource=nodes, subresource(s)=[{' '.join(subresources)}]"
    return f"Forbidden (user={user}, {missing})\n"


def nobody_to_ask(review: Review) -> str:
    """Return the text of a 503, which names the missing review and nothing of the API server."""
    return f"the API server does not say {_MISSING[review]}: there is no {review}"
