"""Jobs that may block are done on threads, and one that hangs holds up nothing that it need not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from runtimes.cri.disk_threads import IN_PROGRESS, THREADS, DiskThreads
from runtimes.cri.operations.flow import DiskError, DiskFailure, DiskJob, DiskLane
from tests.support.kernel.players import Gate
from tests.support.kernel.probe import Probe


@pytest.fixture
def threads() -> Iterator[DiskThreads]:
    threads = DiskThreads()
    yield threads
    threads.close()


def raising(error: Exception) -> object:
    raise error


def test_each_job_tells_its_result_or_why_there_is_none(threads: DiskThreads) -> None:
    told: Probe[object] = Probe()
    for job in (
        DiskJob(lambda: 7, DiskLane.CGROUPS),
        DiskJob(lambda: raising(DiskError("no such file")), DiskLane.CGROUPS),
        DiskJob(lambda: raising(OSError(28, "No space left on device")), DiskLane.CGROUPS),
        DiskJob(lambda: raising(ValueError("canary-password")), DiskLane.CGROUPS),
    ):
        threads.start(job, told.tell)
    told.expect(
        7,
        DiskFailure("no such file"),
        DiskFailure("[Errno 28] No space left on device"),
        DiskFailure("failed with ValueError"),
    )


def test_a_job_that_hangs_keeps_others_from_nothing(threads: DiskThreads, gate: Gate) -> None:
    told: Probe[object] = Probe()
    for _ in range(20):
        threads.start(DiskJob(gate), told.tell)
    gate.reached()
    threads.start(DiskJob(lambda: "other"), told.tell)
    told.expect("other")
    threads.start(DiskJob(lambda: "image", DiskLane.IMAGES), told.tell)
    told.expect("image")


def test_what_hangs_takes_one_thread_however_often_it_is_tried_again(
    threads: DiskThreads, gate: Gate
) -> None:
    hangs: Probe[object] = Probe()
    threads.start(DiskJob(gate, key="u-1/main"), hangs.tell)
    gate.reached()
    told: Probe[object] = Probe()
    for _ in range(THREADS[DiskLane.FILES] + 1):
        threads.start(DiskJob(lambda: "again", key="u-1/main"), told.tell)
        told.expect(DiskFailure(IN_PROGRESS))
    threads.start(DiskJob(lambda: "other", key="u-2/main"), told.tell)
    told.expect("other")

    gate.open()
    hangs.next()
    threads.start(DiskJob(lambda: "again", key="u-1/main"), told.tell)
    told.expect("again")


def test_last_words_are_read_while_all_threads_for_files_hang(
    threads: DiskThreads, gate: Gate
) -> None:
    told: Probe[object] = Probe()
    for number in range(THREADS[DiskLane.FILES] + 1):
        threads.start(DiskJob(gate, key=f"u-{number}/main"), lambda _: None)
    threads.start(DiskJob(lambda: "out of memory", DiskLane.WORDS), told.tell)
    told.expect("out of memory")


def test_a_removal_that_takes_long_keeps_no_other_pod_from_its_start(
    threads: DiskThreads, gate: Gate
) -> None:
    told: Probe[object] = Probe()
    removal: DiskJob[object] = DiskJob(gate, DiskLane.CGROUP_REMOVALS, turn="cgroup of u_1")
    threads.start(removal, lambda _: None)
    gate.reached()
    threads.start(DiskJob(lambda: "made", DiskLane.CGROUPS, turn="cgroup of u_2"), told.tell)
    told.expect("made")
    threads.start(
        DiskJob(lambda: "gone", DiskLane.CGROUP_REMOVALS, turn="cgroup of u_3"), told.tell
    )
    told.expect("gone")


def test_a_start_of_a_pod_waits_for_the_removal_of_the_same_pod_and_takes_no_thread_for_that(
    threads: DiskThreads, gate: Gate
) -> None:
    told: Probe[object] = Probe()
    one = "cgroup of u_1"
    threads.start(DiskJob(gate, DiskLane.CGROUP_REMOVALS, turn=one), lambda _: told.tell("gone"))
    gate.reached()
    threads.start(DiskJob(lambda: "made again", DiskLane.CGROUPS, turn=one), told.tell)
    threads.start(DiskJob(lambda: "gone again", DiskLane.CGROUP_REMOVALS, turn=one), told.tell)
    threads.start(DiskJob(lambda: "other", DiskLane.CGROUPS, turn="cgroup of u_2"), told.tell)
    told.expect("other")

    gate.open()
    told.expect("gone", "made again", "gone again")


def test_who_waits_for_a_turn_at_the_end_hears_of_it(gate: Gate) -> None:
    told: Probe[object] = Probe()
    threads = DiskThreads()
    threads.start(DiskJob(gate, DiskLane.CGROUP_REMOVALS, turn="cgroup of u_1"), lambda _: None)
    gate.reached()
    threads.start(DiskJob(lambda: "late", DiskLane.CGROUPS, turn="cgroup of u_1"), told.tell)
    threads.close()
    told.expect(DiskFailure("the agent stops"))
    threads.start(DiskJob(lambda: "later", DiskLane.CGROUPS), told.tell)
    told.expect(DiskFailure("the agent stops"))
    gate.open()


def test_threads_that_have_nothing_to_do_are_used_again(threads: DiskThreads) -> None:
    told: Probe[object] = Probe()
    names = set()
    for _ in range(100):
        threads.start(DiskJob(threading.get_ident), told.tell)
        names.add(told.next())
    assert len(names) <= 3


def test_what_was_not_begun_is_not_done_after_the_end(gate: Gate) -> None:
    told: Probe[object] = Probe()
    threads = DiskThreads()
    threads.start(DiskJob(gate, DiskLane.CGROUPS), lambda _: None)
    gate.reached()
    threads.start(DiskJob(lambda: "late", DiskLane.CGROUPS), told.tell)
    threads.close()
    gate.open()
    told.expect(DiskFailure("the agent stops"))


HANGING = """
import threading
from runtimes.cri.disk_threads import DiskThreads
from runtimes.cri.operations.flow import DiskJob
hangs = threading.Event()
threads = DiskThreads()
threads.start(DiskJob(lambda: (hangs.set(), threading.Event().wait())), print)
hangs.wait()
threads.close()
"""


def test_a_process_ends_though_a_job_hangs() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGING], check=False)
    assert ended.returncode == 0
