"""Wires that carry calls on: counted, and by two connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from google.protobuf.message import Message

from agent.process import LastCalls
from runtimes.cri import rpcs
from runtimes.cri.figures import CallMade
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure, RpcOutcome
from runtimes.cri.wires import CountedWire, SplitWire
from tests.support.cri.noted_wire import NotedWire, nothing


def test_a_call_is_noted_with_its_time_and_whether_it_failed() -> None:
    times: Iterator[float] = iter((1.0, 2.0, 2.25, 5.0))
    noted: deque[CallMade] = deque()
    held, outcomes = NotedWire(), list[RpcOutcome]()
    wire = CountedWire(held, noted, lambda: next(times), LastCalls().begin)
    wire.call(rpcs.version(), outcomes.append)
    wire.call(rpcs.status(), outcomes.append)
    assert not noted

    failure = RpcFailure(code=RpcCode.UNAVAILABLE, message="refused")
    held.calls[1](failure)
    held.calls[0](cri.VersionResponse())
    method = "/runtime.v1.RuntimeService/"
    assert list(noted) == [(f"{method}Status", 0.25, True), (f"{method}Version", 4.0, False)]
    assert outcomes == [failure, cri.VersionResponse()]


def test_it_is_known_which_calls_that_make_sandboxes_have_not_ended() -> None:
    held, last_calls, ends = NotedWire(), LastCalls(), list[int]()
    last_calls.when_none = lambda: ends.append(len(last_calls))
    wire = CountedWire(held, deque(), lambda: 0.0, last_calls.begin)
    for rpc in (rpcs.version(), *[rpcs.run_sandbox(cri.PodSandboxConfig(), "")] * 2):
        wire.call(rpc, nothing)
    assert len(last_calls) == 2
    held.calls[0](cri.VersionResponse())
    held.calls[1](RpcFailure(code=RpcCode.UNAVAILABLE, message="refused"))
    assert (len(last_calls), ends) == (1, [])
    held.calls[2](cri.RunPodSandboxResponse())
    assert (len(last_calls), ends) == (0, [0])


def test_streams_go_on_as_they_are_and_the_connection_can_be_closed() -> None:
    held, told = NotedWire(), list[Message]()
    noted: deque[CallMade] = deque()
    wire = CountedWire(held, noted, lambda: 0.0, LastCalls().begin)
    assert wire.follow(rpcs.container_events(), told.append, nothing).cancel()
    wire.close()
    assert (len(told), held.is_closed, len(noted)) == (1, True, 0)


def test_images_are_asked_for_at_their_own_socket_and_all_else_at_the_runtimes() -> None:
    images, others = NotedWire(), NotedWire()
    wire = SplitWire(images, others)
    wire.call(rpcs.image_status("busybox"), nothing)
    wire.call(rpcs.version(), nothing)
    wire.call(rpcs.start_container("c"), nothing)
    wire.follow(rpcs.container_events(), nothing, nothing)
    assert images.methods == ["ImageStatus"]
    assert others.methods == ["Version", "StartContainer", "GetContainerEvents"]


def test_both_connections_are_closed_together() -> None:
    images, others = NotedWire(), NotedWire()
    SplitWire(images, others).close()
    assert images.is_closed
    assert others.is_closed
