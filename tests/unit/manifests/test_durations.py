"""Spans of time as Go writes them."""

from __future__ import annotations

import pytest

from manifests.times import format_duration, parse_duration
from messages.units import Seconds


@pytest.mark.parametrize(
    ("span", "text"), [(-1.5, "-1.5s"), (-60.0, "-1m0s"), (0.0, "0s"), (1.5, "1.5s")]
)
def test_a_span_has_a_sign_only_if_it_is_negative(span: float, text: str) -> None:
    assert format_duration(Seconds(span)) == text
    assert parse_duration(text) == span


def test_a_plus_before_a_span_is_read_as_go_reads_it() -> None:
    assert parse_duration("+20s") == parse_duration("20s") == 20.0
