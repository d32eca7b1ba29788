"""The manifest path: what is refused as one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from settings.line import CommandLine
from settings.load import load_settings
from tests.support.settings.settled import refusal


def placed(path: object) -> CommandLine:
    return CommandLine(others={"--hostname-override": "n", "staticPodPath": str(path)})


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(("make", "kind"), [(_socket, "a socket"), (os.mkfifo, "a fifo")])
def test_a_manifest_path_that_is_no_file_or_directory_is_refused(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "pods")
    line = placed(tmp_path / "pods")
    assert refusal(lambda: load_settings(line)) == (
        f"the manifest path {tmp_path / 'pods'} is {kind}; it should be a directory or a file"
    )


def test_a_device_is_no_manifest_path() -> None:
    line = placed("/dev/null")
    assert "/dev/null is a device" in refusal(lambda: load_settings(line))


@pytest.mark.parametrize("name", ["folder", "file", "missing"])
def test_a_manifest_path_may_be_a_directory_or_a_file_or_come_later(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    line = placed(tmp_path / name)
    assert load_settings(line).static_pod_path == tmp_path / name
