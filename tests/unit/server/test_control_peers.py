"""Who is at the other side of a socket."""

from __future__ import annotations

import os
import socket

from server.control.console import PeerUser, allowed_users, peer_of


def test_the_kernel_says_who_made_a_connection() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_of(one) == PeerUser(pid=os.getpid(), uid=os.geteuid())


def test_a_connection_by_a_port_has_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert peer_of(server) is None


def test_root_and_the_agent_s_own_user_are_allowed() -> None:
    assert allowed_users() == {0, os.geteuid()}
