"""Finding and pulling images for pods: the calls, the meaning of failures, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog

from kernel import Operation, Port
from manifests.image_names import ImageName, parse_image_name
from manifests.times import format_duration
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
from runtimes.cri import rpcs
from runtimes.cri.images.keyring import Credential, PullSecrets, pull_secrets
from runtimes.cri.images.messages import ImageMemory, ImageSearch, ImageWork
from runtimes.cri.images.node_credentials import NodeKeyring
from runtimes.cri.images.options import VerificationOptions, VerificationPolicy
from runtimes.cri.images.pull_queue import PullOrder, PullWaiter
from runtimes.cri.images.pull_records import PullRecords
from runtimes.cri.operations.flow import RpcError, call, is_away
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure

LONGEST_MESSAGE: Final = 2048
"""Characters of a message. Runtimes repeat themselves."""

QPS_EXCEEDED: Final = RuntimeFailure(
    kind=RuntimeFailureKind.IMAGE_PULL, message="pull QPS exceeded"
)

_CERTAIN = frozenset({RpcCode.OTHER, RpcCode.NOT_FOUND, RpcCode.UNIMPLEMENTED})
_CODES: Final = {
    RpcCode.UNAVAILABLE: "Unavailable",
    RpcCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
    RpcCode.CANCELLED: "Canceled",
    RpcCode.UNIMPLEMENTED: "Unimplemented",
    RpcCode.NOT_FOUND: "NotFound",
    RpcCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
}
_REASONS: Final = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}
"""Words at the beginning of a runtime's message that are reasons of their own."""

WITHOUT: Final = None
"""No credentials: as anybody may pull."""

_LONGEST_NAME: Final = 256
"""Characters that are shown of a name that cannot be read."""

UNCERTAIN: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNCERTAIN, message="the agent failed over the request"
)
_NOT_HERE: Final = RuntimeFailure(
    kind=RuntimeFailureKind.UNSUPPORTED, message="this is no request about an image"
)

_log = structlog.get_logger("images")


def is_uncertain(failure: RpcFailure) -> bool:
    """Return whether the call may have had its effect in spite of ``failure``."""
    return failure.code not in _CERTAIN


def message_of(failure: RpcFailure) -> str:
    """Return a runtime's message in one line, with its code if that says anything."""
    text = " ".join(failure.message.split())[:LONGEST_MESSAGE]
    code = _CODES.get(failure.code)
    return f"rpc error: code = {code} desc = {text}" if code else text


def find_failure(failure: RpcFailure) -> RuntimeFailure:
    """Return why it is not known whether an image is there."""
    kind = RuntimeFailureKind.UNCERTAIN if is_uncertain(failure) else RuntimeFailureKind.REFUSED
    return RuntimeFailure(kind=kind, message=message_of(failure), is_away=is_away(failure))


def pull_failure(image: str, failures: Sequence[RpcFailure]) -> RuntimeFailure:
    """Return why an image could not be pulled, after one attempt or several with other credentials."""
    last = failures[-1]
    kind = RuntimeFailureKind.UNCERTAIN if is_uncertain(last) else RuntimeFailureKind.IMAGE_PULL
    for word, meaning in _REASONS.items():
        found = next((each for each in failures if each.message.startswith(word)), None)
        if found is not None:
            rest = " ".join(found.message.removeprefix(word).lstrip(":").split())[:LONGEST_MESSAGE]
            message = f"image pull failed for {image} because {meaning}{rest and ': '}{rest}"
            return RuntimeFailure(kind=kind, message=message, reason=word)
    messages = dict.fromkeys(map(message_of, failures))
    text = next(iter(messages)) if len(messages) == 1 else f"[{', '.join(messages)}]"
    return RuntimeFailure(kind=kind, message=text[:LONGEST_MESSAGE], is_away=is_away(last))


@dataclass(frozen=True, slots=True, kw_only=True)
class PullHelp:
    """What a pull needs beside the runtime."""

    node: NodeKeyring
    records: PullRecords
    save: Callable[[], Operation[None]]
    """Writes the records down."""
    deadline: Seconds


def found_image(image: str) -> Operation[ImageFound | RuntimeFailure]:
    """Look for an image, by name or id."""
    try:
        reply = yield from call(rpcs.image_status(image))
    except RpcError as error:
        return find_failure(error.failure)
    return as_found(reply)


def as_found(reply: cri.ImageStatusResponse) -> ImageFound:
    """Return the image of a reply; an empty one if there is none."""
    return ImageFound(image_id=reply.image.id, size=reply.image.size)


def pulled_image(order: PullOrder, help_: PullHelp) -> Operation[ImageFound | RuntimeFailure]:
    """Pull an image, and remember with whose credentials."""
    help_.records.note_begin(order.image)
    yield from help_.save()
    own = yield from help_.node.lookup(order.image.repository)
    failures: list[RpcFailure] = []
    for credential in (*order.credentials, *own, WITHOUT):
        try:
            found = yield from _pulled_with(order, credential, help_.deadline)
        except RpcError as error:
            failures.append(error.failure)
            if is_uncertain(error.failure):
                break
            continue
        help_.records.note_pulled(order.image, found.image_id, credential, order.credentials)
        yield from help_.save()
        return found
    help_.records.note_failure(order.image, is_certain=not is_uncertain(failures[-1]))
    yield from help_.save()
    return pull_failure(order.image.given, failures)


def _pulled_with(
    order: PullOrder, credential: Credential | None, deadline: Seconds
) -> Operation[ImageFound]:
    """Pull an image with these credentials. Raises ``RpcError``."""
    auth = credential.auth.as_message() if credential is not None else None
    reply = yield from call(rpcs.pull_image(order.image.asked_for, auth, deadline))
    found = yield from found_image(reply.image_ref or order.image.asked_for)
    if isinstance(found, ImageFound) and found.image_id:
        return found
    return ImageFound(image_id=reply.image_ref)


class BeginWork(Protocol):
    """Begins an operation."""

    def __call__(self, work: ImageWork, operation: Operation[object], /) -> None:
        """Begin ``operation``, whose result is for ``work``."""
        ...


class ImagePuller:
    """Finds and pulls what pods ask for, and answers each call."""

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

    def handle(self, call: CallRuntime, now: Seconds) -> None:
        """Handle a call. It is answered now or later."""
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
                _answer_all(order, QPS_EXCEEDED)

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
            _answer_all(order, result)
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
        _answer_all(order, replace(result, pulled_in=took))

    def drop(self, order: PullOrder) -> None:
        """Give up a pull: the life before failed over it."""
        self._memory.queue.end(order)
        self._help.records.note_failure(order.image, is_certain=False)
        _answer_all(order, UNCERTAIN)

    def look(self, now: Seconds) -> None:
        """Answer pods that cannot wait any longer, and tell people about pulls that take long."""
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
            regarding = ObjectReference.of_pod(pod)
            self._events.tell(
                PostEvent(regarding=regarding, type=type_, reason=reason, message=message)
            )


def answer(call: CallRuntime, outcome: RuntimeOutcome) -> None:
    """Answer one call."""
    call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))


def _answer_all(order: PullOrder, outcome: RuntimeOutcome) -> None:
    """Answer all that wait for a pull."""
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
