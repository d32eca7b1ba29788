"""The keeper of images on a stage, with a runtime in memory, and pods that ask for images."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernel import Runtime
from messages.container_runtime import (
    CallRuntime,
    FindImage,
    ImageFound,
    PullImage,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeOutcome,
    RuntimeRequest,
)
from messages.events import PostEvent
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.garbage import DiskSpace
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.images.options import GarbageOptions, ImageOptions, PullOptions
from tests.support.builders import make_pod
from tests.support.images.image_service import ImageService
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, stage_for


def pod_with(name: str = "web", *secrets: str) -> Pod:
    """Return a pod with these pull secrets."""
    references = [{"name": each} for each in secrets]
    return make_pod(name, source="api", spec={"imagePullSecrets": references})


def pull_secret(name: str, user: str, location: str = "quay.io") -> dict[ObjectId, ObjectValue]:
    """Return a Secret with the credentials of ``user``."""
    auths = {"auths": {location: {"username": user, "password": f"canary-{user}"}}}
    value = ObjectValue(
        uid=f"uid-{name}",
        resource_version="1",
        data={".dockerconfigjson": json.dumps(auths).encode()},
        type="kubernetes.io/dockerconfigjson",
    )
    return {ObjectId(kind=ObjectKind.SECRET, namespace="default", name=name): value}


class ImageStage:
    """Asks the keeper of images, and shows what it answers."""

    def __init__(self, options: ImageOptions, runtime: Runtime | None = None) -> None:
        self.service = ImageService()
        self.options = options
        self.space = DiskSpace(100_000, 100_000)
        """Of the images' file system."""
        self.memory = ImageMemory.of(options)
        self.jobs = HandLanes()
        self.answers: Probe[RuntimeAnswered] = Probe()
        self.events: Probe[PostEvent] = Probe()
        self.play = stage_for(
            (IMAGE_KEEPER, lambda _: self._keeper()),
            runtime=runtime,
            root=PATIENT_ROOT,
        )
        self._refs = itertools.count(1)

    def _keeper(self) -> ImageKeeper:
        ports = ImagePorts(
            wire=self.service,
            disk=self.jobs,
            events=self.events,
            measure=lambda _path: self.space,
        )
        return ImageKeeper(ports, self.memory, self.options)

    # --- what pods do ----------------------------------------------------------------------------------

    def send(self, request: RuntimeRequest, deadline: float = 3600.0) -> int:
        """Make a call, and return its ref."""
        ref = next(self._refs)
        call = CallRuntime(
            request=request, reply_to=self.answers, ref=ref, deadline=Seconds(deadline)
        )
        self.play.tell(IMAGE_KEEPER, call)
        return ref

    def find(self, image: str, pod: Pod | None = None, **objects: Any) -> RuntimeOutcome:
        """Look for an image, and return the answer."""
        self.send(FindImage(image=image, pod=pod or pod_with(), **objects))
        return self.answer()

    def find_later(self, image: str, pod: Pod, secrets: dict[ObjectId, ObjectValue]) -> int:
        """Look for an image, and return the ref of the call."""
        return self.send(FindImage(image=image, pod=pod, objects=secrets))

    def ask(
        self,
        image: str,
        pod: Pod | None = None,
        secrets: dict[ObjectId, ObjectValue] | None = None,
        deadline: float = 3600.0,
    ) -> int:
        """Ask for a pull, and return the ref of the call."""
        request = PullImage(image=image, pod=pod or pod_with(), objects=secrets or {})
        return self.send(request, deadline)

    def pull(
        self,
        image: str,
        pod: Pod | None = None,
        secrets: dict[ObjectId, ObjectValue] | None = None,
    ) -> RuntimeOutcome:
        """Pull an image, and return the answer."""
        self.ask(image, pod, secrets)
        return self.answer()

    # --- what they hear --------------------------------------------------------------------------------

    def answer(self) -> RuntimeOutcome:
        """Return the only answer that came."""
        (answered,) = self.answers.drain()
        return answered.outcome

    def answered(self) -> dict[Any, RuntimeOutcome]:
        """Return the answers that came since the last look, by ref. Fails if a call has two."""
        answers = self.answers.drain()
        found = {each.ref: each.outcome for each in answers}
        assert len(found) == len(answers)
        return found

    def said(self) -> list[tuple[str, str]]:
        """Return reason and message of the events since the last look."""
        return [(each.reason, each.message) for each in self.events.drain()]

    def crash(self) -> None:
        """Crash the keeper of images, and let it live again."""
        self.play.system.crash(IMAGE_KEEPER.path)
        self.play.advance(1.0)


def image_id(outcome: RuntimeOutcome) -> str:
    """Return the id of an image that was found."""
    assert isinstance(outcome, ImageFound), outcome
    return outcome.image_id


def refusal(outcome: RuntimeOutcome) -> RuntimeFailure:
    assert isinstance(outcome, RuntimeFailure), outcome
    return outcome


@contextmanager
def image_stage(
    pulls: PullOptions | None = None,
    runtime: Runtime | None = None,
    *,
    options: ImageOptions | None = None,
) -> Iterator[ImageStage]:
    """Start the keeper of images for the ``with`` block. It removes none, unless ``options`` say so."""
    options = options or ImageOptions(
        pulls=pulls or PullOptions(), garbage=GarbageOptions(high_percent=100)
    )
    stage = ImageStage(options, runtime)
    stage.play.start()
    try:
        yield stage
    finally:
        assert stage.play.stop() == 0
