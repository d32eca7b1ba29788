"""A process that has watched ends in order: pyreqwest aborts some that end right after closing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kube.watch_stage import Script, listing, secret_list, stream
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Http2Server

ROOT = Path(__file__).parents[2]


@pytest.mark.process
@pytest.mark.parametrize("attempt", range(10))
def test_a_process_that_closes_its_watches_exits_with_0(attempt: int, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    with Http2Server(Script([listing(secret_list("10"))], [stream()])) as server:
        authority.write_bytes(server.ca_pem)
        command = [sys.executable, "-m", "tests.support.kube.watch_and_exit"]
        ended = subprocess.run(
            [*command, server.url, str(authority), str(5 + attempt)],
            cwd=ROOT,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        server.wait_until(lambda: server.open_connections == 0)
        assert server.begun_streams == 0
        assert len(server.requests) == 2 * (5 + attempt)
