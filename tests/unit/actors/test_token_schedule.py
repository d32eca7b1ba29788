"""When tokens are renewed, what an answer says of their life, and when each pod is looked at."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from actors.volumes.token_records import TokenQueue, TokenRecord
from actors.volumes.tokens import (
    IssuedToken,
    TokenAlarms,
    TokenAsk,
    TokenAsking,
    TokenSituation,
    TokenStep,
    WaitFor,
    account_of,
    expires_in,
    next_token_step,
    shown_token,
    token_issued,
    token_request,
)
from manifests.times import rfc3339
from messages.pods import PodUid
from messages.units import Instant, Seconds, Timestamp
from tests.support.builders import make_pod
from tests.support.canary import CANARY

BEGIN = Instant(Seconds(100.0), Timestamp(1_700_000_000.0))
HOUR = 3600.0


def later(seconds: float, *, slept: float = 0.0) -> Instant:
    return Instant(Seconds(BEGIN.monotonic + seconds), Timestamp(BEGIN.wall + seconds + slept))


def token(life: float = HOUR, share: float = 0.0) -> IssuedToken:
    return IssuedToken(value=CANARY.encode(), since=BEGIN, life=Seconds(life), share=share)


def step(now: Instant, issued: IssuedToken | None = None, **known: Any) -> TokenStep:
    fields: dict[str, Any] = {"is_asking": False, "retry_at": None, **known}
    return next_token_step(TokenSituation(issued=issued, now=now, **fields))


# --- the schedule -------------------------------------------------------------------------------------


def test_a_token_that_is_not_there_is_asked_for_once() -> None:
    assert step(BEGIN) is TokenAsking.ASK
    assert step(BEGIN, is_asking=True) is TokenAsking.UNDER_WAY


def test_after_a_failure_the_next_attempt_waits() -> None:
    assert step(BEGIN, retry_at=Seconds(BEGIN.monotonic + 5)) == WaitFor(Seconds(5.0))
    assert step(later(5), retry_at=Seconds(BEGIN.monotonic + 5)) is TokenAsking.ASK


def test_a_renewal_that_failed_waits_too() -> None:
    due = later(0.8 * HOUR)
    assert step(due, token(), retry_at=Seconds(due.monotonic + 5)) == WaitFor(Seconds(5.0))


@pytest.mark.parametrize(
    ("life", "share", "age"),
    [
        (600.0, 0.0, 480.0),
        (600.0, 1.0, 470.0),
        (3607.0, 0.5, 2880.6),
        (86400.0, 0.0, 69120.0),
        (30 * 86400.0, 0.0, 86400.0),
        (30 * 86400.0, 1.0, 86390.0),
        # However short it is, requests are 10 s apart.
        (11.0, 1.0, 10.0),
        (1.0, 0.0, 10.0),
    ],
)
def test_a_token_is_renewed_at_four_fifths_of_its_life_or_after_a_day_a_little_sooner(
    life: float, share: float, age: float
) -> None:
    assert token(life, share).renewed_after == pytest.approx(age)


def test_the_clock_on_which_more_time_has_passed_counts() -> None:
    assert step(later(60, slept=HOUR), token()) is TokenAsking.ASK
    assert step(later(60, slept=-HOUR), token()) == WaitFor(Seconds(0.8 * HOUR - 60))
    assert step(later(0.8 * HOUR, slept=-10 * HOUR), token()) is TokenAsking.ASK


def test_a_token_expires_at_the_end_of_its_life() -> None:
    assert expires_in(None, BEGIN) is None
    assert expires_in(token(), later(HOUR - 1)) == pytest.approx(1.0)
    assert expires_in(token(), later(HOUR)) == expires_in(token(), later(2 * HOUR)) == 0.0


def test_a_token_is_shown_until_it_has_expired_and_could_not_be_renewed() -> None:
    end = later(HOUR)
    assert shown_token(None, "", BEGIN) is None
    assert shown_token(None, "no", BEGIN) == "no"
    assert shown_token(token(), "no", later(HOUR - 1)) == CANARY.encode()
    assert shown_token(token(), "", end) == CANARY.encode()
    assert shown_token(token(), "no", end) == "no; the last one has expired"


def test_nothing_that_is_printed_of_a_token_shows_it() -> None:
    assert CANARY not in repr(token())
    record = TokenRecord(uid=PodUid("u"), pod="a/b", ask=TokenAsk("", 600), issued=token())
    assert CANARY not in repr(record)


# --- requests and answers -----------------------------------------------------------------------------


def claims(**values: Any) -> str:
    part = base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")
    return f"h.{part}.s"


def life_of(value: str, until: object = None, spec: object = None) -> float | None:
    answer = {"spec": spec, "status": {"token": value, "expirationTimestamp": until}}
    issued = token_issued(answer, BEGIN, 0.0)
    return None if issued is None else issued.life


ISSUED_AT = 1_800_000_000
"""By the API server's clock, years after this machine's."""
UNTIL = rfc3339(Timestamp(ISSUED_AT + 1000.0))


@pytest.mark.parametrize(
    ("life", "value", "until", "spec"),
    [
        # By its own clock, whatever was wished.
        (1000.0, claims(iat=ISSUED_AT, exp=ISSUED_AT + 1000), UNTIL, {"expirationSeconds": 9}),
        # A token that is good for a year, for clients that never read it again.
        (1000.0, claims(iat=ISSUED_AT, exp=ISSUED_AT + 31_536_000), UNTIL, {}),
        # A token that ends sooner than was said.
        (500.0, claims(iat=ISSUED_AT, exp=ISSUED_AT + 500), UNTIL, {}),
        (700.0, claims(iat=ISSUED_AT, exp=ISSUED_AT + 700), None, {}),
        (1000.0, claims(iat=ISSUED_AT), UNTIL, {}),
        # One that cannot be read: what the API server made of the wish counts.
        (600.0, "opaque", UNTIL, {"expirationSeconds": 600}),
        (600.0, "a.b.c", UNTIL, {"expirationSeconds": 600}),
        (600.0, f"h.{'W' * 40}.s", UNTIL, {"expirationSeconds": 600}),
        (600.0, "h.W10.s", UNTIL, {"expirationSeconds": 600}),
        (600.0, claims(iat="now", exp=True), UNTIL, {"expirationSeconds": 600}),
        (600.0, claims(iat=ISSUED_AT), None, {"expirationSeconds": 600}),
        (None, "opaque", UNTIL, {"expirationSeconds": 0}),
        (None, "opaque", UNTIL, {"expirationSeconds": "600"}),
        (None, "opaque", UNTIL, None),
        # One that was over before it began.
        (None, claims(iat=ISSUED_AT + 2000), UNTIL, {"expirationSeconds": 600}),
        (None, "", UNTIL, {"expirationSeconds": 600}),
        (None, "t\u00e4", UNTIL, {"expirationSeconds": 600}),
    ],
)
def test_the_life_of_a_token_is_what_the_api_server_says_by_its_own_clock(
    life: float | None, value: str, until: object, spec: object
) -> None:
    assert life_of(value, until, spec) == life


def test_a_pod_that_names_no_account_runs_as_default() -> None:
    assert account_of(make_pod()) == "default"
    assert account_of(make_pod(spec={"serviceAccount": "old"})) == "old"
    assert (
        account_of(make_pod(spec={"serviceAccountName": "new", "serviceAccount": "old"})) == "new"
    )


def test_an_audience_is_named_only_if_it_is_another_one_than_the_api_server() -> None:
    bodies = [token_request(make_pod(), TokenAsk(who, 600)).body or {} for who in ("", "vault")]
    assert [body["spec"].get("audiences") for body in bodies] == [None, ["vault"]]


# --- alarms and turns ---------------------------------------------------------------------------------


def test_the_next_alarm_is_the_earliest_and_a_later_word_replaces_it() -> None:
    alarms = TokenAlarms()
    assert alarms.next_due() is None
    a, b = PodUid("a"), PodUid("b")
    alarms.set(a, Seconds(5.0))
    alarms.set(b, Seconds(3.0))
    alarms.set(b, Seconds(9.0))
    assert alarms.next_due() == 5.0
    assert alarms.take(Seconds(4.0)) == ()
    assert alarms.take(Seconds(20.0)) == (a, b)
    assert (len(alarms), alarms.next_due()) == (0, None)
    alarms.set(a, None)
    assert alarms.next_due() is None


def test_alarms_that_were_replaced_take_no_room_for_long() -> None:
    alarms, uid = TokenAlarms(), PodUid("a")
    for second in range(1000):
        alarms.set(uid, Seconds(float(second)))
    assert alarms.take(Seconds(998.0)) == ()
    assert alarms.take(Seconds(999.0)) == (uid,)


def test_those_that_a_pod_waits_for_have_their_turn_before_renewals() -> None:
    queue, ask = TokenQueue(), TokenAsk("", 600)
    renewal = TokenRecord(uid=PodUid("a"), pod="a", ask=ask, issued=token())
    first = TokenRecord(uid=PodUid("b"), pod="b", ask=ask)
    for record in (renewal, first, first):
        queue.add(record)
    assert list(queue) == [first, renewal]
    assert [queue.take(), queue.take(), queue.take()] == [first, renewal, None]
