"""Which decisions still count, and which are kept."""

from __future__ import annotations

from typing import Any

import pytest

from actors.access.decisions import MOST_DECISIONS, STALE_FOR, Decisions, key_of
from actors.access.reviews import NOT_GOOD, as_bytes, identity_in, is_allowed_in
from messages.access import Identity, Known, Unknown
from messages.units import Seconds

ANNA = {"username": "anna"}


def key(number: int) -> bytes:
    return number.to_bytes(4, "big")


@pytest.mark.parametrize(
    ("after", "fresh", "stale"),
    [
        (0.0, True, True),
        (9.99, True, True),
        (10.0, None, True),
        (10.0 + STALE_FOR - 0.01, None, True),
        (10.0 + STALE_FOR, None, None),
    ],
)
def test_a_decision_counts_for_its_time_and_in_an_outage_for_fifteen_minutes_more(
    after: float, *, fresh: bool | None, stale: bool | None
) -> None:
    decisions: Decisions[bool] = Decisions()
    decisions.keep(key(1), True, Seconds(10.0))  # noqa: FBT003  # the decision
    assert decisions.fresh(key(1), Seconds(after)) is fresh
    assert decisions.stale(key(1), Seconds(after)) is stale


def test_the_last_decision_replaces_the_one_before_for_good() -> None:
    decisions: Decisions[str] = Decisions()
    decisions.keep(key(1), "yes", Seconds(100.0))
    decisions.keep(key(1), "no", Seconds(10.0))
    assert decisions.stale(key(1), Seconds(50.0)) == "no"
    assert len(decisions) == 1


def test_so_many_are_kept_and_those_that_are_asked_for_stay_longest() -> None:
    decisions: Decisions[int] = Decisions()
    for number in range(MOST_DECISIONS):
        decisions.keep(key(number), number, Seconds(10.0))
    assert decisions.fresh(key(0), Seconds(0.0)) == 0
    decisions.keep(key(MOST_DECISIONS), 1, Seconds(10.0))
    assert len(decisions) == MOST_DECISIONS == 8192
    assert decisions.fresh(key(0), Seconds(0.0)) == 0
    assert decisions.fresh(key(1), Seconds(0.0)) is None


def test_no_other_process_finds_a_question_by_its_key() -> None:
    assert key_of(b"a", b"token") == key_of(b"a", b"token")
    assert len({key_of(b"a", b"token"), key_of(b"b", b"token"), key_of(b"a", b"taken")}) == 3


def test_the_same_question_has_the_same_bytes() -> None:
    assert as_bytes({"a": 1, "b": "\udcff"}) == as_bytes({"b": "\udcff", "a": 1})


# --- answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"authenticated": True, "user": ANNA}, Known(identity=Identity(user="anna"))),
        (
            {"authenticated": True, "user": {**ANNA, "groups": ["a", "b"], "extra": {"k": ["v"]}}},
            Known(identity=Identity(user="anna", groups=("a", "b"), extra={"k": ("v",)})),
        ),
        ({"user": {}, "error": "expired"}, Unknown(sentence="expired")),
        ({"user": ANNA}, Unknown(sentence=NOT_GOOD)),
        ({"authenticated": "true", "user": ANNA}, Unknown(sentence=NOT_GOOD)),
        ({"authenticated": True}, None),
        ({"authenticated": True, "user": {}}, None),
        ({"authenticated": True, "user": {"username": 1}}, None),
        (None, None),
        ("", None),
    ],
)
def test_a_token_review_names_a_user_or_says_no_or_nothing(status: Any, found: object) -> None:
    assert identity_in({"status": status}) == found


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"allowed": True}, True),
        ({"allowed": False}, False),
        ({"allowed": True, "denied": True}, False),
        ({"allowed": "true"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_an_access_review_allows_or_denies_or_says_nothing(
    status: Any, *, found: bool | None
) -> None:
    assert is_allowed_in({"status": status}) is found
