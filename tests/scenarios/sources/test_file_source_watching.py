"""How the file source is told of changes: by real notifications, and without any."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from files.watching.inotify import InotifyWatch
from kernel import Threads
from tests.support.sources.file_source_stage import FileSourceStage, file_source_stage, pod_text


@pytest.fixture
def files(path: Path) -> Iterator[FileSourceStage]:
    with file_source_stage(path) as files:
        yield files


# --- by real notifications: time stands still, so no scan can find anything -----------------------------


@pytest.fixture
def watched(path: Path) -> Iterator[FileSourceStage]:
    with file_source_stage(path, Threads(), keep_watch=InotifyWatch) as files:
        assert files.told.next().pods == ()
        yield files


def next_names(files: FileSourceStage) -> list[str]:
    return [pod.name for pod in files.told.next().pods]


def test_scenario_6_a_written_manifest_is_noticed(watched: FileSourceStage) -> None:
    watched.write("web.yaml", pod_text("web"))
    assert next_names(watched) == ["web-node1"]


def test_an_edit_and_a_rename_over_are_noticed(watched: FileSourceStage) -> None:
    watched.write("web.yaml", pod_text("web", image="web:1"))
    first = watched.told.next()
    watched.write("web.yaml.tmp", pod_text("web", image="web:2")).rename(watched.path / "web.yaml")
    second = watched.told.next()
    assert first.pods != second.pods


def test_a_change_of_a_link_s_target_is_noticed(watched: FileSourceStage, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "web.yaml"
    target.parent.mkdir()
    target.write_text(pod_text("web"))
    watched.touch(target)
    (watched.path / "web.yaml").symlink_to(target)
    assert next_names(watched) == ["web-node1"]
    watched.play.settle()

    target.write_text(pod_text("shop"))
    watched.touch(target)
    assert next_names(watched) == ["shop-node1"]


def test_the_birth_of_a_missing_directory_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet"
    with file_source_stage(path, Threads(), keep_watch=InotifyWatch) as files:
        assert files.told.next().pods == ()
        path.parent.mkdir()
        path.mkdir()
        files.write("web.yaml", pod_text("web"))
        assert next_names(files) == ["web-node1"]


# --- no watch to be had ----------------------------------------------------------------------------------


def asked_within(files: FileSourceStage, seconds: float) -> int:
    """Return how often a watch is asked for while time passes."""
    before = len(files.watches.kept)
    files.play.advance(seconds)
    return len(files.watches.kept) - before


def test_a_watch_that_stays_the_same_is_kept(files: FileSourceStage) -> None:
    assert asked_within(files, 60.0) == 0
    files.write("web.yaml", pod_text("web"))
    files.notices()
    assert files.watches.open_count() == len(files.watches.kept) == 1


def test_rule_f20_a_lost_watch_is_asked_for_again_with_growing_waits(
    files: FileSourceStage,
) -> None:
    files.watches.trouble = "no inotify watches left"
    files.watches.newest.lose("no inotify watches left")
    files.play.settle()

    assert asked_within(files, 0.99) == 0
    assert asked_within(files, 0.02) == 1  # after 1 s
    assert asked_within(files, 1.98) == 0
    assert asked_within(files, 0.02) == 1  # after 2 s
    assert asked_within(files, 4.0) == 1
    assert asked_within(files, 8.0) == 1
    assert asked_within(files, 16.0) == 1
    assert asked_within(files, 20.0) == 1  # never longer than that
    assert asked_within(files, 19.9) == 0
    assert asked_within(files, 0.2) == 1


def test_without_a_watch_the_scans_go_on(files: FileSourceStage) -> None:
    files.watches.trouble = "no inotify watches left"
    files.watches.newest.lose("no inotify watches left")
    files.write("web.yaml", pod_text("web"))
    files.scans()
    assert files.listed() == ["web"]


def test_a_watch_that_is_had_again_is_kept(files: FileSourceStage) -> None:
    files.watches.newest.lose("gone")
    assert asked_within(files, 2.0) == 1
    assert asked_within(files, 60.0) == 0
    files.write("web.yaml", pod_text("web"))
    files.notices()
    assert files.listed() == ["web"]


def test_trouble_after_a_good_time_is_met_with_a_short_wait_again(
    files: FileSourceStage,
) -> None:
    files.watches.newest.lose("gone")
    assert asked_within(files, 1.01) == 1
    files.watches.newest.lose("gone")
    assert asked_within(files, 1.01) == 0
    assert asked_within(files, 1.01) == 1

    files.play.advance(60.0)
    files.watches.newest.lose("gone")
    assert asked_within(files, 1.01) == 1


def test_a_watch_that_cannot_be_had_from_the_start_stops_nothing(path: Path) -> None:
    with file_source_stage(path) as files:
        files.watches.trouble = "no inotify watches left"
        files.crashes()
        files.write("web.yaml", pod_text("web"))
        files.scans()
        assert files.listed() == ["web"]


def test_a_lost_watch_is_one_warning(
    logs: list[MutableMapping[str, Any]], files: FileSourceStage
) -> None:
    files.watches.trouble = "no inotify watches left"
    files.watches.newest.lose("no inotify watches left")
    files.play.advance(120.0)
    told = [
        event["reason"]
        for event in logs
        if event["event"].startswith("cannot watch") and event["log_level"] == "warning"
    ]
    assert told == ["no inotify watches left"]
