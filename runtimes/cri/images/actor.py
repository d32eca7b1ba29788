"""The keeper of images: it finds and pulls them for pods.

What a pull takes is in ``image_operations``, which pulls there are in ``pull_queue``; this file is the actor
around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import PooledActor, Timer
from manifests.durations import format_duration
from manifests.image_names import ImageName, parse_image_name
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import Pod
from messages.units import Seconds
from runtimes.container_runtime import (
    CallRuntime,
    FindImage,
    PullImage,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
)
from runtimes.cri.images.courses import Course, Courses, Crew, ImageStepEnded
from runtimes.cri.images.image_messages import ImageKeeperMessage, ImagePorts, PullsDue
from runtimes.cri.images.image_operations import ImagePulled, found_image, pulled_image
from runtimes.cri.images.keyring import pull_secrets
from runtimes.cri.images.options import DEFAULT_PULLS, PullOptions
from runtimes.cri.images.pull_failures import QPS_EXCEEDED
from runtimes.cri.images.pull_queue import PullOrder, PullQueue, PullWaiter
from runtimes.cri.operations.flow import Operation

LOOK_EVERY: Final = Seconds(10.0)
"""How often pulls are looked at that are under way."""

_UNCERTAIN: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNCERTAIN, message="the agent failed over the request"
)
_NOT_HERE: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNSUPPORTED, message="this is no request about an image"
)

_log = structlog.get_logger("images")


@dataclass(frozen=True, slots=True)
class ImageSearch:
    """One look for an image."""

    call: CallRuntime
    request: FindImage


ImageWork: TypeAlias = ImageSearch | PullOrder


@dataclass(slots=True)
class ImageMemory:
    """What outlives a life of the keeper of images: everything that is under way."""

    queue: PullQueue
    courses: Courses[ImageWork] = field(default_factory=Courses)
    in_hand: ImageKeeperMessage | None = None
    """What is being handled. A life that finds something here follows on a crash over it."""

    @classmethod
    def of(cls, options: PullOptions = DEFAULT_PULLS) -> ImageMemory:
        """Return the memory of a process that begins."""
        return cls(queue=PullQueue(options))


class ImageKeeper(PooledActor[ImageKeeperMessage]):
    """Finds and pulls images.

    Owns: the pulls that wait or are under way, and who waits for each.
    Hears: ``CallRuntime`` with ``FindImage`` or ``PullImage``; outcomes of its calls; its own timer.
    Tells: whoever made a call ``RuntimeAnswered``, once; events about pods whose pull takes long.
    Fails when: it has a bug. The next life goes on with all that is under way. What the last one failed over
    is answered as uncertain.

    Order: pulls begin in the order in which they were first asked for. One pull serves all that ask for the
    same image with the same credentials. Repetition: a call that repeats replaces the one before. It never
    waits and does no I/O: calls go over the wire, and jobs to threads.
    """

    def __init__(
        self, ports: ImagePorts, memory: ImageMemory, pulls: PullOptions = DEFAULT_PULLS
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._pulls = pulls
        self._crew = Crew(ports.wire, ports.threads, ports.me)
        self._timer: Timer | None = None

    @override
    def started(self) -> None:
        failed, self._memory.in_hand = self._memory.in_hand, None
        match failed:
            case CallRuntime():
                self._answer(failed, _UNCERTAIN)
            case ImageStepEnded(course=ref):
                self._drop(ref)
            case _:
                pass
        self._drop_lost_pulls()
        self._begin_pulls()

    @override
    def receive(self, message: ImageKeeperMessage, /) -> None:
        self._memory.in_hand = message
        match message:
            case CallRuntime():
                self._take_call(message)
            case ImageStepEnded():
                self._take_outcome(message)
            case PullsDue():
                self._timer = None
                self._look_at_pulls()
            case _:
                assert_never(message)
        self._begin_pulls()
        self._memory.in_hand = None

    # --- what it hears ---------------------------------------------------------------------------------

    def _take_call(self, call: CallRuntime) -> None:
        match call.request:
            case FindImage() | PullImage() as request:
                name = parse_image_name(request.image)
                if name is None:
                    self._answer(call, _invalid(request.image))
                elif isinstance(request, FindImage):
                    search = ImageSearch(call, request)
                    self._begin(search, found_image(name.asked_for))
                else:
                    self._queue(call, request, name)
            case _:
                self._answer(call, _NOT_HERE)

    def _queue(self, call: CallRuntime, request: PullImage, name: ImageName) -> None:
        secrets = pull_secrets(request.pod.document, request.objects)
        for complaint in secrets.complaints:
            _log.warning("a pull secret", pod=request.pod.display_name, trouble=complaint)
        if secrets.missing:
            names = ", ".join(secrets.missing)
            self._say(
                request.pod,
                EventType.WARNING,
                "FailedToRetrieveImagePullSecret",
                f"Unable to retrieve some image pull secrets ({names}); "
                "attempting to pull the image may not succeed.",
            )
        credentials = secrets.keyring.lookup(name.repository)
        waiter = PullWaiter(call, request.pod, self.clock.monotonic())
        order = self._memory.queue.join(name, credentials, waiter)
        if order.began_at is None and self._memory.queue.under_way:
            _log.info("pull waits for its turn", image=name.given, pod=request.pod.display_name)

    def _take_outcome(self, ended: ImageStepEnded) -> None:
        course = self._memory.courses.take(ended, self._crew)
        if course is not None and course.has_ended:
            self._finish(course)

    # --- what is under way -----------------------------------------------------------------------------

    def _begin_pulls(self) -> None:
        for order, may_begin in self._memory.queue.begin(self.clock.monotonic()):
            if not may_begin:
                self._answer_all(order, QPS_EXCEEDED)
                continue
            operation = pulled_image(order.image, order.credentials, self._pulls.deadline)
            self._begin(order, operation)
        if self._timer is None and len(self._memory.queue):
            self._timer = self.after(LOOK_EVERY, PullsDue())

    def _begin(self, work: ImageWork, operation: Operation[Any]) -> None:
        course = self._memory.courses.begin(work, operation, self._crew)
        if course.has_ended:
            self._finish(course)

    def _finish(self, course: Course[ImageWork]) -> None:
        match course.owner:
            case ImageSearch(call=call):
                self._answer(call, course.result)
            case PullOrder() as order:
                self._finish_pull(order, course.result)
        self._memory.courses.end(course.ref)

    def _finish_pull(self, order: PullOrder, result: ImagePulled | RuntimeFailure) -> None:
        self._memory.queue.end(order)
        if isinstance(result, RuntimeFailure):
            _log.warning("image not pulled", image=order.image.given, reason=result.message)
            self._answer_all(order, result)
            return
        took = order.took(self.clock.monotonic())
        _log.info(
            "image pulled",
            image=order.image.given,
            id=result.found.image_id,
            size=result.found.size,
            took=format_duration(Seconds(round(took, 3))),
        )
        self._answer_all(order, replace(result.found, pulled_in=took))

    def _drop(self, ref: int) -> None:
        """Drop the operation that the life before failed over."""
        course = self._memory.courses.end(ref)
        match course.owner if course is not None else None:
            case ImageSearch(call=call):
                self._answer(call, _UNCERTAIN)
            case PullOrder() as order:
                self._memory.queue.end(order)
                self._answer_all(order, _UNCERTAIN)
            case None:
                pass

    def _drop_lost_pulls(self) -> None:
        """Drop the pulls that the life before failed over as they began."""
        running = [course.owner for course in self._memory.courses]
        for order in self._memory.queue:
            if order.began_at is not None and order not in running:
                self._memory.queue.end(order)
                self._answer_all(order, _UNCERTAIN)

    def _look_at_pulls(self) -> None:
        now = self.clock.monotonic()
        for order, waiter in self._memory.queue.overdue(now):
            self._answer(waiter.call, _still_pulled(order, now))
        for order in self._memory.queue.long_ones(now):
            since = format_duration(Seconds(float(round(order.took(now)))))
            text = f'Still pulling image "{order.image.given}" after {since}'
            _log.info(text, pods=len(order.waiters))
            for waiter in order.waiters:
                self._say(waiter.pod, EventType.NORMAL, "Pulling", text)

    # --- what it tells ---------------------------------------------------------------------------------

    def _answer_all(self, order: PullOrder, outcome: RuntimeOutcome) -> None:
        waiters, order.waiters = order.waiters, []
        for waiter in waiters:
            self._answer(waiter.call, outcome)

    @staticmethod
    def _answer(call: CallRuntime, outcome: RuntimeOutcome) -> None:
        call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))

    def _say(self, pod: Pod, type_: EventType, reason: str, message: str) -> None:
        if self._ports.events is not None:
            regarding = ObjectReference(
                kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid
            )
            self._ports.events.tell(
                PostEvent(regarding=regarding, type=type_, reason=reason, message=message)
            )


def _invalid(image: str) -> RuntimeFailure:
    return RuntimeFailure(
        kind=RuntimeFailureKind.REFUSED,
        message=f"couldn't parse image name {image[:256]!r}: invalid reference format",
        reason="InvalidImageName",
    )


def _still_pulled(order: PullOrder, now: Seconds) -> RuntimeFailure:
    how = "is still being pulled" if order.began_at is not None else "still waits for its turn"
    waited = format_duration(Seconds(float(round(now - order.asked_at))))
    return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=f"image {how} after {waited}")
