"""An operation with a bug ends with a failure that tells no values, and the next ones go on."""

from __future__ import annotations

from structlog.testing import capture_logs

from messages.units import Seconds
from runtimes.container_runtime import RuntimeFailure
from runtimes.cri.driver import Driver, DriverMemory, StepEnded
from runtimes.cri.operations.flow import Operation, on_disk
from runtimes.cri.purposes import LookAgain
from tests.support.cri.cri_stage import DiskAtOnce
from tests.support.cri.noted_wire import NotedWire
from tests.support.kernel.probe import Probe


def broken() -> Operation[None]:
    yield from ()
    raise TypeError("hunter2 is not a number")


def whole() -> Operation[str]:
    return (yield from on_disk(lambda: "done"))


def test_a_bug_in_one_operation_is_the_failure_of_that_one() -> None:
    outcomes = Probe[StepEnded]()
    driver = Driver(DriverMemory(), NotedWire(), DiskAtOnce(), outcomes, lambda *_: None)
    with capture_logs() as logs:
        ended = driver.begin(LookAgain(None), broken(), Seconds(1.0))
    assert ended is not None
    assert isinstance(ended.result, RuntimeFailure)
    assert "TypeError at test_failing_operations.py:" in ended.result.message
    assert "hunter2" not in repr((ended.result.message, logs))
    assert driver.begin(LookAgain(None), whole(), Seconds(1.0)) is None
    last = driver.take(outcomes.next())
    assert last is not None
    assert last.result == "done"
