"""What decides and what is told on steps is the same on any machine."""

from __future__ import annotations

import pytest

from tests.support.project.checkout import ROOT
from tests.support.project.clocks import MAY, needs_the_machine

TESTS = ROOT / "tests"
MOST = 32
"""Files that may. Who makes it one less, lowers this; nobody raises it."""


def test_only_the_files_of_the_list_use_the_clock_threads_or_sockets_of_the_machine() -> None:
    paths = {str(path.relative_to(TESTS)): path for path in TESTS.rglob("*.py")}
    found = {name for name, path in paths.items() if needs_the_machine(name, path.read_text())}
    assert found == set(MAY), "see tests/support/project/clocks.py"
    assert len(MAY) <= MOST


@pytest.mark.parametrize(
    ("path", "line", "is_found"),
    [
        ("unit/files/test_one.py", "began = time.monotonic()", True),
        ("unit/files/test_one.py", "await asyncio.sleep(0.1)", True),
        ("unit/files/test_one.py", "await asyncio.sleep(0)", False),
        ("scenarios/pods/test_one.py", "with stage(spec, Threads()) as play:", True),
        ("scenarios/pods/test_one.py", "threads = DiskThreads()", False),
        ("simulation/history.py", "with socket.create_server(place) as server:", True),
        ("scenarios/kernel/test_one.py", "with stage(spec, Threads()) as play:", False),
        ("process/test_one.py", "eventually(agent.is_ready)", False),
    ],
)
def test_a_line_that_needs_the_machine_is_found_where_none_should_be(
    path: str, line: str, *, is_found: bool
) -> None:
    assert needs_the_machine(path, line) is is_found
