"""The file source crashes: its pods do not notice."""

from __future__ import annotations

from pathlib import Path

from messages.sources import Epoch, Verdict
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    file_source_stage,
    pod_text,
)


def test_a_new_life_lists_with_a_higher_epoch_and_the_identical_pods(
    files: FileSourceStage,
) -> None:
    files.write("web.yaml", pod_text("web"))
    files.notices()
    before = files.told.drain()[-1]
    files.crashes()
    (after,) = files.told.drain()
    assert before.epoch < after.epoch == Epoch(2, 1)
    assert before.pods[0] is after.pods[0]


def test_a_broken_manifest_keeps_its_pod_over_a_crash(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web"))
    files.notices()
    files.write("web.yaml", BROKEN)
    files.notices()
    files.told.drain()
    files.crashes()
    assert files.listings() == [["web"]]
    assert files.verdicts() == {"web.yaml": Verdict.KEPT}


def test_what_changed_while_it_was_down_is_in_its_next_listings(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web"))
    files.write("shop.yaml", pod_text("shop"))
    files.notices()
    files.told.drain()

    files.goes_down()
    (files.path / "web.yaml").unlink()
    files.write("mail.yaml", pod_text("mail"))
    files.recovers()
    assert files.listed() == ["mail", "shop"]


def test_asked_before_its_first_look_a_new_life_tells_what_the_last_one_knew(
    files: FileSourceStage,
) -> None:
    # Complete, and with an epoch of its own: whoever asks must not wait for a slow disk.
    files.write("web.yaml", pod_text("web"))
    files.notices()
    files.told.drain()
    files.goes_down()
    files.asks_for_listing()
    files.recovers()
    assert ["web"] in files.listings()


def test_a_scan_of_an_ended_life_is_not_done_by_the_next(files: FileSourceStage) -> None:
    files.crashes()
    files.crashes()
    before = files.play.describe()["source/file"].handled
    files.play.advance(20.0)
    assert files.play.describe()["source/file"].handled - before == 10


def test_a_crash_closes_the_watch_and_the_next_life_has_its_own(files: FileSourceStage) -> None:
    files.goes_down()
    assert files.watches.open_count() == 0
    files.recovers()
    assert files.watches.open_count() == 1


def test_it_stops_with_its_watch(tmp_path: Path) -> None:
    with file_source_stage(tmp_path) as files:
        assert files.play.stop() == 0
        assert files.watches.open_count() == 0
