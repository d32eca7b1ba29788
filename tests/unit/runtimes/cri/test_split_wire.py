"""A runtime may have another socket for images than for all else."""

from __future__ import annotations

from runtimes.cri import rpcs
from runtimes.cri.split_wire import SplitWire
from tests.support.cri.noted_wire import NotedWire, nothing


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
