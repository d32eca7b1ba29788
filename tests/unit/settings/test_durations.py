"""Durations in Go's notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.times import format_duration, parse_duration
from messages.units import Seconds
from settings.kinds import checked_frequency


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20s", 20.0),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        ("300ms", 0.3),
        ("0s", 0.0),
        ("0", 0.0),
        ("-0", 0.0),
        ("+5s", 5.0),
        ("-1m", -60.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("1h15m30.918s", 4530.918),
        ("1s1m", 61.0),
        ("7us", 7e-6),
        ("7\u00b5s", 7e-6),
        ("7\u03bcs", 7e-6),
        ("9ns", 9e-9),
        ("2562047h", 2562047 * 3600.0),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *("", "20", "s", ".s", "1d", "1w", "1 s", "1s ", " 1s", "1e3s", "--1s", "1,5s", "1s!!2s"),
        *("5S", "\u0661s", "1s2", "2562048h", "+", "-", "m1s", "1.2.3s", "nan", "inf"),
    ],
)
def test_what_go_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="should be a duration such as"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (2.0, "2s"),
        (60.0, "1m0s"),
        (3600.0, "1h0m0s"),
        (5400.5, "1h30m0.5s"),
        (0.3, "300ms"),
        (1.5e-6, "1.5\u00b5s"),
        (9e-9, "9ns"),
        (-90.0, "-1m30s"),
        (100.0 * 3600, "100h0m0s"),
    ],
)
def test_a_duration_is_printed_as_go_prints_it(seconds: float, text: str) -> None:
    assert format_duration(Seconds(seconds)) == text


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_what_is_printed_reads_back_as_the_same_span(microseconds: int) -> None:
    span = Seconds(microseconds / 10**6)
    assert parse_duration(format_duration(span)) == pytest.approx(span, rel=1e-14, abs=1e-9)


@given(st.text(alphabet="0123456789.hmsun\u00b5+- ", max_size=12))
def test_any_text_is_a_duration_or_a_plain_refusal(text: str) -> None:
    try:
        span = parse_duration(text)
    except ValueError:
        return
    assert parse_duration(format_duration(span)) == pytest.approx(span, rel=1e-14, abs=1e-9)


@pytest.mark.parametrize("span", [0.0, 0.01, 2.0])
def test_a_frequency_is_the_default_or_ten_milliseconds_and_more(span: float) -> None:
    assert checked_frequency(span) == span


@pytest.mark.parametrize("span", [0.0099, -1.0])
def test_a_frequency_that_would_be_a_busy_loop_is_refused(span: float) -> None:
    with pytest.raises(ValueError, match="should be at least 10ms"):
        checked_frequency(span)
