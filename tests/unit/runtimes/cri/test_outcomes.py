"""What a failed call means for the pod that it was made for."""

from __future__ import annotations

import pytest

from messages.container_runtime import RuntimeFailureKind
from runtimes.cri.operations.outcomes import failure_of, is_away
from runtimes.cri.wire.transport import RpcCode, RpcFailure

SWITCHED_OFF = "unknown service runtime.v1.RuntimeService"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (RpcCode.UNAVAILABLE, "connection refused"),
        (RpcCode.OTHER, "server is not initialized yet"),
        (RpcCode.UNIMPLEMENTED, SWITCHED_OFF),
    ],
)
def test_a_runtime_that_cannot_be_asked_says_nothing_about_the_pod(
    code: RpcCode, message: str
) -> None:
    failure = RpcFailure(code=code, message=message)
    assert is_away(failure)
    assert failure_of(failure).kind is RuntimeFailureKind.UNCERTAIN


def test_a_call_that_a_runtime_does_not_have_is_not_supported() -> None:
    message = "method CheckpointContainer not implemented"
    failure = RpcFailure(code=RpcCode.UNIMPLEMENTED, message=message)
    assert not is_away(failure)
    assert failure_of(failure).kind is RuntimeFailureKind.UNSUPPORTED
