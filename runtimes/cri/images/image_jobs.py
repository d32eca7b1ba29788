"""Work on images that may block: plugins, and the files of credentials and records. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from kernel import Operation
from messages.units import Seconds
from runtimes.cri.operations.flow import DiskLane, on_disk

T = TypeVar("T")

JOB_DEADLINE: Final = Seconds(90.0)
"""From when a thread is at a job: it may take a minute, as long as a credential plugin has."""
RECORDS: Final = "image records"
"""The turn of work on the file of records, which is done one after the other."""


def image_job(work: Callable[[], T], turn: str = "") -> Operation[T]:
    """Do ``work`` on a thread. Raises ``DiskError``, also if it hangs: a file system may be away."""
    return (yield from on_disk(work, DiskLane.IMAGES, turn=turn, within=JOB_DEADLINE))
