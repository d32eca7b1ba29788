"""Failures that say nothing about the requested object: the API server could not be asked.

The same request makes sense again later. None of these failures is a verdict on the object.
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
