"""``actorlet top`` in a terminal of its own, beside a whole agent that dies and comes back."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

_LEFT_OUT = {"NO_COLOR", "COLUMNS", "LINES"}
"""What would count more than the terminal itself."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_=>])")
_COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d)(?:;\d+)*m")


class Terminal:
    """Owns a pseudo-terminal with a program in it, and all that the program has written."""

    def __init__(self, *arguments: str, size: tuple[int, int], **environment: str) -> None:
        width, height = size
        self._reader, self._inside = pty.openpty()
        fcntl.ioctl(self._inside, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(self._inside)
        self._said = b""
        self._seen = 0
        variables = {key: each for key, each in os.environ.items() if key not in _LEFT_OUT}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), "top", *arguments],
            stdin=self._inside,
            stdout=self._inside,
            stderr=self._inside,
            cwd="/",
            env={**variables, "TERM": "xterm-256color", **environment},
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def press(self, keys: str) -> None:
        """Type these keys; what is shown from now on is what counts."""
        self._seen = len(self._said)
        os.write(self._reader, keys.encode())

    def shows(self, *words: str) -> None:
        """Return once each of these words was written since the last key."""
        try:
            eventually(lambda: all(word in self.text() for word in words))
        except AssertionError as error:
            raise AssertionError(f"no {words} in {self.text()}") from error

    def text(self) -> str:
        """Return what was written since the last key, without what moves the cursor."""
        return _ESCAPE.sub(" ", self._said[self._seen :].decode(errors="replace"))

    def everything(self) -> str:
        """Return all that was written, as it was."""
        return self._said.decode(errors="replace")

    def ends(self) -> int:
        """Return the exit code; the terminal has to be as it was."""
        code = self.process.wait(PATIENCE)
        assert termios.tcgetattr(self._inside) == self.before
        return code

    def close(self) -> None:
        """End the program and its terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._inside)
        self._thread.join()
        os.close(self._reader)

    def _read(self) -> None:
        with suppress(OSError):  # the program has ended, and its terminal with it
            while True:
                select.select([self._reader], [], [])
                self._said += os.read(self._reader, 2**16)


@contextmanager
def terminal(
    agent: AgentProcess | None,
    *arguments: str,
    size: tuple[int, int] = (80, 24),
    **environment: str,
) -> Iterator[Terminal]:
    """Yield the program in a terminal."""
    server = (f"--server=127.0.0.1:{agent.port}",) if agent is not None else ()
    found = Terminal(*server, *arguments, size=size, **environment)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        yield agent


def test_it_outlives_an_agent_that_is_killed_and_goes_on_with_the_next_one(
    agent: AgentProcess,
) -> None:
    agent.start_on_manifests()
    with terminal(agent) as top:
        top.shows("web-node1", "Running", " live")
        agent.write("later.yaml", manifest("later"))
        top.shows("later-node1")
        top.press("2")
        top.shows("pod-manager")
        top.press("1")
        agent.send(signal.SIGKILL)
        agent.ends()
        top.shows("not live", "no agent answers", "next try in")
        agent.write("after.yaml", manifest("after"))
        agent.start_on_manifests()
        top.shows("after-node1")
        top.press("/web\r\r")
        top.shows("It is well.", "Containers")
        top.press("q")
        assert top.ends() == 0
        assert top.everything().count("\x1b[?1049h") == top.everything().count("\x1b[?1049l") == 1


def test_ctrl_c_ends_it_and_a_signal_leaves_the_terminal_as_it_was(agent: AgentProcess) -> None:
    agent.start_on_manifests()
    with terminal(agent) as top:
        top.shows("web-node1")
        top.press("\x03")
        assert top.ends() == 0
    with terminal(agent) as top:
        top.shows("web-node1")
        top.process.send_signal(signal.SIGTERM)
        assert top.ends() == 128 + signal.SIGTERM
        assert "\x1b[?1049l" in top.everything()
        assert "Traceback" not in top.everything()


def test_without_colours_there_are_none_and_in_a_small_terminal_it_fits(
    agent: AgentProcess,
) -> None:
    agent.start_on_manifests()
    with terminal(agent, NO_COLOR="1", size=(60, 15)) as top:
        top.shows("web-node1", "q quit")
        top.press("q")
        assert top.ends() == 0
        assert _COLOUR.findall(top.everything()) == []
    with terminal(agent, size=(50, 10)) as top:
        top.shows("The terminal has 50x10.")
        top.press("q")
        assert top.ends() == 0


def test_an_agent_that_is_away_is_a_sentence_unless_somebody_waits_for_it(
    agent: AgentProcess,
) -> None:
    with terminal(agent) as top:
        assert top.ends() == 4
        top.shows("actorlet: no agent answers at 127.0.0.1:")
        assert "\x1b[?1049h" not in top.everything()
    with terminal(agent, "--wait") as top:
        top.shows("Nothing is known yet", "no agent answers")
        agent.start_on_manifests()
        top.shows("web-node1")
        top.press("q")
        assert top.ends() == 0


def test_a_terminal_that_is_none_is_a_sentence() -> None:
    with terminal(None, TERM="dumb") as top:
        assert top.ends() == 2
        top.shows("TERM=dumb")
    piped = subprocess.run(
        [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), "top"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (piped.returncode, piped.stdout) == (2, "")
    assert piped.stderr.startswith("actorlet: top is for people at a terminal")
