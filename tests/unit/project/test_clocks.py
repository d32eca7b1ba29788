"""What decides and what is told on steps is the same on any machine, and what waits has one patience."""

from __future__ import annotations

import pytest

from tests.support.project.checkout import ROOT
from tests.support.project.clocks import MAY, needs_the_machine
from tests.support.project.waiting import own_times, unseen_waits

TESTS = ROOT / "tests"
FILES = {str(path.relative_to(TESTS)): path.read_text() for path in TESTS.rglob("*.py")}
MOST = 39
"""Files that may. Who makes it one less, lowers this; nobody raises it."""


def test_only_the_files_of_the_list_use_the_clock_threads_or_sockets_of_the_machine() -> None:
    found = {path for path, text in FILES.items() if needs_the_machine(path, text)}
    assert found == set(MAY), "see tests/support/project/clocks.py"
    assert len(MAY) <= MOST


@pytest.mark.parametrize(
    ("path", "line", "is_found"),
    [
        ("unit/files/test_one.py", "import time\nbegan = time.monotonic()", True),
        ("unit/files/test_one.py", "import time as clock\nclock.time_ns()", True),
        ("unit/files/test_one.py", "from time import perf_counter as now\nnow()", True),
        ("unit/files/test_one.py", "from datetime import datetime\ndatetime.now()", True),
        ("unit/files/test_one.py", "time = play.clock\ntime.monotonic()", False),
        ("unit/files/test_one.py", "import asyncio\nawait asyncio.sleep(0.1)", True),
        ("unit/files/test_one.py", "import asyncio\nawait asyncio.sleep(0)", False),
        ("scenarios/pods/test_one.py", "from kernel import Threads\nstage(spec, Threads())", True),
        ("scenarios/pods/test_one.py", "stage(spec, live=True)", True),
        ("scenarios/pods/test_one.py", "stage(spec, live=False)", False),
        (
            "scenarios/pods/test_one.py",
            "from tests.support.a import FewThreads\nFewThreads()",
            False,
        ),
        ("simulation/history.py", "import socket\nsocket.create_server(place)", True),
        ("simulation/history.py", "import threading\nthreading.Thread(target=work)", True),
        ("scenarios/kernel/test_one.py", "from kernel import Threads\nThreads()", False),
        (
            "unit/files/test_one.py",
            "from tests.support.agent.process import eventually as soon\nsoon(is_ready)",
            True,
        ),
        ("process/test_one.py", "from tests.support.agent.process import eventually", False),
    ],
)
def test_a_line_that_needs_the_machine_is_found_where_none_should_be(
    path: str, line: str, *, is_found: bool
) -> None:
    assert needs_the_machine(path, line) is is_found


def test_no_wait_lasts_for_a_number_of_seconds_of_its_own() -> None:
    assert [each for path, text in FILES.items() for each in own_times(path, text)] == []


def test_no_wait_goes_on_without_a_word_when_nothing_has_come() -> None:
    assert [each for path, text in FILES.items() for each in unseen_waits(path, text)] == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("assert asked.wait(10)", True),
        ("assert asked.wait(PATIENCE)", False),
        ("assert not asked.wait(0.1)", False),
        ("pause.wait(0.1)", False),
        ("threading.Event().wait(0.1)", False),
        ("assert system.wait(Seconds(5.0)) == 0", True),
        ("assert system.wait(Seconds(0.0)) is None", False),
        ("LONG = Seconds(5.0)\nassert system.wait(LONG) == 0", True),
        ("LONG = 2 * PATIENCE\nassert asked.wait(LONG)", False),
        ("eventually(is_ready, 30.0)", True),
        ("eventually(is_ready, 3 * PATIENCE)", False),
        ("stage.eventually(is_ready, 30.0)", False),
        ("await asyncio.wait_for(closed(), 5)", True),
        ("subprocess.run(command, timeout=20)", True),
        ("probe(timeout=20)", False),
        ("told.get(timeout=10)", True),
        ("server.settimeout(5)", True),
        ("server.settimeout(0)", False),
        ("'/'.join(names)", False),
    ],
)
def test_a_time_of_its_own_is_found(text: str, *, is_found: bool) -> None:
    assert bool(own_times("wire/test_one.py", text)) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("asked.wait(PATIENCE)", True),
        ("stage.system.wait(Seconds(PATIENCE))", False),
        ("assert asked.wait(PATIENCE)", False),
        ("process.wait(PATIENCE)", False),
        ("thread.join(PATIENCE)", False),
    ],
)
def test_a_wait_whose_end_nobody_sees_is_found(text: str, *, is_found: bool) -> None:
    assert bool(unseen_waits("wire/test_one.py", text)) is is_found
