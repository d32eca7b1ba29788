"""The manifest path itself: missing, a single file, vanishing, unreadable, back again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from kernel import Runtime
from messages.sources import Verdict
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    file_source_stage,
    pod_text,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "manifests"


def with_a_pod(files: FileSourceStage) -> None:
    """Have one pod, and nothing left to look at."""
    files.path.mkdir()
    files.write("web.yaml", pod_text("web"))
    files.notices()
    files.told.drain()


def test_scenario_1_a_missing_path_is_an_empty_listing(runtime: Runtime, path: Path) -> None:
    with file_source_stage(path, runtime) as files:
        assert files.listings() == [[]]
        described = files.described()
        assert (described.ready, described.last_listed) == (True, None)
        assert described.error == f"{path} does not exist, taken as empty"

        # It is made, and filled.
        with_a_pod(files)
        assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}
        assert files.described().error == ""


def test_what_is_told_of_a_path_is_provisional_until_it_is_there(
    runtime: Runtime, path: Path
) -> None:
    with file_source_stage(path, runtime) as files:
        files.scans()
        files.asks_for_listing()
        files.crashes()
        assert {listing.is_provisional for listing in files.told.drain()} == {True}

        # An empty directory is another thing than none, though it has as few pods.
        path.mkdir()
        files.notices()
        assert [(told.pods, told.is_provisional) for told in files.told.drain()] == [((), False)]

        shutil.rmtree(path)
        files.notices()
        files.asks_for_listing()
        assert [told.is_provisional for told in files.told.drain()] == [False]


def test_scenario_2_the_birth_of_a_missing_directory_is_watched_for(path: Path) -> None:
    with file_source_stage(path) as files:
        assert files.watches.newest.directories == {path.parent}
        path.mkdir()
        files.notices()
        assert files.watches.newest.directories == {path}
        assert files.watches.open_count() == 1


def test_a_directory_that_vanishes_keeps_its_pods_and_says_so(
    path: Path, logs: list[MutableMapping[str, Any]]
) -> None:
    with file_source_stage(path) as files:
        with_a_pod(files)
        listed_at = files.described().last_listed
        shutil.rmtree(path)
        files.notices()
        files.scans()
        files.told.expect_silence()
        described = files.described()
        assert described.error == f"{path} does not exist"
        assert described.last_listed == listed_at
        assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}

        # It comes back with another content: what is not there any more is gone.
        path.mkdir()
        files.write("shop.yaml", pod_text("shop"))
        files.notices()
        assert files.listed() == ["shop"]

    told = [event["event"] for event in logs if "manifest path" in event["event"]]
    assert told == [
        "manifest path cannot be listed",
        "manifest path can be listed again",
        "manifest path cannot be listed",
        "manifest path can be listed again",
    ]


def test_rule_f4_asked_to_it_lets_the_pods_go_with_the_directory(path: Path) -> None:
    with file_source_stage(path, clear_on_missing=True) as files:
        with_a_pod(files)
        shutil.rmtree(path)
        files.notices()
        assert files.listed() == []


def replace_by_file(path: Path) -> None:
    """Make the path lead through something that is no directory."""
    shutil.rmtree(path.parent)
    path.parent.write_text("")


def replace_by_loop(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to(path.name)


def replace_by_device(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("replace", "error"),
    [
        (replace_by_file, "cannot be read: Not a directory"),
        (replace_by_loop, "cannot be read: Too many levels of symbolic links"),
        (replace_by_device, "is a device, neither a directory nor a file"),
    ],
)
def test_rule_f3_a_path_that_cannot_be_read_keeps_its_pods_and_says_so(
    tmp_path: Path, replace: Callable[[Path], None], error: str
) -> None:
    path = tmp_path / "etc" / "manifests"
    path.parent.mkdir()
    with file_source_stage(path, clear_on_missing=True) as files:
        with_a_pod(files)
        replace(path)
        files.notices()
        files.told.expect_silence()
        assert files.described().error == f"{path} {error}"
        assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}


def test_a_path_that_cannot_be_read_at_first_lists_nothing(tmp_path: Path) -> None:
    # Nothing is known of its pods, and an empty listing would remove them.
    with file_source_stage(Path("/dev/null")) as files:
        files.scans()
        files.told.expect_silence()
        assert not files.described().ready
        files.asks_for_listing()
        files.told.expect_silence()
        assert files.described().epoch == (1, 0)
        assert tmp_path.exists()


# --- a single file ------------------------------------------------------------------------------------


def write(files: FileSourceStage, text: str) -> None:
    """Write the manifest that the path is."""
    files.path.write_text(text)
    files.touch(files.path)


def test_scenario_5_a_single_file_is_a_path_too(path: Path) -> None:
    with file_source_stage(path) as files:
        write(files, pod_text("test", uid="12345").replace("uid", "namespace: mynamespace, uid"))
        files.notices()
        (pod,) = files.pods() or ()
        assert (pod.namespace, pod.name, pod.uid) == ("mynamespace", "test-node1", "12345")
        spec = pod.document["spec"]
        assert spec["nodeName"] == "node1"
        assert spec["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
        assert spec["restartPolicy"] == "Always"
        assert pod.annotations["kubernetes.io/config.hash"] == "12345"
        assert pod.phase == "Pending"


def test_scenario_8_a_single_file_that_is_made_later_is_found_by_the_scan(path: Path) -> None:
    with file_source_stage(path) as files:
        write(files, pod_text("web"))
        files.scans()
        assert files.listings() == [[], ["web"]]


def test_rule_f18_a_single_file_that_is_replaced_by_a_rename_is_an_edit(path: Path) -> None:
    with file_source_stage(path) as files:
        write(files, pod_text("web", image="web:1"))
        files.notices()
        files.told.drain()

        fresh = path.with_suffix(".new")
        fresh.write_text(pod_text("web", image="web:2"))
        files.touch(fresh)
        fresh.rename(path)
        # Its directory is watched, not the file: that one is gone.
        assert files.watches.newest.directories == {path.parent}
        files.notices()
        (pod,) = files.pods() or ()
        assert pod.document["spec"]["containers"][0]["image"] == "web:2"


def test_a_single_file_that_is_removed_takes_its_pod_with_it(path: Path) -> None:
    with file_source_stage(path) as files:
        write(files, pod_text("web"))
        files.notices()
        path.unlink()
        files.notices()
        files.scans()
        assert files.listings() == [[], ["web"], []]


def test_rule_f10_a_single_file_that_breaks_keeps_its_pod(path: Path) -> None:
    with file_source_stage(path) as files:
        write(files, pod_text("web"))
        files.notices()
        files.told.drain()
        write(files, BROKEN)
        files.notices()
        files.told.expect_silence()
        assert files.verdicts() == {"manifests": Verdict.KEPT}


def test_a_linked_directory_is_followed_and_its_swap_noticed(tmp_path: Path) -> None:
    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "link"
    first.mkdir()
    second.mkdir()
    (first / "web.yaml").write_text(pod_text("web"))
    (second / "shop.yaml").write_text(pod_text("shop"))
    link.symlink_to(first)
    with file_source_stage(link) as files:
        assert files.listings() == [["web"]]
        assert files.watches.newest.directories == {tmp_path, first}

        fresh = tmp_path / "fresh"
        fresh.symlink_to(second)
        fresh.rename(link)
        files.notices()
        assert files.listed() == ["shop"]
        assert files.watches.newest.directories == {tmp_path, second}
