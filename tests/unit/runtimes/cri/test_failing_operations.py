"""An operation with a bug ends with a failure that tells no values."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kernel.failures import failure_of
from runtimes.cri.purposes import LookAgain
from runtimes.cri.running_operations import as_runtime_failure


def raise_with_a_secret() -> None:
    raise TypeError("hunter2 is not a number")


def test_a_bug_in_an_operation_is_told_by_its_type_and_its_place_alone() -> None:
    with pytest.raises(TypeError) as raised:
        raise_with_a_secret()
    failed = failure_of(raised.value)
    with capture_logs() as logs:
        failure = as_runtime_failure(failed, LookAgain(None))
    assert "TypeError at test_failing_operations.py:" in failure.message
    assert [each["event"] for each in logs] == ["an operation failed"]
    assert "hunter2" not in repr((failure, logs))
