"""The file source over many files: it looks at them in portions, and answers in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

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
FEW = Portion(seconds=Seconds(60.0), steps=3)


@pytest.fixture
def runtime() -> Runtime:
    return Steps()


@pytest.fixture
def files(path: Path, runtime: Runtime) -> Iterator[FileSourceStage]:
    """Return the source over an empty directory, which looks at three files for one message."""
    with file_source_stage(path, runtime, portion=FEW) as files:
        files.told.drain()
        yield files


class AfterQuestions(Port[SourceDescribed]):
    """Does something at the moment of an answer, which is in the middle of a look."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    @override
    def tell(self, _message: SourceDescribed, /) -> None:
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

    # Each file is read, judged and logged: three steps, which are a portion.
    assert files.play.describe()["source/file"].handled - before > len(PODS)


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
    behind = AfterQuestions(lambda: files.write("pod-00.yaml", pod_text("late")))

    files.play.tell_all(files.key, FilesNoticed(), DescribeSource(reply_to=behind), FilesNoticed())
    files.play.advance(0.3)

    assert files.listings() == [["late", *PODS[1:]]]


def test_a_crash_in_the_middle_of_a_look_costs_nothing(files: FileSourceStage) -> None:
    write_all(files)
    files.notices()
    files.told.drain()
    crash = AfterQuestions(lambda: files.play.system.crash(files.key.path))

    files.play.tell_all(files.key, FilesNoticed(), DescribeSource(reply_to=crash))
    files.recovers()

    assert [sorted(pods) for pods in files.listings()] == [PODS]
