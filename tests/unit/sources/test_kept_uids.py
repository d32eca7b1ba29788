"""The record of the UIDs that static pods keep, on a real disk."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from messages.pods import FILE
from sources.kept_uids import StaticUids, decoded_uids, encoded_uids, record_file
from tests.unit.manifests.test_adopting import running

POD = {
    "metadata": {"name": "web-node1", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "registry.example/web:1"}]},
}


def adopted(root: Path) -> StaticUids:
    uids = StaticUids(root, FILE, adopts=True)
    uids.learn((running(),))
    assert uids.uid_of(POD, "digest") == "k1"
    uids.keep()
    return uids


def test_what_is_kept_is_written_once_and_read_by_the_next_process(tmp_path: Path) -> None:
    with capture_logs() as lines:
        uids = adopted(tmp_path)
        written = record_file(tmp_path, FILE).stat().st_ino
        uids.keep()
    assert record_file(tmp_path, FILE).stat().st_ino == written
    assert [line["event"] for line in lines] == ["a static pod keeps the UID under which it runs"]
    without_flag = StaticUids(tmp_path, FILE, adopts=False)
    assert not without_flag.is_waiting
    without_flag.learn((running("k2"),))
    assert without_flag.uid_of(POD, "digest") == "k1"
    assert without_flag.uid_of(POD, "another") is None


def test_a_record_that_cannot_be_used_is_set_aside_and_said_once(tmp_path: Path) -> None:
    record_file(tmp_path, FILE).write_text("torn")
    with capture_logs() as lines:
        uids = StaticUids(tmp_path, FILE, adopts=False)
        assert uids.uid_of(POD, "digest") is None
        assert uids.uid_of(POD, "digest") is None
    assert [line["reason"] for line in lines] == ["is unusable, and was set aside"]
    assert record_file(tmp_path, FILE).with_suffix(".unusable").read_text() == "torn"


def test_a_disk_that_takes_nothing_keeps_nobody_from_adopting(tmp_path: Path) -> None:
    with capture_logs() as lines:
        adopted(tmp_path / "missing")
    assert lines[-1]["reason"] == "cannot be written: No such file or directory"


def test_a_record_that_cannot_be_set_aside_is_done_without(tmp_path: Path) -> None:
    record_file(tmp_path, FILE).write_text("torn")
    aside = record_file(tmp_path, FILE).with_suffix(".unusable")
    aside.mkdir()
    aside.joinpath("file").touch()
    with capture_logs() as lines:
        assert StaticUids(tmp_path, FILE, adopts=False).uid_of(POD, "digest") is None
    assert lines[0]["reason"].startswith("cannot be set aside: ")


def test_a_record_that_is_torn_or_of_another_version_is_none(tmp_path: Path) -> None:
    adopted(tmp_path)
    data = record_file(tmp_path, FILE).read_bytes()
    assert encoded_uids(decoded_uids(data) or ()) == data
    for bad in (b"", data[:-1], data.replace(b"uids 1", b"uids 2"), b"\xff\n[]"):
        assert decoded_uids(bad) is None
