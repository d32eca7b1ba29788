"""The file source over a directory: write, edit, break, rename, remove, shadow."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from messages.pods import CONFIG_HASH, FILE
from messages.sources import Epoch, RejectReason, Verdict
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    pod_text,
)


def test_scenario_4_an_empty_directory_is_an_empty_listing(files: FileSourceStage) -> None:
    listing = files.told.next()
    assert (listing.source, listing.epoch, listing.pods) == (FILE, Epoch(1, 1), ())
    files.scans()
    files.told.expect_silence()


def test_scenario_6_a_manifest_that_is_written_is_listed(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web"))
    files.notices()
    assert files.listings() == [[], ["web"]]
    assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}


def test_without_a_notification_the_scan_finds_it(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web"))
    files.scans()
    assert files.listings() == [[], ["web"]]


def test_a_rescan_finds_it_at_once(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web"))
    files.rescans()
    assert files.listings() == [[], ["web"]]


def test_a_file_that_is_being_written_is_listed_when_it_is_quiet(files: FileSourceStage) -> None:
    # Half of it may well be a valid pod.
    files.told.drain()
    file = files.write("web.yaml", pod_text("half"), age=0)
    files.watches.notice()
    files.play.settle()
    files.told.expect_silence()

    files.play.advance(0.04)
    file.write_text(pod_text("web"))
    files.touch(file, age=0)
    files.watches.notice()
    files.play.advance(0.04)
    files.told.expect_silence()

    files.play.advance(0.02)
    assert files.listings() == [["web"]]


def test_scenario_9_an_edit_in_place_changes_the_pod(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web", uid="12345", image="web:1"))
    files.notices()
    files.write("web.yaml", pod_text("web", uid="12345", image="web:2"))
    files.notices()
    (pod,) = files.pods() or ()
    assert pod.uid == "12345"
    assert pod.document["spec"]["containers"][0]["image"] == "web:2"


def test_an_edit_without_a_uid_makes_another_pod(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web", image="web:1"))
    files.notices()
    (before,) = files.pods() or ()
    files.write("web.yaml", pod_text("web", image="web:2"))
    files.notices()
    (after,) = files.pods() or ()
    assert before.uid != after.uid
    assert after.annotations[CONFIG_HASH] == after.uid


def test_an_unchanged_pod_is_the_identical_object_in_the_next_listing(
    files: FileSourceStage,
) -> None:
    files.write("web.yaml", pod_text("web"))
    files.notices()
    (before,) = files.pods() or ()
    files.write("shop.yaml", pod_text("shop"))
    files.notices()
    shop, web = files.pods() or ()
    assert shop.name == "shop-node1"
    assert web is before


def test_scenario_10_renaming_a_file_changes_nothing(files: FileSourceStage) -> None:
    # In a kubelet the pod is removed and added again.
    file = files.write("web.yaml", pod_text("web"))
    files.notices()
    files.told.drain()
    file.rename(files.path / "web.yaml_ch")
    files.notices()
    files.scans()
    files.told.expect_silence()
    assert files.verdicts() == {"web.yaml_ch": Verdict.ACCEPTED}


def test_replacing_a_file_by_a_rename_has_no_moment_of_absence(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web", image="web:1"))
    files.notices()
    files.told.drain()
    files.write("web.yaml.tmp", pod_text("web", image="web:2")).rename(files.path / "web.yaml")
    files.notices()
    assert files.listings() == [["web"]]


def test_moving_a_file_away_and_making_it_anew_is_an_edit(files: FileSourceStage) -> None:
    # As some editors save.
    file = files.write("web.yaml", pod_text("web", image="web:1"))
    files.notices()
    files.told.drain()
    file.rename(files.path / "web.yaml~")
    files.watches.notice()
    files.play.settle()
    files.told.expect_silence()
    files.write("web.yaml", pod_text("web", image="web:2"))
    files.notices()
    assert files.listings() == [["web"]]


def test_scenario_11_what_is_no_manifest_gets_a_verdict_and_stops_nobody(
    files: FileSourceStage,
) -> None:
    files.write(".hidden.yaml", pod_text("hidden"))
    (files.path / "sub").mkdir()
    files.write("bad.yaml", BROKEN)
    files.write("good.yaml", pod_text("good"))
    files.write("good.yaml~", pod_text("old"))
    files.notices()
    assert files.listed() == ["good"]
    assert files.verdicts() == {
        ".hidden.yaml": Verdict.IGNORED,
        "bad.yaml": Verdict.REJECTED,
        "good.yaml": Verdict.ACCEPTED,
        "good.yaml~": Verdict.IGNORED,
        "sub": Verdict.REJECTED,
    }
    assert files.verdict("sub").reason == "is a directory, not a file"


@pytest.mark.parametrize(
    "broken",
    ["", BROKEN, "just words", pod_text("web").replace("main", "Not A Label"), b"\x01\x02\x03"],
    ids=["empty", "syntax", "no pod", "invalid", "bytes"],
)
def test_scenario_12_a_manifest_that_breaks_keeps_its_pod(
    files: FileSourceStage, broken: str | bytes
) -> None:
    # In a kubelet the next scan removes it (K4).
    files.write("web.yaml", pod_text("web"))
    files.notices()
    files.told.drain()
    files.write("web.yaml", broken)
    files.notices()
    files.scans()
    files.told.expect_silence()
    assert files.verdicts() == {"web.yaml": Verdict.KEPT}

    # Mended, it is served as it says; removed, it is gone.
    files.write("web.yaml", pod_text("web", image="web:2"))
    files.notices()
    assert files.listed() == ["web"]
    (files.path / "web.yaml").unlink()
    files.notices()
    assert files.listed() == []
    assert files.verdicts() == {}


def test_scenario_13_a_removed_pod_does_not_come_back(files: FileSourceStage) -> None:
    # In a kubelet the next notification brings it back (K3).
    files.write("a.yaml", pod_text("a")).unlink()
    files.write("a.yaml", pod_text("a"))
    files.notices()
    (files.path / "a.yaml").unlink()
    files.scans()
    files.write("b.yaml", pod_text("b"))
    files.notices()
    assert files.listings() == [[], ["a"], [], ["b"]]


def test_scenario_14_a_pod_list_in_a_file_is_refused(files: FileSourceStage) -> None:
    files.write("list.yaml", "apiVersion: v1\nkind: PodList\nitems: []\n")
    files.notices()
    verdict = files.verdict("list.yaml")
    assert (verdict.verdict, verdict.code) == (Verdict.REJECTED, RejectReason.NOT_A_POD)
    assert files.described().rejected == {RejectReason.NOT_A_POD: 1}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    # The path of a socket has to be short; its name in the directory need not.
    short = Path("/tmp") / f"actorlet-{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short))
    shutil.move(short, path)


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "code", "reason"),
    [
        (make_fifo, RejectReason.NOT_A_FILE, "is a fifo, not a file"),
        (make_socket, RejectReason.NOT_A_FILE, "is a socket, not a file"),
        (make_link_to_device, RejectReason.NOT_A_FILE, "is a device, not a file"),
        (Path.mkdir, RejectReason.NOT_A_FILE, "is a directory, not a file"),
        (
            make_dangling_link,
            RejectReason.UNREADABLE,
            "is a link to something that does not exist",
        ),
        (
            make_loop,
            RejectReason.UNREADABLE,
            "cannot be read: Too many levels of symbolic links",
        ),
    ],
    ids=["fifo", "socket", "device", "directory", "dangling link", "link loop"],
)
def test_rule_f7_what_cannot_be_read_is_a_verdict_and_stops_nobody(
    files: FileSourceStage, make: Callable[[Path], None], code: RejectReason, reason: str
) -> None:
    make(files.path / "a-odd")
    files.write("web.yaml", pod_text("web"))
    files.notices()
    assert files.listed() == ["web"]
    verdict = files.verdict("a-odd")
    assert (verdict.verdict, verdict.code, verdict.reason) == (Verdict.REJECTED, code, reason)


# --- two files, one pod (F12, K5) ---------------------------------------------------------------------


def test_of_two_files_with_one_pod_name_the_last_in_name_order_is_served(
    files: FileSourceStage,
) -> None:
    files.write("1.yaml", pod_text("web", image="web:1"))
    files.write("2.yaml", pod_text("web", image="web:2"))
    files.notices()
    (pod,) = files.pods() or ()
    assert pod.document["spec"]["containers"][0]["image"] == "web:2"
    assert files.verdicts() == {"1.yaml": Verdict.SHADOWED, "2.yaml": Verdict.ACCEPTED}

    # The other takes over in the very listing in which the first is gone.
    (files.path / "2.yaml").unlink()
    files.notices()
    assert files.listings() == [["web"]]
    assert files.verdicts() == {"1.yaml": Verdict.ACCEPTED}


def test_of_two_files_with_one_uid_the_last_in_name_order_is_served(
    files: FileSourceStage,
) -> None:
    files.write("1.yaml", pod_text("web", uid="12345"))
    files.write("2.yaml", pod_text("shop", uid="12345"))
    files.notices()
    assert files.listed() == ["shop"]
    assert files.verdicts() == {"1.yaml": Verdict.SHADOWED, "2.yaml": Verdict.ACCEPTED}


# --- links (F17, K6) ---------------------------------------------------------------------------------


def test_scenario_7_a_dangling_link_whose_target_is_made_is_listed(
    files: FileSourceStage, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere.yaml"
    (files.path / "web.yaml").symlink_to(target)
    files.scans()
    assert files.listed() == []

    target.write_text(pod_text("web"))
    files.touch(target)
    files.scans()
    assert files.listed() == ["web"]


def test_the_target_of_a_link_counts_as_the_file(files: FileSourceStage, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.yaml"
    target.write_text(pod_text("web", image="web:1"))
    files.touch(target)
    (files.path / "web.yaml").symlink_to(target)
    files.notices()
    files.told.drain()

    target.write_text(pod_text("web", image="web:2"))
    files.touch(target)
    files.notices()
    assert files.listings() == [["web"]]
    assert {tmp_path, files.path} <= files.watches.newest.directories


def mount(path: Path, version: int) -> None:
    """Write what a mounted ConfigMap shows: links through ``..data`` to a dated directory."""
    dated = path / f"..2026_11_21_{version}"
    dated.mkdir()
    (dated / "web.yaml").write_text(pod_text("web", image=f"web:{version}"))
    os.utime(dated / "web.yaml", (0, 0))
    fresh = path / "..data_tmp"
    fresh.symlink_to(dated.name)
    fresh.rename(path / "..data")


def test_a_swap_of_a_mounted_config_map_is_an_edit(files: FileSourceStage) -> None:
    mount(files.path, 1)
    (files.path / "web.yaml").symlink_to("..data/web.yaml")
    files.notices()
    files.told.drain()

    mount(files.path, 2)
    shutil.rmtree(files.path / "..2026_11_21_1")
    files.notices()
    (pod,) = files.pods() or ()
    assert pod.document["spec"]["containers"][0]["image"] == "web:2"
    assert files.verdicts()["web.yaml"] is Verdict.ACCEPTED
    # What is watched is the new directory behind the link.
    assert files.path / "..2026_11_21_2" in files.watches.newest.directories
    assert files.watches.open_count() == 1
