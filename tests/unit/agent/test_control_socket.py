"""The socket below the root directory: only its owner's, found by any path, made anew after a kill."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from agent.listeners import CONTROL_SOCKET, control_socket


def test_nobody_else_may_connect_and_it_is_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / CONTROL_SOCKET
    mask = os.umask(0)
    try:
        with control_socket(tmp_path) as (listener,):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert not listener.get_inheritable()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
    finally:
        os.umask(mask)
    assert not path.exists()


def test_what_a_killed_agent_has_left_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / CONTROL_SOCKET))
    with control_socket(tmp_path) as listeners:
        assert len(listeners) == 1


def test_a_path_may_be_longer_than_the_address_of_a_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with control_socket(deep) as (_listener,):
        assert (deep / CONTROL_SOCKET).is_socket()


def test_something_else_in_its_place_is_left_alone_and_said(
    tmp_path: Path, logs: list[MutableMapping[str, Any]]
) -> None:
    (tmp_path / CONTROL_SOCKET).write_text("mine")
    with control_socket(tmp_path) as listeners:
        assert listeners == ()
    assert (tmp_path / CONTROL_SOCKET).read_text() == "mine"
    (line,) = logs
    assert line["event"] == "the control socket is not served"
    assert line["reason"] == "Address already in use"


def test_a_failure_while_it_is_held_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="other"), control_socket(tmp_path):
        raise OSError("other")
    assert not (tmp_path / CONTROL_SOCKET).exists()
