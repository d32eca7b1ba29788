"""The failures that fakes of the API server answer with: those that the real senders make of them.

The fakes decide what fails, with which status and reason. What that means to actors is said by the
product's own ``kube.errors``, so that a fault there shows in the stories too.
"""

from __future__ import annotations

import json

from kube.errors import RETRY, error_of_answer
from messages.api import ApiFailure, FailureKind
from tests.support.apiserver.status import StatusError

STATUS_OF: dict[FailureKind, int] = {
    FailureKind.UNAUTHORIZED: 401,
    FailureKind.FORBIDDEN: 403,
    FailureKind.NOT_FOUND: 404,
    FailureKind.ALREADY_EXISTS: 409,
    FailureKind.CONFLICT: 409,
    FailureKind.GONE: 410,
    FailureKind.INVALID: 422,
    FailureKind.THROTTLED: 429,
    FailureKind.SERVER_ERROR: 503,
}


def failure_of(what: FailureKind | ApiFailure) -> ApiFailure:
    """Return a failure of the kind ``what``, or ``what`` itself."""
    if isinstance(what, ApiFailure):
        return what
    return ApiFailure(
        kind=what,
        retry=RETRY[what],
        sentence=f"cannot reach what the story is about: {what.value}",
        status=STATUS_OF.get(what, 0),
    )


def failure_of_status(error: StatusError, attempt: str) -> ApiFailure:
    """Return what the sender of calls makes of a Status."""
    body = json.dumps(error.status).encode()
    return error_of_answer(error.code, {}, body).failure(attempt, None)
