"""Which failures say nothing about the object of a request: the API server could not be asked.

The same request makes sense again later, and the same for all of them: it is no verdict on anything.
"""

from __future__ import annotations

from typing import Final

from messages.api import FailureKind

NOT_ASKED: Final = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.MALFORMED,
        FailureKind.THROTTLED,
        FailureKind.SERVER_ERROR,
        FailureKind.CREDENTIALS,
        FailureKind.UNAUTHORIZED,
    }
)
