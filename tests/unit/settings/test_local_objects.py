"""Where local objects are: the flag, and what is refused as a place for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from settings.agent import Settings
from settings.command_line import parse
from settings.errors import UsageError
from settings.load import load_settings


def settled(*arguments: str | Path) -> Settings:
    return load_settings(parse([*map(str, arguments), "--hostname-override=node1"]))


def refusal(*arguments: str | Path) -> str:
    """Return the sentence that the flags are refused with."""
    with pytest.raises(UsageError) as caught:
        settled(*arguments)
    return str(caught.value)


def test_there_are_none_unless_the_flag_says_where() -> None:
    assert settled().local_objects_dir is None
    assert settled("--local-objects-dir=").local_objects_dir is None


def test_the_directory_need_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "later"
    assert settled("--local-objects-dir", path).local_objects_dir == path


def test_it_may_stand_beside_the_manifests_or_above_them(tmp_path: Path) -> None:
    pods = tmp_path / "pods"
    beside = settled("--pod-manifest-path", pods, "--local-objects-dir", tmp_path / "pods2")
    assert beside.local_objects_dir == tmp_path / "pods2"
    above = settled("--pod-manifest-path", pods, "--local-objects-dir", tmp_path)
    assert above.local_objects_dir == tmp_path


def test_what_is_neither_directory_nor_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal("--local-objects-dir", tmp_path / "pipe") == (
        f"--local-objects-dir {tmp_path / 'pipe'} is a fifo; it should be a directory or a file"
    )


def test_the_manifests_of_pods_are_no_place_for_them(tmp_path: Path) -> None:
    assert refusal("--pod-manifest-path", tmp_path, "--local-objects-dir", tmp_path) == (
        f"--local-objects-dir {tmp_path} is the manifest path {tmp_path}; "
        "keep Secrets and ConfigMaps apart from the manifests of pods"
    )
    inside = tmp_path / "a" / "b"
    assert refusal("--pod-manifest-path", tmp_path, "--local-objects-dir", inside) == (
        f"--local-objects-dir {inside} is inside of the manifest path {tmp_path}; "
        "keep Secrets and ConfigMaps apart from the manifests of pods"
    )


def test_a_link_to_the_manifests_of_pods_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pods")
    reason = refusal(
        "--pod-manifest-path", tmp_path / "pods", "--local-objects-dir", tmp_path / "link"
    )
    assert " is the manifest path " in reason


def test_a_link_to_itself_is_left_to_the_first_look(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    settings = settled(
        "--pod-manifest-path", tmp_path / "pods", "--local-objects-dir", tmp_path / "circle"
    )
    assert settings.local_objects_dir == tmp_path / "circle"
