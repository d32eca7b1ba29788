"""Finding and pulling images for pods: who asks, what is under way, and who is answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

import structlog

from kernel import Operation, Port
from manifests.durations import format_duration
from manifests.image_names import ImageName, parse_image_name
from messages.container_runtime import (
    CallRuntime,
    FindImage,
    ImageFound,
    PullImage,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
)
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.images.image_memory import ImageMemory, ImageSearch, ImageWork
from runtimes.cri.images.image_operations import PullHelp, found_image, pulled_image
from runtimes.cri.images.keyring import Credential, PullSecrets, pull_secrets
from runtimes.cri.images.options import VerificationOptions, VerificationPolicy
from runtimes.cri.images.pull_failures import QPS_EXCEEDED
from runtimes.cri.images.pull_queue import PullOrder, PullWaiter

_LONGEST_NAME: Final = 256
"""Characters that are shown of a name that cannot be read."""

UNCERTAIN: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNCERTAIN, message="the agent failed over the request"
)
_NOT_HERE: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNSUPPORTED, message="this is no request about an image"
)

_log = structlog.get_logger("images")


class BeginWork(Protocol):
    """Begins an operation."""

    def __call__(self, work: ImageWork, operation: Operation[object], /) -> None:
        """Begin ``operation``, whose result is for ``work``."""
        ...


class PullDesk:
    """Takes what pods ask for, and answers it."""

    def __init__(
        self,
        memory: ImageMemory,
        help_: PullHelp,
        verification: VerificationOptions,
        events: Port[PostEvent] | None,
        begin: BeginWork,
    ) -> None:
        self._memory = memory
        self._help = help_
        self._verification = verification
        self._events = events
        self._begin = begin

    def take(self, call: CallRuntime, now: Seconds) -> None:
        """Take a call. It is answered now or later."""
        request = call.request
        if not isinstance(request, FindImage | PullImage):
            answer(call, _NOT_HERE)
            return
        name = parse_image_name(request.image)
        if name is None:
            answer(call, _invalid(request.image))
        elif isinstance(request, FindImage):
            self._begin(ImageSearch(call, request), found_image(name.asked_for))
        else:
            self._queue(call, request, name, now)

    def begin_pulls(self, now: Seconds) -> None:
        """Begin the pulls whose turn it is."""
        for order, may_begin in self._memory.queue.begin(now):
            if may_begin:
                self._begin(order, pulled_image(order, self._help))
            else:
                answer_all(order, QPS_EXCEEDED)

    def finish_search(
        self, search: ImageSearch, found: ImageFound | RuntimeFailure, now: Seconds
    ) -> None:
        """Answer a look for an image."""
        if isinstance(found, ImageFound) and found.image_id:
            self._memory.history.note_needed(found.image_id, now)
            if not self._may_have(search.request, found.image_id):
                _log.info(
                    "the pod has to show that it may have the image",
                    image=search.request.image,
                    pod=search.request.pod.display_name,
                )
                found = ImageFound(image_id="", is_withheld=True)
        elif isinstance(found, ImageFound):
            self._note_absent(search.request)
        answer(search.call, found)

    def finish_pull(
        self, order: PullOrder, result: ImageFound | RuntimeFailure, now: Seconds
    ) -> None:
        """Answer all that wait for a pull."""
        self._memory.queue.end(order)
        if isinstance(result, RuntimeFailure):
            self._memory.figures.failed_pulls += 1
            _log.debug("image not pulled", image=order.image.given, reason=result.message)
            answer_all(order, result)
            return
        took = order.took(now)
        self._memory.figures.note_pull(result.size, took)
        self._memory.history.note_needed(result.image_id, now)
        # Each pod's own line is the runtime's, with the words of its event.
        _log.debug(
            "image pulled",
            image=order.image.given,
            id=result.image_id,
            size=result.size,
            took=format_duration(Seconds(round(took, 3))),
        )
        answer_all(order, replace(result, pulled_in=took))

    def drop(self, order: PullOrder) -> None:
        """Give up a pull: the life before failed over it."""
        self._memory.queue.end(order)
        self._help.records.note_failure(order.image, is_certain=False)
        answer_all(order, UNCERTAIN)

    def look(self, now: Seconds) -> None:
        """Answer who cannot wait any longer, and tell of pulls that take long."""
        for order, waiter in self._memory.queue.overdue(now):
            answer(waiter.call, _still_pulled(order, now))
        for order in self._memory.queue.long_ones(now):
            since = format_duration(Seconds(float(round(order.took(now)))))
            text = f'Still pulling image "{order.image.given}" after {since}'
            _log.info(text, pods=len(order.waiters))
            for waiter in order.waiters:
                self._say(waiter.pod, EventType.NORMAL, "Pulling", text)

    def _queue(self, call: CallRuntime, request: PullImage, name: ImageName, now: Seconds) -> None:
        secrets = pull_secrets(request.pod.document, request.objects)
        self._say_secrets(request.pod, secrets)
        credentials = secrets.keyring.lookup(name.repository)
        order = self._memory.queue.join(name, credentials, PullWaiter(call, request.pod, now))
        if order.began_at is None and self._memory.queue.under_way:
            _log.info("pull waits for its turn", image=name.given, pod=request.pod.display_name)

    def _note_absent(self, request: FindImage) -> None:
        name = parse_image_name(request.image)
        if name is not None:
            self._help.records.note_absent(name)

    def _may_have(self, request: FindImage, image_id: str) -> bool:
        name = parse_image_name(request.image)
        if name is None or self._verification.policy is VerificationPolicy.NEVER:
            return True
        credentials: tuple[Credential, ...] = pull_secrets(
            request.pod.document, request.objects
        ).keyring.lookup(name.repository)
        return self._help.records.may_have(name, image_id, credentials, self._verification)

    def _say_secrets(self, pod: Pod, secrets: PullSecrets) -> None:
        for complaint in secrets.complaints:
            _log.warning("a pull secret", pod=pod.display_name, trouble=complaint)
        if secrets.missing:
            text = (
                f"Unable to retrieve some image pull secrets ({', '.join(secrets.missing)}); "
                "attempting to pull the image may not succeed."
            )
            _log.warning(text, pod=pod.display_name)
            self._say(pod, EventType.WARNING, "FailedToRetrieveImagePullSecret", text)

    def _say(self, pod: Pod, type_: EventType, reason: str, message: str) -> None:
        if self._events is not None:
            regarding = ObjectReference(
                kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid
            )
            self._events.tell(
                PostEvent(regarding=regarding, type=type_, reason=reason, message=message)
            )


def answer(call: CallRuntime, outcome: RuntimeOutcome) -> None:
    """Answer one call."""
    call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))


def answer_all(order: PullOrder, outcome: RuntimeOutcome) -> None:
    """Answer everybody who waits for a pull."""
    while order.waiters:
        answer(order.waiters[0].call, outcome)
        del order.waiters[0]  # not before: the next life answers those over whom this one crashes


def _invalid(image: str) -> RuntimeFailure:
    return RuntimeFailure(
        kind=RuntimeFailureKind.REFUSED,
        message=f"couldn't parse image name {image[:_LONGEST_NAME]!r}: invalid reference format",
        reason="InvalidImageName",
    )


def _still_pulled(order: PullOrder, now: Seconds) -> RuntimeFailure:
    how = "is still being pulled" if order.began_at is not None else "still waits for its turn"
    waited = format_duration(Seconds(float(round(now - order.asked_at))))
    return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=f"image {how} after {waited}")
