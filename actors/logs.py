"""The log: constant event texts with values as fields, as text for terminals or as JSON lines.

Goes to standard error. A reader that went away must not take an actor down with it, so a line that
cannot be written is dropped.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, TextIO

import structlog
from typing_extensions import override

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

DEBUG_VERBOSITY = 4
"""From this ``--v`` on, debugging lines are shown, as in a kubelet."""


class _PatientStream:
    """A text stream whose ``write`` and ``flush`` never raise for a reader that is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except (OSError, ValueError):
            return

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return


class _Forwarder(logging.Handler):
    """Brings what libraries log by the standard library into the one log."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        structlog.get_logger(record.name).log(record.levelno, "library", text=text)


def configure_logs(logging_format: str, verbosity: int, stream: TextIO = sys.stderr) -> None:
    """Have everything logged to ``stream`` from here on, as ``text`` or as ``json``."""
    level = logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO
    structlog.configure(
        processors=[_with_logger_name, *_rendering(logging_format, stream)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_factory(_PatientStream(stream)),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Forwarder()], force=True)


def _rendering(logging_format: str, stream: TextIO) -> list[Processor]:
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts")
    if logging_format == "json":
        return [
            structlog.processors.add_log_level,
            stamp,
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("msg"),
            structlog.processors.JSONRenderer(),
        ]
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S.%f", utc=False),
        structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), pad_event_to=20, exception_formatter=_plain_traceback
        ),
    ]


def _with_logger_name(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    name = getattr(logger, "name", "")
    return {"logger": name, **event} if name else event


_plain_traceback = structlog.dev.plain_traceback


class _NamedWriteLogger(structlog.WriteLogger):
    """A line writer that knows for whom it writes."""

    def __init__(self, stream: TextIO, name: str) -> None:
        super().__init__(stream)
        self.name = name


def _factory(stream: _PatientStream):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def make(*names: str) -> _NamedWriteLogger:
        return _NamedWriteLogger(stream, names[0] if names else "")  # type: ignore[arg-type]

    return make
