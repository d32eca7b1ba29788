"""Paths of the node, which have to be what a volume says."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from actors.volumes.mounts.host_paths import HostPathType, prepare_host_path


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Return one path of each kind."""
    tmp_path.joinpath("directory").mkdir()
    tmp_path.joinpath("file").touch()
    tmp_path.joinpath("link").symlink_to("directory")
    tmp_path.joinpath("dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    names = ("directory", "file", "link", "dangling", "socket", "missing", "missing/deep")
    return {**{name: str(tmp_path / name) for name in names}, "device": "/dev/null"}


@pytest.mark.parametrize(
    ("kind", "name", "trouble"),
    [
        ("", "missing", ""),
        ("Directory", "directory", ""),
        ("Directory", "link", ""),
        ("Directory", "file", "is not a directory"),
        ("Directory", "missing", "No such file or directory"),
        ("DirectoryOrCreate", "directory", ""),
        ("DirectoryOrCreate", "missing/deep", ""),
        ("DirectoryOrCreate", "file", "is not a directory"),
        ("DirectoryOrCreate", "dangling", "No such file or directory"),
        ("File", "file", ""),
        ("File", "directory", "is not a file"),
        ("FileOrCreate", "file", ""),
        ("FileOrCreate", "missing", ""),
        ("FileOrCreate", "missing/deep", "No such file or directory"),
        ("FileOrCreate", "directory", "is not a file"),
        ("Socket", "socket", ""),
        ("Socket", "file", "is not a socket"),
        ("CharDevice", "device", ""),
        ("CharDevice", "file", "is not a character device"),
        ("BlockDevice", "device", "is not a block device"),
    ],
)
def test_a_path_of_the_node_has_to_be_what_the_volume_says(
    places: dict[str, str], kind: str, name: str, trouble: str
) -> None:
    found = prepare_host_path(places[name], HostPathType(kind))
    assert (trouble in found) if trouble else not found
    if trouble:
        assert found.startswith(f"hostPath type check failed: {places[name]}")
    elif kind.endswith("OrCreate"):
        assert Path(places[name]).exists()


def test_a_sentence_about_a_path_has_the_beginning_of_a_long_one(tmp_path: Path) -> None:
    path = f"{tmp_path}/{'deep/' * 600}"
    found = prepare_host_path(path, HostPathType.DIRECTORY)
    assert found == f"hostPath type check failed: {path[:256]}...: No such file or directory"
