"""What stands in the log, as text and as JSON."""

from __future__ import annotations

import json
import logging
import os
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TextIO

import pytest
import structlog

from agent.logs import LogWriter, configure_logs


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Give logs, warnings and the ends of threads back to pytest."""
    root, hook = logging.getLogger(), threading.excepthook
    before = (root.handlers[:], root.level)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = before
    threading.excepthook = hook


class Log:
    """A log that is read from the other end of a pipe."""

    def __init__(self, logging_format: str, verbosity: int = 0) -> None:
        reader, self._writer = os.pipe()
        self._reader = os.fdopen(reader, encoding="utf-8")
        self._stream: TextIO = os.fdopen(self._writer, "w", encoding="utf-8")
        self._log: LogWriter = configure_logs(logging_format, verbosity, self._stream)
        self.say = structlog.get_logger("who")

    def read(self) -> str:
        """End the log, and return what is in it."""
        self._log.close()
        self._stream.close()
        with self._reader as reader:
            return reader.read()

    def events(self) -> list[dict[str, Any]]:
        """End the log, and return its lines decoded."""
        return [json.loads(line) for line in self.read().splitlines()]


def fields_of(line: str) -> str:
    """Return what stands behind the name of who logged."""
    return line.partition("[who] ")[2]


def test_a_line_of_text_is_when_how_bad_what_who_and_the_fields_in_order() -> None:
    log = Log("text")
    now = datetime.now(tz=UTC) + timedelta(minutes=1)
    log.say.warning("manifest", path="/etc/web.yaml", line=3, pods=["default/web", "default/db"])
    (line,) = log.read().splitlines()
    assert line[26:] == (
        " [warning  ] manifest             [who] "
        'path=/etc/web.yaml line=3 pods=["default/web", "default/db"]'
    )
    assert datetime.strptime(line[:26], "%Y-%m-%d %H:%M:%S.%f").astimezone() <= now


def test_fields_that_say_nothing_are_left_out_of_text() -> None:
    log = Log("text")
    log.say.info("event", reason="", warnings=[], error=None, zero=0, no=False)
    assert fields_of(log.read()) == "zero=0 no=False\n"


def test_a_listing_without_pods_says_so() -> None:
    log = Log("text")
    log.say.info("SyncLoop ADD", source="file", pods=[])
    assert fields_of(log.read()) == "source=file pods=[]\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain/word-1.yaml", "plain/word-1.yaml"),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('"', r'"\""'),
        ("one\n12:00:00 [info] a line of its own", r'"one\n12:00:00 [info] a line of its own"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("\x7f\x9b31m", r'"\u007f\u009b31m"'),
        ("\U000e0001", r'"\udb40\udc01"'),
        ("ümlaut", "ümlaut"),
        (b"\xff".decode(errors="surrogateescape"), r'"\udcff"'),
    ],
)
def test_a_value_is_one_word_or_in_quotes_and_never_a_line_of_its_own(
    value: str, shown: str
) -> None:
    log = Log("text")
    log.say.info("event", field=value)
    assert fields_of(log.read()) == f"field={shown}\n"


def test_an_event_is_one_line_that_a_terminal_does_not_obey() -> None:
    log = Log("text")

    log.say.info("no such part: `a\x1b[2J\x00\nb`")

    assert r"no such part: `a\u001b[2J\u0000\u000ab`" in log.read()


@pytest.mark.parametrize("key", ["exception", "stack"])
def test_a_traceback_in_text_is_lines_of_its_own(key: str) -> None:
    log = Log("text")
    log.say.error("failed", actor="web", **{key: "Traceback:\n  File x"})
    assert fields_of(log.read()) == "actor=web\nTraceback:\n  File x\n"


@pytest.mark.parametrize("key", ["exception", "stack"])
def test_a_traceback_holds_nothing_that_a_terminal_obeys(key: str) -> None:
    log = Log("text")
    log.say.error("failed", **{key: "Traceback:\n  \x1b[31m\x9b\r"})
    with pytest.raises(ValueError, match="red") as caught:
        raise ValueError("\x1b[31mred")
    log.say.error("failed", exc_info=caught.value)
    said = log.read()
    assert r"  \u001b[31m\u009b\u000d" in said
    assert r"ValueError: \u001b[31mred" in said
    assert said.replace("\n", "").isprintable()


def fail() -> None:
    raise ValueError("a bug")


@pytest.mark.parametrize("logging_format", ["text", "json"])
def test_an_exception_is_logged_with_its_traceback(logging_format: str) -> None:
    log = Log(logging_format)
    with pytest.raises(ValueError, match="a bug") as caught:
        fail()
    log.say.error("failed", exc_info=caught.value)
    said = log.read()
    assert "Traceback (most recent call last):" in said
    assert "ValueError: a bug" in said


def test_a_line_of_json_begins_with_when_how_bad_who_and_what() -> None:
    log = Log("json")
    log.say.info("SyncLoop ADD", pods=["default/web"], reason="", odd=object)
    (event,) = log.events()
    assert list(event) == ["ts", "level", "logger", "msg", "pods", "reason", "odd"]
    assert (event["level"], event["logger"], event["msg"]) == ("info", "who", "SyncLoop ADD")
    assert event["ts"].endswith("Z")
    assert event["pods"] == ["default/web"]


@pytest.mark.parametrize(("verbosity", "events"), [(0, ["info"]), (4, ["debug", "info"])])
def test_debugging_lines_are_shown_from_verbosity_4_on(verbosity: int, events: list[str]) -> None:
    log = Log("json", verbosity)
    log.say.debug("debug")
    log.say.info("info")
    assert [event["msg"] for event in log.events()] == events


def test_what_libraries_log_warn_of_and_die_of_are_events_as_well() -> None:
    log = Log("json")
    logging.getLogger("some.library").info("too little")
    logging.getLogger("some.library").warning("odd: %s", "thing")
    logging.getLogger("some.library").critical("bad")
    warnings.warn("outdated", DeprecationWarning, stacklevel=1)
    thread = threading.Thread(target=fail, name="helper")
    thread.start()
    thread.join()
    odd, bad, outdated, died = log.events()
    assert (odd["level"], odd["logger"], odd["msg"], odd["text"]) == (
        "warning",
        "some.library",
        "library",
        "odd: thing",
    )
    assert (bad["level"], bad["text"]) == ("error", "bad")
    assert "DeprecationWarning: outdated" in outdated["text"]
    assert (died["msg"], died["thread"]) == ("thread failed", "helper")
    assert "ValueError: a bug" in died["exception"]


def test_a_thread_that_is_told_to_exit_is_no_failure() -> None:
    log = Log("json")
    threading.excepthook(threading.ExceptHookArgs((SystemExit, None, None, None)))
    assert log.read() == ""


def test_a_process_without_standard_error_logs_to_nowhere() -> None:
    writer = configure_logs("text", 0, None)
    structlog.get_logger("who").info("event")
    writer.close()
