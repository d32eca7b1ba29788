"""The benchmarks' own arithmetic and table; what they measure is never tested, since it takes time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.following import parsed
from benchmarks.processes import connections, descriptors
from benchmarks.row import Peer, Row, Target, peak_rate, percentile, rates, spread, tail
from benchmarks.sidekick import Sidekick
from benchmarks.soaking import growth
from benchmarks.table import number, table
from benchmarks.watching import connections_for
from tests.support.patience import PATIENCE
from tests.support.project.checkout import ROOT


@pytest.mark.parametrize(
    ("samples", "percent", "expected"),
    [
        ([7.0], 99, 7.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([3.0, 1.0, 2.0], 0, 1.0),
        ([float(n) for n in range(1, 101)], 99, 99.0),
        ([float(n) for n in range(1, 101)], 100, 100.0),
        ([float(n) for n in range(1, 11)], 99, 10.0),
    ],
)
def test_a_percentile_is_the_nearest_rank(
    samples: list[float], percent: float, expected: float
) -> None:
    assert percentile(samples, percent) == expected


@given(
    st.lists(st.floats(min_value=0, max_value=1e6), min_size=1),
    st.floats(min_value=0.1, max_value=100),
)
def test_as_many_samples_as_asked_for_do_not_exceed_a_percentile(
    samples: list[float], percent: float
) -> None:
    found = percentile(samples, percent)
    assert found in samples
    assert sum(sample <= found for sample in samples) >= len(samples) * percent / 100 - 1e-6


def test_latencies_are_summed_up_by_median_and_p99_in_the_unit_asked_for() -> None:
    assert tail([0.001, 0.002, 0.009], 1e3) == {"median": 2.0, "p99": 9.0}


def test_repetitions_are_summed_up_by_median_and_worst_in_the_unit_asked_for() -> None:
    assert spread([1.0, 5.0, 2.0], 10) == {"median": 20.0, "worst": 50.0}


def test_rates_are_summed_up_by_median_and_lowest() -> None:
    assert rates([300.0, 100.0, 200.0]) == {"median": 200.0, "lowest": 100.0}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(5.0, 100.0)], 0.0),
        ([(0.0, 0.0), (0.25, 30.0)], 30.0),
        ([(0.0, 0.0), (0.5, 10.0), (1.0, 40.0), (1.5, 90.0), (2.0, 100.0)], 80.0),
        ([(0.0, 0.0), (2.0, 100.0), (2.5, 100.0)], 50.0),
    ],
    ids=["a single look", "less than a second", "a second in between", "looked at too seldom"],
)
def test_the_busiest_second_is_the_steepest_of_all_seconds(
    counts: list[tuple[float, float]], expected: float
) -> None:
    assert peak_rate(counts) == expected


@pytest.mark.parametrize(
    ("samples", "percent"),
    [
        ([9, 9, 10, 10, 70, 70, 70, 70, 12, 12], 20.0),
        ([99, 100, 100, 100, 95], -5.0),
        ([100, 100, 100, 100, 100, 1000, 100, 100, 100, 100, 1000, 1000, 100, 100, 100], 0.0),
    ],
    ids=["it grew", "it shrank", "a peak at the end counts for nothing"],
)
def test_memory_grows_from_the_second_fifth_to_the_last(samples: list[int], percent: float) -> None:
    assert growth(samples) == pytest.approx(percent)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b'event: object\ndata: {"name":"web"}', ("object", {"name": "web"})),
        (b": dropped: too slow", ("comment", "dropped: too slow")),
    ],
)
def test_what_an_agent_tells_is_an_event_or_a_comment(block: bytes, expected: object) -> None:
    assert parsed(block) == expected


def test_connections_are_counted_by_their_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        before = descriptors(os.getpid())
        with (
            socket.create_connection(("127.0.0.1", port)),
            socket.create_connection(("127.0.0.1", port)),
        ):
            assert connections(os.getpid(), port) == 2
            assert descriptors(os.getpid()) == before + 2
        assert connections(os.getpid(), port) == 0


@pytest.mark.parametrize(
    ("target", "enough", "not_enough"),
    [(Target(1.5), 1.5, 1.51), (Target(10.0, at_least=True), 10.0, 9.9)],
    ids=["at most", "at least"],
)
def test_a_target_is_a_limit_from_above_or_from_below(
    target: Target, enough: float, not_enough: float
) -> None:
    assert target.is_met(enough)
    assert not target.is_met(not_enough)


FAST = Row(
    what="fast",
    unit="ms",
    figures={"median": 2.0, "p99": 12.345},
    samples=9,
    target=Target(5.0),
    judged="p99",
    peer=Peer("slow thing", 1000.0),
)
MANY = Row(
    what="many",
    unit="/s",
    figures={"median": 250_000.0},
    samples=3,
    target=Target(200_000.0, at_least=True),
    peer=Peer("noted", 50_000.0, in_this_run=False),
)
SLOWER = Row(
    what="slower",
    unit="ms",
    figures={"p99": 9.0},
    samples=9,
    target=Target(1.5, of_ratio=True),
    peer=Peer("quick thing", 4.5),
)
ALONE = Row(what="alone", unit="%", figures={"median": 0.33}, samples=1)
REMARKED = Row(what="lost", unit="", figures={"total": 0.0}, samples=1, peer=Peer("nobody has it"))


def test_a_row_is_judged_by_the_figure_that_its_target_names() -> None:
    assert [FAST.is_met, MANY.is_met, ALONE.is_met] == [False, True, None]


def test_a_target_of_the_ratio_is_about_the_peer() -> None:
    rows = [replace(SLOWER, peer=Peer("quick thing", figure)) for figure in (4.5, 6.0, None)]
    assert [row.is_met for row in rows] == [False, True, None]


@pytest.mark.parametrize(
    ("watches", "most"), [(95, 4), (96, 5), (200, 6), (1_000, 14), (5_000, 56)]
)
def test_95_watches_may_take_a_connection_and_three_are_to_spare(watches: int, most: int) -> None:
    assert connections_for(watches) == most


def test_a_ratio_is_the_first_figure_by_the_peers_if_there_is_one() -> None:
    assert [row.ratio for row in (FAST, MANY, ALONE, REMARKED)] == [0.002, 5.0, None, None]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0058, "0.0058"),
        (0.0996, "0.10"),
        (1.0, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (412905.4, "412,905"),
    ],
)
def test_a_number_has_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_the_table_is_aligned_and_says_where_a_target_is_missed() -> None:
    expected = """\
| what   | measured                 | target         |     | beside it                         | ratio |
| ------ | ------------------------ | -------------- | --- | --------------------------------- | ----- |
| fast   | median 2.00, p99 12.3 ms | p99 <= 5.00 ms | NO  | slow thing: 1,000 ms              | 0.002 |
| many   | median 250,000/s         | >= 200,000/s   | yes | noted: 50,000/s (not in this run) | 5.00  |
| slower | p99 9.00 ms              | ratio <= 1.50  | NO  | quick thing: 4.50 ms              | 2.00  |
| alone  | median 0.33%             |                |     |                                   |       |
| lost   | total 0                  |                |     | nobody has it                     |       |
"""
    assert table([FAST, MANY, SLOWER, ALONE, REMARKED]).splitlines() == expected.splitlines()


@pytest.mark.process
def test_one_subject_is_measured_printed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "results" / "some.json"
    ended = _benchmarks("--quick", "--only", "merge", "--json", str(path))
    assert ended.returncode == 0, ended.stderr
    results = json.loads(path.read_text())
    assert {row["subject"] for row in results["rows"]} == {"merge"}
    assert all(row["what"] in ended.stdout for row in results["rows"])
    assert set(results["machine"]) == {"cpu", "cores", "memoryGiB", "kernel", "python"}


@pytest.mark.process
def test_a_subject_that_does_not_exist_is_wrong_usage() -> None:
    ended = _benchmarks("--only", "nothing")
    assert ended.returncode == 2
    assert "'nothing' is not one of 'start', 'memory'" in ended.stderr


@pytest.mark.process
def test_a_relay_joins_whom_it_knows_and_cuts_all_of_them_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Sidekick("benchmarks.relay", str(server.getsockname()[1])) as relay,
        socket.create_connection(("127.0.0.1", relay.hear()["port"])) as one,
    ):
        other, _ = server.accept()
        one.sendall(b"hello")
        assert other.recv(5) == b"hello"
        other.sendall(b"welcome")
        assert one.recv(7) == b"welcome"
        assert relay.ask("how many") == {"dials": 1, "joined": 1}
        relay.ask("cut")
        with other, pytest.raises(ConnectionResetError):
            one.recv(1)
        assert relay.ask("how many") == {"dials": 1, "joined": 0}


def _benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
