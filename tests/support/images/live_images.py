"""The keeper of images on real threads, over the wire, with a containerd of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kernel import ChildSpec, SupervisorSpec
from messages.container_runtime import (
    CallRuntime,
    FindImage,
    PullImage,
    RuntimeAnswered,
    RuntimeOutcome,
)
from messages.objects import ObjectId, ObjectValue
from messages.pods import Pod
from runtimes.cri.hands import disk_lanes
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.images.options import ImageOptions
from runtimes.cri.wire.grpc_wire import GrpcWire
from tests.support.images.image_stage import pod_with
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage


class LiveImages:
    """Asks the keeper of images of a real runtime."""

    def __init__(self, play: Stage) -> None:
        self.play = play
        self.answers: Probe[RuntimeAnswered] = Probe()

    def ask(self, request: FindImage | PullImage, ref: int = 0) -> None:
        """Make a call."""
        call = CallRuntime(request=request, reply_to=self.answers, ref=ref)
        self.play.port(IMAGE_KEEPER).tell(call)

    def pull(
        self,
        image: str,
        pod: Pod | None = None,
        secrets: Mapping[ObjectId, ObjectValue] | None = None,
    ) -> RuntimeOutcome:
        """Pull an image, and wait for the answer."""
        self.ask(PullImage(image=image, pod=pod or pod_with(), objects=secrets or {}))
        return self.answers.next().outcome

    def find(self, image: str) -> RuntimeOutcome:
        """Look for an image, and wait for the answer."""
        self.ask(FindImage(image=image, pod=pod_with()))
        return self.answers.next().outcome


@contextmanager
def live_images(socket: Path, options: ImageOptions | None = None) -> Iterator[LiveImages]:
    """Start the keeper of images of the runtime at ``socket`` for the ``with`` block."""
    options = options or ImageOptions()
    wire, disk, memory = GrpcWire(socket), disk_lanes(), ImageMemory.of(options)

    def make() -> ImageKeeper:
        ports = ImagePorts(
            wire=wire,
            disk=disk,
        )
        return ImageKeeper(ports, memory, options)

    keeper = ChildSpec(key=IMAGE_KEEPER, factory=make)
    spec = SupervisorSpec(name="root", children=(keeper,))
    with live_stage(spec) as play:
        try:
            yield LiveImages(play)
        finally:
            wire.close()
            disk.close()
