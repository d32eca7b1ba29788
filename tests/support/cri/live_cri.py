"""The runtime that speaks the CRI on real threads, over gRPC."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel import ChildSpec, SupervisorSpec
from messages.container_runtime import (
    CallRuntime,
    ContainersAre,
    FollowContainers,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeIsAway,
    RuntimeOutcome,
    RuntimeRequest,
)
from messages.pods import Pod
from runtimes.cri.hands import disk_lanes
from runtimes.cri.images.messages import IMAGE_KEEPER
from runtimes.cri.messages import CRI_CONTAINERS
from runtimes.cri.wire.grpc_wire import GrpcWire
from tests.support.cri.cri_stage import CriParts
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage
from tests.support.patience import PATIENCE


class LiveCri:
    """Calls the runtime behind a socket, and follows it."""

    def __init__(self, parts: CriParts, play: Stage) -> None:
        self.parts = parts
        self.play = play
        self.answers: Probe[RuntimeAnswered] = Probe()
        self.facts: Probe[RuntimeFact] = Probe()
        self._told: list[RuntimeFact] = []
        self._refs = itertools.count(1)
        play.port(CRI_CONTAINERS).tell(FollowContainers(subscriber=self.facts))

    def call(self, request: RuntimeRequest) -> RuntimeOutcome:
        """Make a call, and wait for its outcome."""
        ref = next(self._refs)
        call = CallRuntime(request=request, reply_to=self.answers, ref=ref)
        self.play.port(CRI_CONTAINERS).tell(call)
        answered = self.answers.next()
        assert answered.ref == ref
        return answered.outcome

    def is_told(self, kind: type[RuntimeFact], within: float = PATIENCE) -> RuntimeFact:
        """Return the next fact of a kind. Those before it are forgotten."""
        until, pause = time.monotonic() + within, threading.Event()
        while time.monotonic() < until:
            self._told += self.facts.drain()
            while self._told:
                fact = self._told.pop(0)
                if isinstance(fact, kind):
                    return fact
            pause.wait(0.005)
        raise AssertionError(f"no {kind.__name__}")

    def is_there(self) -> ContainersAre:
        """Return the next complete account."""
        fact = self.is_told(ContainersAre)
        assert isinstance(fact, ContainersAre)
        return fact

    def is_away(self, within: float = PATIENCE) -> str:
        """Return why it is away, once it is."""
        fact = self.is_told(RuntimeIsAway, within)
        assert isinstance(fact, RuntimeIsAway)
        return fact.message

    def known(self, pod: Pod) -> list[Any]:
        """Return the containers of a pod that are known now."""
        contents = self.parts.memory.inventory.contents(pod.uid)
        return [one for each in contents for one in each.containers]


@contextmanager
def live_cri(
    socket: Path, folder: Path, prepare: Callable[[CriParts], object] = lambda _: None
) -> Iterator[LiveCri]:
    """Run the runtime of the socket for the ``with`` block."""
    wire, disk = GrpcWire(socket), disk_lanes()
    parts = CriParts(folder, wire, disk)
    prepare(parts)

    def spec(key: Any, factory: Callable[[], Any]) -> ChildSpec[Any]:
        return ChildSpec(key=key, factory=factory)

    children = (
        spec(IMAGE_KEEPER, parts.make_images),
        spec(CRI_CONTAINERS, lambda: parts.make_containers(play.port)),
    )
    with live_stage(SupervisorSpec(name="root", children=children)) as play:
        try:
            yield LiveCri(parts, play)
        finally:
            wire.close()
            disk.close()
