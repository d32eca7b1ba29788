"""Work on the disk: one job that hangs holds up nothing that it need not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from kernel import BusyError, Failure, StepError
from runtimes.cri.hands import SIZES, disk_lanes
from runtimes.cri.operations.flow import Disk, DiskError, DiskLane, trouble_of
from tests.support.kernel.players import Gate
from tests.support.kernel.probe import Probe


@pytest.fixture
def lanes() -> Iterator[Disk]:
    lanes = disk_lanes()
    yield lanes
    lanes.close()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DiskError("no such file"), "no such file"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (OSError(), "OSError"),
        (BusyError("busy"), "the disk has not answered an earlier attempt yet"),
    ],
)
def test_people_are_told_why_a_job_has_no_result(error: Exception, said: str) -> None:
    assert trouble_of(Failure(error)) == said


def test_a_job_that_hangs_keeps_others_from_nothing(lanes: Disk, gate: Gate) -> None:
    told: Probe[object] = Probe()
    for _ in range(20):
        lanes[DiskLane.FILES].start(gate, told.tell)
    gate.reached()
    lanes[DiskLane.FILES].start(lambda: "other", told.tell)
    told.expect("other")
    lanes[DiskLane.IMAGES].start(lambda: "image", told.tell)
    told.expect("image")


def test_last_words_are_read_while_all_threads_for_files_hang(lanes: Disk, gate: Gate) -> None:
    told: Probe[object] = Probe()
    for number in range(SIZES[DiskLane.FILES].most + 1):
        lanes[DiskLane.FILES].start(gate, lambda _: None, f"u-{number}/main")
    lanes[DiskLane.WORDS].start(lambda: "out of memory", told.tell)
    told.expect("out of memory")


def test_a_removal_that_takes_long_keeps_no_other_pod_from_its_start(
    lanes: Disk, gate: Gate
) -> None:
    told: Probe[object] = Probe()
    lanes[DiskLane.CGROUP_REMOVALS].start(gate, lambda _: None, "cgroup of u_1")
    gate.reached()
    lanes[DiskLane.CGROUPS].start(lambda: "made", told.tell, "cgroup of u_2")
    told.expect("made")
    lanes[DiskLane.CGROUP_REMOVALS].start(lambda: "gone", told.tell, "cgroup of u_3")
    told.expect("gone")


@pytest.mark.parametrize("lane", [DiskLane.CGROUPS, DiskLane.REMOVALS])
def test_what_is_one_threads_alone_has_no_second_one_while_that_hangs(
    lane: DiskLane, lanes: Disk, gate: Gate
) -> None:
    told: Probe[object] = Probe()
    hangs = lanes[lane].start(gate, lambda _: None)
    gate.reached()
    hangs.abandon()
    lanes[lane].start(lambda: "next", told.tell)
    lanes[DiskLane.FILES].start(lambda: "other", told.tell)
    told.expect("other")
    assert told.drain() == []
    gate.open()
    told.expect("next")


HANGING = """
import threading
from runtimes.cri.hands import disk_lanes
from runtimes.cri.operations.flow import DiskLane
hangs = threading.Event()
lanes = disk_lanes()
lanes[DiskLane.FILES].start(lambda: (hangs.set(), threading.Event().wait()), print)
hangs.wait()
lanes.close()
"""


def test_a_process_ends_though_a_job_hangs() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGING], check=False)
    assert ended.returncode == 0


def test_who_waits_at_the_end_hears_of_it(lanes: Disk, gate: Gate) -> None:
    told: Probe[object] = Probe()
    lanes[DiskLane.CGROUPS].start(gate, lambda _: None)
    gate.reached()
    lanes[DiskLane.CGROUPS].start(lambda: "late", told.tell)
    lanes.close()
    late = told.next()
    assert isinstance(late, Failure)
    assert isinstance(late.error, StepError)
    gate.open()
