"""The clerk of images: writes down who pulled which image. It may block."""

from __future__ import annotations

from typing_extensions import override

from kernel import Actor, Key
from runtimes.cri.images.courses import ImageJob
from runtimes.cri.operations.flow import result_of

IMAGE_CLERK = Key[ImageJob]("runtime/image-records")


class ImageClerk(Actor[ImageJob]):
    """Does jobs on the file of records, one after the other.

    Owns: the file, while it works on it.
    Hears: ``ImageJob``.
    Tells: whoever gave the job its result, or what kept it from having one.
    Fails when: it has a bug. A job that it fails over is lost with whoever waits for it.
    """

    @override
    def receive(self, message: ImageJob, /) -> None:
        message.done(result_of(message.work))
