"""What finding and pulling an image take, call by call. Pure, but for what it notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kernel import Operation
from messages.container_runtime import ImageFound, RuntimeFailure
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.images.keyring import Credential
from runtimes.cri.images.node_credentials import NodeKeyring
from runtimes.cri.images.pull_failures import find_failure, is_uncertain, pull_failure
from runtimes.cri.images.pull_queue import PullOrder
from runtimes.cri.images.pull_records import PullRecords
from runtimes.cri.operations.flow import RpcError, call
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcFailure

WITHOUT: Final = None
"""No credentials: as anybody may pull."""


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
