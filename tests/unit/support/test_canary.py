"""The canary is seen wherever values of Secrets could come out: so its silence means something."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import structlog
from typing_extensions import override

from messages.objects import HeldObject, ReadVerdict
from tests.support.agent.process import AgentProcess
from tests.support.canary import CANARY, LOOKOUT, Lookout, hidden, revealed
from tests.support.kernel.probe import Probe
from tests.support.wire.client import fetch


def test_a_value_is_made_of_a_text_and_the_text_can_be_had_back() -> None:
    assert CANARY in hidden("1")
    assert revealed(hidden("1").encode()) == "1"
    assert revealed(b"plain") == "plain"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "y", "yz", "xyz"])
def test_it_is_seen_in_base64_wherever_it_stands(before: str, after: str) -> None:
    lookout = Lookout(CANARY)
    lookout.look("here", b64encode(f"{before}{CANARY}{after}".encode()).decode())
    assert [seen.partition(":")[0] for seen in lookout.sightings()] == ["here"]


def test_what_is_like_it_is_not_taken_for_it() -> None:
    lookout = Lookout(CANARY)
    lookout.look("here", f"{CANARY[:-1]} {b64encode(CANARY[:-1].encode()).decode()}")
    assert lookout.sightings() == []


def test_what_is_said_of_it_does_not_have_it() -> None:
    lookout = Lookout(CANARY)
    lookout.look("a log event", f"password={CANARY}!")
    assert lookout.sightings() == ["a log event: ...password=<here>"]


def test_it_is_seen_in_the_log() -> None:
    structlog.get_logger("objects").info("learned", value=hidden("1").encode())
    assert len(LOOKOUT.sightings()) == 1


def test_it_is_seen_in_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    sys.stderr.write(hidden("1"))
    capsys.readouterr()
    assert len(LOOKOUT.sightings()) == 1


def test_it_is_seen_in_the_repr_of_a_message() -> None:
    reason = hidden("1")
    Probe[Any]().tell(HeldObject(verdict=ReadVerdict.UNUSABLE, reason=reason))
    assert len(LOOKOUT.sightings()) == 1


def test_it_is_seen_in_the_log_of_an_agent_process(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.log_file.write_text(hidden("1"))
    assert len(LOOKOUT.sightings()) == 1


class _Indiscreet(BaseHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(hidden("1").encode())


@pytest.fixture
def indiscreet() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Indiscreet) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_it_is_seen_in_the_answer_of_an_endpoint(indiscreet: int) -> None:
    fetch(indiscreet, "/watchz")
    assert len(LOOKOUT.sightings()) == 1
