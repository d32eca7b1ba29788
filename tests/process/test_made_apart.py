"""A value that another process makes, and what becomes of this one if that makes none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, eventually
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def program(make: str, before: str = "", meanwhile: str = "pass") -> list[str]:
    """Return a program that makes a value as ``make`` says, and prints whether another process did."""
    lines = (
        "import os, signal, sys",
        "from settings.apart import made_apart",
        "from settings.errors import StartError",
        "def make():",
        f"    {make}",
        "    return os.getpid()",
        "def meanwhile():",
        f"    {meanwhile}",
        before,
        "try:",
        "    print(made_apart(make, meanwhile) != os.getpid())",
        "except StartError as error:",
        "    print(error)",
    )
    return [sys.executable, "-c", "\n".join(lines)]


def run(make: str, before: str = "", meanwhile: str = "pass") -> subprocess.CompletedProcess[str]:
    """Run such a program until it ends."""
    return subprocess.run(
        program(make, before, meanwhile),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_a_value_is_made_by_another_process() -> None:
    ended = run("pass")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_a_large_value_arrives_whole() -> None:
    ended = run("return 'x' * 10_000_000")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("code", [0, 3])
def test_if_the_other_one_exits_so_does_this_one(code: int) -> None:
    ended = run(f"print('help'); sys.exit({code})")
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "help\n", "")


def test_this_one_does_something_while_the_other_one_runs() -> None:
    ended = run("os.read(ours, 1)", "ours, theirs = os.pipe()", "os.write(theirs, b'x')")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_if_the_other_one_exits_this_one_does_not_finish_what_it_began() -> None:
    began = "import threading; threading.Thread(target=threading.Event().wait).start()"
    ended = run("sys.exit(3)", meanwhile=began)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "")


def test_a_bug_is_shown_once() -> None:
    ended = run("raise ZeroDivisionError")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("Traceback") == 1


def test_a_signal_that_ends_the_other_one_is_a_sentence() -> None:
    ended = run("os.kill(os.getpid(), signal.SIGKILL)")
    said = "the process that reads the settings was ended by signal 9\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, "")


def test_where_no_process_can_be_had_the_value_is_made_in_this_one() -> None:
    ended = run("pass", before="def fork(): raise OSError\nos.fork = fork")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "False\n", "")


def test_if_this_one_is_killed_the_other_one_ends_although_what_it_reads_hangs(
    tmp_path: Path,
) -> None:
    fifo, reads = tmp_path / "fifo", tmp_path / "reads"
    os.mkfifo(fifo)
    make = f"open({str(reads)!r}, 'w').write(str(os.getpid())); open({str(fifo)!r}).read()"
    with subprocess.Popen(program(make), cwd=ROOT) as process:
        eventually(lambda: reads.exists() and reads.read_text())
        other = int(reads.read_text())
        assert other != process.pid
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    eventually(lambda: not Path(f"/proc/{other}").exists() or is_zombie(other))


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended and nobody has asked how."""
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()
