"""What failures of calls and of operations mean for the pod that they were made for."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kernel.endings import failure_of as as_failure
from messages.container_runtime import RuntimeFailureKind
from runtimes.cri.messages import LookAgain
from runtimes.cri.operations.flow import failure_of, is_away
from runtimes.cri.running_operations import as_runtime_failure
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


def raise_with_a_secret() -> None:
    raise TypeError("hunter2 is not a number")


def test_a_bug_in_an_operation_is_told_by_its_type_and_its_place_alone() -> None:
    with pytest.raises(TypeError) as raised:
        raise_with_a_secret()
    failed = as_failure(raised.value)
    with capture_logs() as logs:
        failure = as_runtime_failure(failed, LookAgain(None))
    assert "TypeError at test_flow.py:" in failure.message
    assert [each["event"] for each in logs] == ["an operation failed"]
    assert "hunter2" not in repr((failure, logs))
