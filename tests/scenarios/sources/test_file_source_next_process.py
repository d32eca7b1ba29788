"""What a new process knows of manifests that broke while no agent ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from messages.sources import Verdict
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    file_source_stage,
    pod_text,
)

Process: TypeAlias = Callable[..., AbstractContextManager[FileSourceStage]]


@pytest.fixture
def process(tmp_path: Path, path: Path) -> Process:
    """Return what starts a source that keeps last good contents, as each process does."""

    @contextmanager
    def started(at: Path = path, *, clear_on_missing: bool = False) -> Iterator[FileSourceStage]:
        kept = tmp_path / "last-good"
        with file_source_stage(at, clear_on_missing=clear_on_missing, kept=kept) as files:
            files.play.advance(0.3)
            yield files

    return started


def write_good(process: Process, *, name: str = "web.yaml") -> None:
    """Have a process see a good manifest, and end."""
    with process() as files:
        files.write(name, pod_text("web"))
        files.notices()


def test_a_manifest_that_broke_while_no_agent_ran_has_its_pod(process: Process, path: Path) -> None:
    write_good(process)
    (path / "web.yaml").write_text(BROKEN)

    with process() as files:
        assert files.listings()[-1] == ["web"]
        verdict = files.verdict("web.yaml")
        assert verdict.verdict is Verdict.KEPT
        assert verdict.reason
        assert verdict.pod == "default/web-node1"

        files.write("web.yaml", pod_text("web", image="registry.example/web:2"))
        files.notices()
        assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}


def test_it_has_its_pod_in_every_process_until_it_is_mended(process: Process, path: Path) -> None:
    write_good(process)
    (path / "web.yaml").write_text(BROKEN)
    for _ in range(3):
        with process() as files:
            assert files.listings()[-1] == ["web"]


def test_a_manifest_that_went_while_no_agent_ran_has_none(process: Process, path: Path) -> None:
    write_good(process)
    (path / "web.yaml").unlink()

    with process() as files:
        assert files.listings()[-1] == []
        # Not if another file of this name comes, either.
        files.write("web.yaml", BROKEN)
        files.notices()
        assert files.verdicts() == {"web.yaml": Verdict.REJECTED}
    with process() as files:
        assert files.verdicts() == {"web.yaml": Verdict.REJECTED}


def test_a_manifest_that_was_edited_while_no_agent_ran_is_what_it_says(
    process: Process, path: Path
) -> None:
    write_good(process)
    (path / "web.yaml").write_text(pod_text("other"))

    with process() as files:
        assert files.listings()[-1] == ["other"]


def test_nothing_of_another_path_is_served(process: Process, tmp_path: Path, path: Path) -> None:
    write_good(process)
    other = tmp_path / "other"
    other.mkdir()
    (other / "web.yaml").write_text(BROKEN)
    with process(other) as files:
        assert files.verdicts() == {"web.yaml": Verdict.REJECTED}

    # Nor is anything of it left for those who go back.
    (path / "web.yaml").write_text(BROKEN)
    with process() as files:
        assert files.verdicts() == {"web.yaml": Verdict.REJECTED}


def test_a_path_that_is_not_there_yet_does_not_cost_what_is_known_of_it(
    process: Process, path: Path
) -> None:
    write_good(process)
    away = path.rename(path.with_name("away"))
    (away / "web.yaml").write_text(BROKEN)

    with process() as files:
        assert files.listings() == [[]]
        away.rename(path)
        files.scans()
        assert files.listings()[-1] == ["web"]


def test_a_missing_path_that_clears_leaves_nothing_for_later(process: Process, path: Path) -> None:
    write_good(process)
    away = path.rename(path.with_name("away"))
    with process(clear_on_missing=True) as files:
        assert files.listings() == [[]]

    away.rename(path)
    (path / "web.yaml").write_text(BROKEN)
    with process() as files:
        assert files.verdicts() == {"web.yaml": Verdict.REJECTED}


def test_a_disk_that_takes_nothing_keeps_no_pod_from_running(
    process: Process, tmp_path: Path
) -> None:
    (tmp_path / "last-good").write_text("in the way")
    with process() as files:
        files.write("web.yaml", pod_text("web"))
        files.notices()
        assert files.listings()[-1] == ["web"]


def test_a_crash_of_the_source_loses_nothing_of_what_is_recalled(
    process: Process, path: Path
) -> None:
    write_good(process)
    (path / "web.yaml").write_text(BROKEN)
    with process() as files:
        files.crashes()
        assert files.listings()[-1] == ["web"]
