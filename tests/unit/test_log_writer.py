"""Writing for readers that are slow, stuck or gone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from actors.log_writer import MOST_WAITING, LogWriter
from actors.messages.units import Seconds
from tests.support.probe import Probe


class Pipe:
    """A pipe of one page, and who writes into it."""

    def __init__(self) -> None:
        self.reader, self.end = os.pipe()
        self.lost: Probe[int] = Probe()
        self.writer = LogWriter(self.end, self.lost.tell)

    def fill(self) -> None:
        """Have the pipe full, so that the writer waits for its reader."""
        os.set_blocking(self.end, False)
        with pytest.raises(BlockingIOError):
            [os.write(self.end, b"." * 4095 + b"\n") for _ in range(10_000)]

    def read_on(self) -> threading.Thread:
        """Begin to read and to throw away, until the other end is closed."""

        def read() -> None:
            while os.read(self.reader, 1 << 20):
                pass

        thread = threading.Thread(target=read)
        thread.start()
        return thread


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Return a pipe that is empty."""
    pipe = Pipe()
    yield pipe
    os.close(pipe.reader)


def test_lines_are_written_in_order_and_all_of_them_before_it_is_closed(pipe: Pipe) -> None:
    lines = [f"line {number}" for number in range(1000)]
    [pipe.writer.write(line) for line in lines]  # type: ignore[func-returns-value]
    pipe.writer.close()
    os.close(pipe.end)
    with open(pipe.reader, encoding="utf-8", closefd=False) as reader:
        assert reader.read().splitlines() == lines


def test_a_reader_that_is_gone_is_no_trouble(pipe: Pipe) -> None:
    os.close(pipe.reader)
    pipe.writer.write("to nobody")
    pipe.writer.close()
    pipe.reader = os.open(os.devnull, os.O_RDONLY)
    os.close(pipe.end)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_is_stuck_costs_lines_but_no_time(pipe: Pipe, *, blocking: bool) -> None:
    pipe.fill()
    os.set_blocking(pipe.end, blocking)
    began = time.monotonic()
    [pipe.writer.write("x" * 8) for _ in range(MOST_WAITING + 100)]  # type: ignore[func-returns-value]
    pipe.writer.close(Seconds(0.05))
    assert time.monotonic() - began < 3.0
    # It comes back: what waited is written, and how much was dropped is told.
    reading = pipe.read_on()
    assert 90 <= pipe.lost.next() <= 100
    pipe.writer.close(Seconds(5.0))
    os.close(pipe.end)
    reading.join()
