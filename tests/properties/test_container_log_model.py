"""Whatever lines and rotations a log had: a follower sees each line once, a reader the last ones."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from actors.logs.directories import LogDirectory
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import LogRecord, LogStream
from tests.support.runtimes.log_files import WrittenLog, as_lines, shown

TEXTS = st.sampled_from([b"x", b"two words", b"y" * 500, b"z" * 20_000])


class LogHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cleanup = ExitStack()
        root = Path(self.cleanup.enter_context(tempfile.TemporaryDirectory()))
        self.log = WrittenLog(root)
        self.cleanup.callback(self.log.close)
        self.directory = LogDirectory.open(root, self.log.path.parents[1].name, "main")
        self.cleanup.callback(self.directory.close)
        self.follower = LogReading(self.directory, "0.log", LogQuery(is_following=True))
        self.cleanup.callback(self.follower.close)
        self.seen: list[LogRecord] = []
        self.is_renamed = False
        self.are_files_removed = False
        self.was_late = False

    @override
    def teardown(self) -> None:
        self.read()
        self.seen += self.follower.finish()
        self.compare()
        self.cleanup.close()

    def compare(self) -> None:
        for stream in LogStream:
            told = [each.text for each in self.seen if each.stream is stream]
            written = self.log.texts(stream)
            if self.was_late:
                # What two files got at the same moment has no order.
                told, written = sorted(told), sorted(written)
            assert told == written

    @rule(text=TEXTS, stream=st.sampled_from(LogStream), parts=st.sampled_from([1, 1, 1, 2, 5]))
    def write(self, text: bytes, stream: LogStream, parts: int) -> None:
        self.log.write(b"%d " % len(self.log.lines) + text, stream=stream, parts=parts)

    @precondition(lambda self: not self.is_renamed)
    @rule()
    def rename(self) -> None:
        self.log.rename()
        self.is_renamed = True

    @precondition(lambda self: self.is_renamed)
    @rule()
    def reopen(self) -> None:
        self.log.reopen()
        self.is_renamed = False

    @precondition(lambda self: self.is_renamed)
    @rule()
    def rename_back(self) -> None:
        self.log.rotated()[-1].rename(self.log.path)
        self.is_renamed = False

    @precondition(lambda self: not self.is_renamed)
    @rule()
    def rotate(self) -> None:
        self.log.rotate()

    @precondition(lambda self: len(self.log.rotated()) > self.is_renamed)
    @rule()
    def compress(self) -> None:
        plain = [path for path in self.log.rotated() if path.suffix != ".gz"]
        for path in plain[: len(plain) - self.is_renamed][:-1]:
            self.log.compress(path)

    @rule()
    def read(self) -> None:
        while records := self.follower.read():
            self.seen += records

    @rule()
    def read_and_compare(self) -> None:
        self.read()
        self.compare()

    @rule()
    def remove_the_oldest_that_was_read(self) -> None:
        self.read()
        for path in self.log.rotated()[:-3]:
            path.unlink()
            self.are_files_removed = True

    @precondition(lambda self: self.log.rotated() and not self.is_renamed)
    @rule(stream=st.sampled_from(LogStream))
    def write_to_the_file_before(self, stream: LogStream) -> None:
        self.log.write(b"late %d" % len(self.log.lines), stream=stream, late=True)
        self.was_late = True

    @precondition(lambda self: not (self.was_late or self.are_files_removed or self.is_renamed))
    @rule(tail=st.integers(0, 12), stream=st.sampled_from([None, *LogStream]))
    def read_the_last_lines(self, tail: int, stream: LogStream | None) -> None:
        streams = frozenset(LogStream) if stream is None else frozenset({stream})
        found = shown(self.log, tail=tail, streams=streams, with_rotated=True)
        texts = self.log.texts(stream)
        assert found == as_lines(texts[max(0, len(texts) - tail) :])

    @invariant()
    def memory_and_descriptors_stay_bounded(self) -> None:
        assert len(self.follower._before) <= len(self.log.rotated())


TestLogHistory = LogHistory.TestCase
