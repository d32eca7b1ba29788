"""Writing for readers that are slow, stuck or gone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from agent.logs import AT_ONCE, MOST_WAITING, LogWriter
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE, SLOWNESS


class Pipe:
    """A pipe of one page, and who writes into it."""

    def __init__(self) -> None:
        self.reader, self.end = os.pipe()
        self.read = b""
        self.lost: Probe[int] = Probe()
        self.reading: threading.Thread | None = None
        self.writer = LogWriter(self.end, self.lost.tell)

    def fill(self) -> None:
        """Have the pipe full, so that the writer waits for its reader."""
        os.set_blocking(self.end, False)
        with pytest.raises(BlockingIOError):
            [os.write(self.end, b"." * 4095 + b"\n") for _ in range(10_000)]

    def shut(self) -> None:
        """Close the end that is written to, once: its number may be somebody else's by then."""
        if self.end >= 0:
            os.close(self.end)
            self.end = -1

    def read_on(self) -> threading.Thread:
        """Begin to read, until the other end is closed."""

        def read() -> None:
            while page := os.read(self.reader, 1 << 20):
                self.read += page

        self.reading = threading.Thread(target=read, daemon=True)
        self.reading.start()
        return self.reading


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Return a pipe that is empty."""
    pipe = Pipe()
    yield pipe
    # First the end that is written to, which ends whoever still reads.
    pipe.shut()
    if pipe.reading is not None:
        pipe.reading.join(PATIENCE)
    os.close(pipe.reader)


def test_lines_are_written_in_order_and_all_of_them_before_it_is_closed(pipe: Pipe) -> None:
    lines = [f"line {number}" for number in range(1000)]
    [pipe.writer.write(line) for line in lines]  # type: ignore[func-returns-value]
    pipe.writer.close()
    pipe.shut()
    with open(pipe.reader, encoding="utf-8", closefd=False) as reader:
        assert reader.read().splitlines() == lines


def test_a_reader_that_is_gone_is_no_trouble(pipe: Pipe) -> None:
    os.close(pipe.reader)
    pipe.writer.write("to nobody")
    pipe.writer.close()
    pipe.reader = os.open(os.devnull, os.O_RDONLY)
    pipe.shut()


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_is_stuck_costs_lines_but_no_time(pipe: Pipe, *, blocking: bool) -> None:
    pipe.fill()
    os.set_blocking(pipe.end, blocking)
    [pipe.writer.write("x") for _ in range(MOST_WAITING + 1000)]  # type: ignore[func-returns-value]
    # It comes back: what waited is written, and how much was dropped is told.
    reading = pipe.read_on()
    lost = pipe.lost.next()
    # The writer has taken some lines, but not more than it writes at once.
    assert 1000 - AT_ONCE <= lost <= 1000
    pipe.writer.close(Seconds(PATIENCE))
    pipe.shut()
    reading.join(PATIENCE)
    assert pipe.read.count(b"x\n") == MOST_WAITING + 1000 - lost


def test_a_reader_that_never_comes_back_does_not_hold_up_the_end(pipe: Pipe) -> None:
    pipe.fill()
    pipe.writer.write("never read")
    began = time.monotonic()
    pipe.writer.close(Seconds(0.05))
    assert time.monotonic() - began < 3.0 * SLOWNESS
    reading = pipe.read_on()
    pipe.writer.close(Seconds(PATIENCE))
    pipe.shut()
    reading.join(PATIENCE)
