"""What events say that no honest runtime tells: nothing, or as much as can be read."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from messages.pods import PodUid
from runtimes.cri.events import SomethingHappened, what_happened
from runtimes.cri.wire import containerd_events_pb2 as containerd
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.cri.fake_cri import envelope

BROKEN = b"\xff\xff\xff"


def broken(type_url: str) -> containerd.Envelope:
    sent = containerd.Envelope()
    sent.event.type_url, sent.event.value = type_url, BROKEN
    return sent


@pytest.mark.parametrize(
    "event",
    [
        cri.ContainerEventResponse(),
        cri.VersionResponse(),
        containerd.Envelope(),
        broken("containerd.events.TaskExit"),
        broken("containerd.events.TaskStart"),
    ],
)
def test_what_names_no_container_is_about_nothing(event: Message) -> None:
    assert what_happened(event) is None


def test_an_exit_whose_time_or_code_no_number_holds_is_to_be_asked_for() -> None:
    for exited in (
        containerd.TaskExit(container_id="c", id="c", exit_status=(1 << 32) - 1),
        containerd.TaskExit(container_id="c", id="c"),
    ):
        assert what_happened(envelope("/tasks/exit", exited)) == SomethingHappened(id="c")


def test_an_event_of_the_interface_says_whose_the_container_is() -> None:
    event = cri.ContainerEventResponse(container_id="c", created_at=5)
    assert what_happened(event) == SomethingHappened(id="c", at=5)
    event.pod_sandbox_status.metadata.uid = "u"
    assert what_happened(event) == SomethingHappened(id="c", uid=PodUid("u"), at=5)
