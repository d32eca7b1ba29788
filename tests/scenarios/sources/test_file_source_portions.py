"""The file source over many files: it looks at them in portions, and answers in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from files.verdicts.judged_files import Portion
from files.watching.messages import FilesNoticed
from kernel import Port, Runtime, Steps
from messages.sources import DescribeSource, SourceDescribed, Verdict
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    file_source_stage,
    pod_text,
)

PODS = [f"pod-{number:02}" for number in range(40)]
ONE_STEP = Portion(seconds=Seconds(60.0), steps=1)


@pytest.fixture
def runtime() -> Runtime:
    return Steps()


@pytest.fixture
def files(path: Path, runtime: Runtime) -> Iterator[FileSourceStage]:
    """Return the source over an empty directory, which takes one step for one message."""
    with file_source_stage(path, runtime, portion=ONE_STEP) as files:
        files.told.drain()
        yield files


class InTheMiddle(Port[SourceDescribed]):
    """Has something happen when a look has gone on for a few steps. Asks a question at each step."""

    def __init__(self, files: FileSourceStage, happens: Callable[[], object]) -> None:
        self._files = files
        self._happens = happens
        self._steps_left = 3

    @override
    def tell(self, _message: SourceDescribed, /) -> None:
        self._steps_left -= 1
        if self._steps_left:
            self._files.play.port(self._files.key).tell(DescribeSource(reply_to=self))
        else:
            self._happens()


def write_all(files: FileSourceStage) -> None:
    for name in PODS:
        files.write(f"{name}.yaml", pod_text(name))


def test_a_look_in_portions_tells_all_pods_at_once(files: FileSourceStage) -> None:
    write_all(files)

    files.notices()

    assert files.listings() == [PODS]
    assert set(files.verdicts().values()) == {Verdict.ACCEPTED}


def test_no_message_is_worked_at_for_more_than_a_portion(files: FileSourceStage) -> None:
    before = files.play.describe()["source/file"].handled
    write_all(files)

    files.notices()

    # Each file is read, judged and logged.
    assert files.play.describe()["source/file"].handled - before > 3 * len(PODS)


def test_questions_are_answered_while_a_look_goes_on(files: FileSourceStage) -> None:
    write_all(files)
    files.notices()
    files.write("pod-00.yaml", BROKEN)
    answers: Probe[SourceDescribed] = Probe()

    files.play.tell_all(files.key, FilesNoticed(), DescribeSource(reply_to=answers))

    # From the last look that was complete; the one after it has the news.
    assert {each.verdict for each in answers.next().manifests} == {Verdict.ACCEPTED}
    files.play.advance(0.3)
    assert files.verdict("pod-00.yaml").verdict is Verdict.KEPT


def test_a_change_behind_the_look_is_found_by_one_more_look(files: FileSourceStage) -> None:
    write_all(files)
    files.notices()
    files.told.drain()

    def edits_a_file_that_was_read() -> None:
        files.write("pod-00.yaml", pod_text("late"))
        files.play.port(files.key).tell(FilesNoticed())

    middle = InTheMiddle(files, edits_a_file_that_was_read)

    files.play.tell_all(files.key, FilesNoticed(), DescribeSource(reply_to=middle))

    assert files.listings() == [["late", *PODS[1:]]]


def test_a_crash_in_the_middle_of_a_look_costs_nothing(files: FileSourceStage) -> None:
    write_all(files)
    files.notices()
    files.told.drain()
    middle = InTheMiddle(files, lambda: files.play.system.crash(files.key.path))

    files.play.tell_all(files.key, FilesNoticed(), DescribeSource(reply_to=middle))
    files.recovers()

    assert [sorted(pods) for pods in files.listings()] == [PODS]


def looks(files: FileSourceStage, seconds: float) -> None:
    """Have the source look, for so long, then let time pass until it has told what is new."""
    clock = files.play.clock

    def time_passes() -> None:
        clock.move(Seconds(clock.monotonic() + seconds))

    question = DescribeSource(reply_to=InTheMiddle(files, time_passes))
    files.play.tell_all(files.key, FilesNoticed(), question)
    files.play.settle()


def test_that_scans_come_less_often_than_asked_for_is_one_line_until_it_changes(
    files: FileSourceStage, logs: list[MutableMapping[str, Any]]
) -> None:
    write_all(files)
    files.notices()
    logs.clear()

    for _ in range(4):
        looks(files, 0.6)
    for _ in range(3):
        looks(files, 0.0)

    assert [line for line in logs if "scans" in line["event"]] == [
        {
            "event": "scans come less often than asked for, since they take long",
            "log_level": "info",
            "path": str(files.path),
            "asked_seconds": 2.0,
            "seconds": 20.0,
        },
        {
            "event": "scans come as often as asked for again",
            "log_level": "info",
            "path": str(files.path),
            "seconds": 2.0,
        },
    ]
