"""What every test has around it: no threads left behind, no log printed, no value of a Secret seen
anywhere.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator, Iterator, MutableMapping
from typing import Any, NoReturn

import pytest
import structlog
from structlog.testing import capture_logs

from tests.support import flaky
from tests.support.canary import LOOKOUT
from tests.support.patience import PATIENCE, SLOWNESS, TEST_LIMIT
from tests.support.project.clocks import is_without

pytest_plugins = [
    "tests.support.agent.installed",
    "tests.support.browser.fixtures",
    "tests.support.cluster.fixtures",
    "tests.support.containers.fixtures",
    "tests.support.kernel.fixtures",
    "tests.support.examples",
    "tests.support.volumes.mounting",
]

GIVES_UP_AFTER = 1200.0
"""Seconds for a test that knows no clock of the machine. Its limit is a number of steps."""


def pytest_configure() -> None:
    """Let what tests start be interrupted: a shell has its background ignore SIGINT, which is passed on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let some tests fail that do so now and then, and those that wait for nothing take their time."""
    flaky.let_fail(items, flaky.read_flaky(flaky.FILE.read_text("utf-8")))
    for item in items:
        path = str(item.path.relative_to(flaky.TESTS)) if flaky.TESTS in item.path.parents else ""
        own = item.get_closest_marker("timeout")
        if is_without(path) and own is None:
            item.add_marker(pytest.mark.timeout(GIVES_UP_AFTER))
        elif not is_without(path):
            limit = SLOWNESS * own.args[0] if own is not None else TEST_LIMIT
            item.add_marker(pytest.mark.timeout(max(limit, TEST_LIMIT)), append=False)


def _drop(_logger: object, _method: str, event: MutableMapping[str, Any]) -> NoReturn:
    LOOKOUT.look("a log event", repr(event))
    raise structlog.DropEvent


@pytest.fixture(autouse=True)
def no_log_is_printed() -> None:
    """Throw log events away, unless the test asks for ``logs``."""
    structlog.reset_defaults()
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)


@pytest.fixture
def logs(no_log_is_printed: None) -> Iterator[list[MutableMapping[str, Any]]]:  # noqa: ARG001
    """Return the log events of the test as they happen."""
    with capture_logs() as events:
        yield events
    LOOKOUT.look("a log event", repr(events))


@pytest.fixture(autouse=True)
def no_value_of_a_secret_is_seen(no_log_is_printed: None) -> Iterator[None]:  # noqa: ARG001
    """Fail a test in which the canary was seen where people look: what is printed is looked at later."""
    LOOKOUT.sightings()
    yield
    sightings = LOOKOUT.sightings()
    assert sightings == [], "a value of a Secret is seen"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that printed the canary, or whose libraries logged it."""
    report = yield
    for name, text in report.sections:
        LOOKOUT.look(name, text)
    sightings = LOOKOUT.sightings()
    if sightings and report.passed:
        report.outcome = "failed"
        report.longrepr = f"a value of a Secret is seen: {sightings}"
    return report


@pytest.fixture
def capsys(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Return what the test printed, which is looked at, too."""
    return _watched(capsys)


@pytest.fixture
def capfd(capfd: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Return what the test and its children printed, which is looked at, too."""
    return _watched(capfd)


def _watched(capture: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    read = capture.readouterr

    def readouterr() -> Any:
        printed = read()
        LOOKOUT.look("what was printed", f"{printed.out}{printed.err}")
        return printed

    vars(capture)["readouterr"] = readouterr
    return capture


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fail a test that leaves threads behind; one that got stuck on purpose has to be released."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + PATIENCE
    while (found := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        for thread in found:
            if thread.ident is not None:  # else somebody starts it just now
                thread.join(max(0.0, deadline - time.monotonic()))
    left = sorted(thread.name for thread in set(threading.enumerate()) - before)
    assert left == [], "threads are left"
