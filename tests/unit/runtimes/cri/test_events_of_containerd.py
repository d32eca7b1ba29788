"""What containerd's own stream of events says."""

from __future__ import annotations

import pytest

from runtimes.cri.events import SomethingHappened, what_happened
from runtimes.cri.inventory import ContainerExit
from runtimes.cri.wire import containerd_events_pb2 as containerd

AT = 1_800_000_000


def exit_event(*, seconds: int = AT, status: int = 3, of_exec: bool = False) -> containerd.Envelope:
    ended = containerd.TaskExit(container_id="c1", id="e1" if of_exec else "c1", exit_status=status)
    ended.exited_at.seconds = seconds
    envelope = containerd.Envelope(topic="/tasks/exit")
    envelope.event.type_url = "containerd.events.TaskExit"
    envelope.event.value = ended.SerializeToString()
    return envelope


def test_an_exit_is_told_with_its_code_and_its_time() -> None:
    exited = ContainerExit(exit_code=3, at=AT * 10**9)
    assert what_happened(exit_event()) == SomethingHappened(id="c1", exited=exited, at=exited.at)


def test_the_end_of_a_command_in_a_container_is_nothing() -> None:
    assert what_happened(exit_event(of_exec=True)) is None


@pytest.mark.parametrize(
    "event",
    [
        exit_event(seconds=-62_135_596_800),
        exit_event(seconds=0),
        exit_event(seconds=1 << 62),
        exit_event(status=(1 << 32) - 1),
    ],
)
def test_an_exit_that_cannot_be_is_asked_for(event: containerd.Envelope) -> None:
    assert what_happened(event) == SomethingHappened(id="c1")
