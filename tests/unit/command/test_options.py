"""Since when a log is wanted."""

from __future__ import annotations

import pytest

from command.failures import WrongUsageError
from command.options import beginning


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("10s", 990),
        ("1m30s", 910),
        ("0.5s", 999.5),
        ("500ms", 999.5),
        ("1h", 0),
        ("1970-01-01T00:10:00Z", 600),
        ("1970-01-01T01:10:00+01:00", 600),
    ],
)
def test_it_is_a_span_before_now_or_a_moment(said: str, at: float) -> None:
    assert beginning(said, 1_000.0) == at


@pytest.mark.parametrize(
    "said", ["", "10", "s", "-5s", "1x", "yesterday", "1960-01-01T00:00:00Z", "\uff11s"]
)
def test_anything_else_is_wrong_usage(said: str) -> None:
    with pytest.raises(WrongUsageError, match="--since has to be a span"):
        beginning(said, 1_000.0)
