"""The termination message of a container that has exited. Pure."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kernel import Operation
from messages.pod_runtime import ContainerObserved, ContainerState
from runtimes.cri.configs.reading import last_words, message_of
from runtimes.cri.disk.last_words import read_last_words
from runtimes.cri.operations.flow import DiskError, DiskLane, on_disk
from runtimes.cri.operations.surroundings import Surroundings
from runtimes.cri.wire import cri_pb2 as cri


def with_message(
    status: cri.ContainerStatus, observed: ContainerObserved, around: Surroundings
) -> Operation[ContainerObserved]:
    """Return what is observed, with the message that the container left if it has exited."""
    words = last_words(status, around.node().pod_logs_dir)
    if observed.state is not ContainerState.EXITED or words is None:
        return observed
    try:
        text = yield from on_disk(partial(read_last_words, words), DiskLane.WORDS)
    except DiskError:
        return observed
    return replace(observed, message=message_of(observed.message, text))
