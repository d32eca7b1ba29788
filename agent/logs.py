"""The log: events with constant texts and with values as fields, written as text or as JSON lines.

It goes to standard error, and nothing else of this process goes there. What libraries log, warnings, and
exceptions that end a thread are events, too, so every line can be parsed.
"""

from __future__ import annotations

import json
import logging
import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TextIO

import structlog
from structlog.dev import (
    Column,
    ConsoleRenderer,
    KeyValueColumnFormatter,
    LogLevelColumnFormatter,
    plain_traceback,
)
from typing_extensions import override

from messages.units import Seconds

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

DEBUG_VERBOSITY: Final = 4
"""The lowest ``--v`` that shows debug lines, as in a kubelet."""

_TRACES: Final = ("exception", "stack")
"""Fields that text shows as lines of their own."""

_SHOWN_EMPTY: Final = frozenset({"pods"})
"""A listing without pods is no listing that says nothing of them."""

_log = structlog.get_logger("log")


def configure_logs(logging_format: str, verbosity: int, stream: TextIO | None) -> LogWriter:
    """Log everything to ``stream`` from here on, in the format ``text`` or ``json``.

    Returns the writer. Close it before the process ends, so that all lines are written. A ``stream`` of
    ``None`` means a process without standard error. It logs to nowhere, because that file descriptor may
    be another file by now.
    """
    level = logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO
    descriptor = stream.fileno() if stream else os.open(os.devnull, os.O_WRONLY)
    writer = LogWriter(descriptor, _log_lost)
    structlog.configure(
        processors=[
            _with_logger_name,
            *_rendering(logging_format, colors=os.isatty(descriptor)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *names: _Line(writer, *names),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Forwarder()], force=True)
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_end_of_thread
    return writer


class _Line:
    """The logger that structlog calls with rendered events, by the name of their level."""

    def __init__(self, writer: LogWriter, name: str = "") -> None:
        self.name = name
        self._writer = writer

    def msg(self, line: str) -> None:
        self._writer.write(line)

    debug = info = warning = error = critical = msg


class _Forwarder(logging.Handler):
    """Turns what libraries log with ``logging`` into events of this log."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        emit = log.error if record.levelno >= logging.ERROR else log.warning
        emit("library", text=record.getMessage(), exc_info=record.exc_info)


def _rendering(logging_format: str, *, colors: bool) -> list[Processor]:
    if logging_format == "json":
        return [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("msg"),
            _in_order,
            structlog.processors.JSONRenderer(),
        ]
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S.%f", utc=False),
        structlog.processors.format_exc_info,
        _printable_traces,
        _printable_event,
        _without_empty_fields,
        _text(colors=colors),
    ]


def _text(*, colors: bool) -> Processor:
    """Return the renderer of text lines: time, level, event, logger, then the fields."""
    styles = ConsoleRenderer.get_default_column_styles(colors)
    levels = ConsoleRenderer.get_default_level_styles(colors)

    def plain(style: str, width: int = 0, *, frame: str = "") -> KeyValueColumnFormatter:
        return KeyValueColumnFormatter(None, style, styles.reset, str, width, frame[:1], frame[1:])

    fields = KeyValueColumnFormatter(styles.kv_key, styles.kv_value, styles.reset, _shown)
    columns = [
        Column("timestamp", plain(styles.timestamp)),
        Column("level", LogLevelColumnFormatter(levels, styles.reset)),
        Column("event", plain(styles.bright, 20)),
        Column("logger", plain(styles.logger_name, frame="[]")),
        Column("", fields),
    ]
    return ConsoleRenderer(columns=columns, sort_keys=False, exception_formatter=plain_traceback)


def _with_logger_name(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    name = getattr(logger, "name", "")
    return {"logger": name, **event} if name else event


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return the event with the keys first that every line has."""
    first = ("ts", "level", "logger", "msg")
    return {**{key: event[key] for key in first if key in event}, **event}


def _without_empty_fields(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return the event without empty fields, but for those whose emptiness says something."""
    return {
        key: value
        for key, value in event.items()
        if key in _SHOWN_EMPTY or value not in (None, "", [], ())
    }


def _shown(value: Any) -> str:
    """Return ``value`` as it is if that is one plain word, else quoted as JSON.

    So a file name with a line break or with control characters cannot write lines of its own.
    """
    text = str(value)
    is_plain = text.isprintable() and not any(letter in ' "=' for letter in text)
    if is_plain and not isinstance(value, list | tuple | dict):
        return text
    return _printable(json.dumps(value, default=str, ensure_ascii=False))


def _printable_traces(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return the event with traces that a terminal does not obey: errors may quote a manifest."""
    traces = {key: _printable(str(event[key])) for key in _TRACES if event.get(key)}
    return {**event, **traces}


def _printable_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return the event as one line that a terminal does not obey: it may quote a manifest."""
    return {**event, "event": _printable(str(event.get("event", ""))).replace("\n", "\\u000a")}


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() or each == "\n" else _escaped(each) for each in text)


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if letter > "\x7f" else f"\\u{ord(letter):04x}"


def _log_lost(lines: int) -> None:
    _log.warning("log lines dropped", lines=lines)


def _log_end_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None:
        return
    name = args.thread.name if args.thread else ""
    error = (args.exc_type, args.exc_value, args.exc_traceback)
    _log.error("thread failed", thread=name, exc_info=error)


MOST_WAITING: Final = 10_000
"""Most lines that wait for a slow reader, about 2 MB. Further lines are dropped."""

AT_ONCE: Final = 256
"""Most lines of one write: about 50 kB, and a pipe holds 64 kB."""

_FLUSHED_WITHIN: Final = Seconds(1.0)
"""How long ``close`` waits for the reader. systemd and terminals take milliseconds."""


class LogWriter:
    """Writes to a file descriptor, from construction until ``close``.

    After lines were dropped, ``lost`` is called with their number once there is room again. That happens
    on the writer's thread.
    """

    def __init__(self, descriptor: int, lost: Callable[[int], None]) -> None:
        self._descriptor = descriptor
        self._lost = lost
        self._dropped = 0
        # A SimpleQueue alone allows a put in the middle of another put on the same thread: finalizers may
        # log at any moment.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Queue ``line`` for writing. Never blocks and never raises; drops it when too many lines wait."""
        if self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            self._lines.put(f"{line}\n".encode(errors="backslashreplace"))

    def close(self, within: Seconds = _FLUSHED_WITHIN) -> None:
        """Return when all lines are written, or after ``within`` seconds."""
        self._lines.put(None)
        self._thread.join(within)

    def _run(self) -> None:
        ended = False
        while not ended:
            lines, ended = self._waiting()
            self._write_out(b"".join(lines))
            if self._dropped and self._lines.empty():
                dropped, self._dropped = self._dropped, 0
                self._lost(dropped)

    def _waiting(self) -> tuple[list[bytes], bool]:
        """Wait for lines; return up to ``AT_ONCE`` of them, and whether they are the last.

        They are written at once, because a write for each of ten thousand lines passes the interpreter
        lock back and forth as often, which takes seconds on a busy machine.
        """
        lines: list[bytes] = []
        line = self._lines.get()
        while line is not None:
            lines.append(line)
            if len(lines) == AT_ONCE or self._lines.empty():
                return lines, False
            line = self._lines.get()
        return lines, True

    def _write_out(self, lines: bytes) -> None:
        left = memoryview(lines)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Another process that shares this terminal or pipe has made it non-blocking.
                select.select([], [self._descriptor], [])
            except OSError:
                return  # nobody reads it any more
