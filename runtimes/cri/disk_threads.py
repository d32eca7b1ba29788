"""Threads for work on the disk that operations ask for: files of pods, cgroups."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from runtimes.cri.operations.flow import DiskError, DiskFailure, DiskJob, Lane

THREADS: Final = {Lane.FILES: 4, Lane.CGROUPS: 1, Lane.REMOVALS: 1}
"""Work on a disk waits more than it computes. One file system that hangs takes one thread for each pod that
uses it; the other pods go on until all have it."""


class DiskThreads:
    """Does jobs, a few at a time. It belongs to the process, not to a life of an actor."""

    def __init__(self) -> None:
        self._pools = {
            lane: ThreadPoolExecutor(threads, thread_name_prefix=f"cri-{lane}")
            for lane, threads in THREADS.items()
        }

    def start(self, job: DiskJob[object], done: Callable[[object], None]) -> None:
        """Do ``job``, and tell ``done`` on that thread what it returned, or a ``DiskFailure``."""
        self._pools[job.lane].submit(job.work).add_done_callback(
            lambda ended: done(_outcome(ended))
        )

    def close(self) -> None:
        """Start nothing more. What is being done is not waited for."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _outcome(ended: Future[object]) -> object:
    error = ended.exception() if not ended.cancelled() else None
    if ended.cancelled():
        return DiskFailure("the agent stops")
    if isinstance(error, OSError | DiskError):
        return DiskFailure(str(error))
    if error is not None:
        return DiskFailure(f"{type(error).__name__}: {error}")
    return ended.result()
