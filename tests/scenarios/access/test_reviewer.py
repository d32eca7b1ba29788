"""The reviewer: what the server asks it, what it asks the API server, and which answers count how long."""

from __future__ import annotations

import pytest
from typing_extensions import override

from actors.access.questions import LARGEST_KEPT
from actors.access.reviewer import ANSWER_WITHIN, REVIEWER, REVIEWS_AT_ONCE
from messages.access import (
    AccessVerb,
    Allowed,
    Denied,
    Identity,
    Known,
    Unknown,
    WhoIs,
)
from messages.api import ApiFailure, FailureKind, Retry
from messages.port import Port
from tests.support.access.reviewer_stage import (
    NO_ACCESS_REVIEW,
    NO_TOKEN_REVIEW,
    ReviewerStage,
)
from tests.support.apiserver.reviewing import ACCESS_REVIEWS, TOKEN_REVIEWS
from tests.support.canary import hidden

MINUTE = 60.0
INVALID = Unknown(sentence="invalid bearer token")
WHOSE = ["whose is one"]
OTHER = Identity(user="otto")


def grants(reviewer: ReviewerStage, subresource: str = "metrics", verb: str = "get") -> None:
    reviewer.reviews.grants("anna", verb, subresource)


# --- tokens --------------------------------------------------------------------------------------------


def test_the_api_server_says_whose_a_token_is_and_gets_the_token_alone(
    reviewer: ReviewerStage,
) -> None:
    reviewer.knows("one", "anna", "ops", uid="u1", extra={"scope": ["a", "b"]})
    reply = reviewer.whose("one")
    anna = Identity(user="anna", uid="u1", groups=("ops",), extra={"scope": ("a", "b")})
    reply.expect(Known(identity=anna))
    (request,) = reviewer.api.calls.requests
    assert (request.verb.value, request.path) == ("POST", TOKEN_REVIEWS)
    assert request.body == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": {"token": hidden("one")},
    }


def test_a_good_token_is_asked_about_again_after_two_minutes(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    reviewer.whose("one")
    assert reviewer.asked() == WHOSE
    reviewer.reviews.forgets(hidden("one"))
    reviewer.advance(2 * MINUTE - 0.1)
    reviewer.whose("one").expect(Known(identity=Identity(user="anna")))
    assert reviewer.asked() == []
    reviewer.advance(0.1)
    reviewer.whose("one").expect(INVALID)
    assert reviewer.asked() == WHOSE


def test_a_token_that_is_not_good_is_asked_about_again_after_two_minutes(
    reviewer: ReviewerStage,
) -> None:
    reviewer.whose("one").expect(INVALID)
    reviewer.knows("one")
    reviewer.advance(2 * MINUTE - 0.1)
    reviewer.whose("one").expect(INVALID)
    assert reviewer.asked() == WHOSE
    reviewer.advance(0.1)
    reviewer.whose("one").expect(Known(identity=Identity(user="anna")))


def test_those_who_show_one_token_at_the_same_time_cause_one_review(
    reviewer: ReviewerStage,
) -> None:
    reviewer.knows("one")
    reviewer.api.calls.hold()
    replies = [reviewer.whose("one") for _ in range(3)]
    other = reviewer.whose("two")
    assert reviewer.asked() == [*WHOSE, "whose is two"]
    reviewer.api.calls.release()
    reviewer.play.settle()
    for reply in replies:
        reply.expect(Known(identity=Identity(user="anna")))
        reply.expect_silence()
    other.expect(INVALID)


def test_nothing_that_is_remembered_holds_a_token(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    reviewer.api.calls.hold()
    reviewer.whose("one")
    assert hidden("one") not in repr(reviewer.memory)
    reviewer.api.calls.release()
    reviewer.play.settle()
    (key,) = reviewer.memory.tokens._kept
    assert len(key) == 32


# --- access --------------------------------------------------------------------------------------------


def test_the_api_server_is_asked_about_a_part_of_this_node(reviewer: ReviewerStage) -> None:
    grants(reviewer)
    reviewer.may("metrics").expect(Allowed())
    (request,) = reviewer.api.calls.requests
    assert (request.verb.value, request.path) == ("POST", ACCESS_REVIEWS)
    assert (request.body or {})["spec"] == {
        "user": "anna",
        "uid": "",
        "groups": ["ops"],
        "extra": {},
        "resourceAttributes": {
            "verb": "get",
            "group": "",
            "version": "v1",
            "resource": "nodes",
            "subresource": "metrics",
            "name": "n1",
        },
    }


@pytest.mark.parametrize(
    ("granted", "answer", "asked"),
    [
        ("pods", Allowed(), ["may anna get pods"]),
        ("proxy", Allowed(), ["may anna get pods", "may anna get proxy"]),
        ("metrics", Denied(), ["may anna get pods", "may anna get proxy"]),
    ],
)
def test_subresources_are_asked_for_in_order_until_one_is_allowed(
    reviewer: ReviewerStage, granted: str, answer: Allowed | Denied, asked: list[str]
) -> None:
    grants(reviewer, granted)
    reviewer.may("pods", "proxy").expect(answer)
    assert reviewer.asked() == asked
    reviewer.may("pods", "proxy").expect(answer)
    assert reviewer.asked() == []


def test_what_is_allowed_counts_for_five_minutes(reviewer: ReviewerStage) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.reviews.takes_back("anna", "get", "metrics")
    reviewer.advance(5 * MINUTE - 0.1)
    reviewer.may("metrics").expect(Allowed())
    reviewer.advance(0.1)
    reviewer.may("metrics").expect(Denied())


def test_what_is_denied_counts_for_half_a_minute(reviewer: ReviewerStage) -> None:
    reviewer.may("metrics")
    grants(reviewer)
    reviewer.advance(29.9)
    reviewer.may("metrics").expect(Denied())
    reviewer.advance(0.1)
    reviewer.may("metrics").expect(Allowed())


@pytest.mark.parametrize(
    "other",
    [
        Identity(user="anna"),
        Identity(user="anna", groups=("ops",), uid="2"),
        Identity(user="anna", groups=("ops", "audit")),
        Identity(user="anna", groups=("ops",), extra={"a": ("b",)}),
    ],
)
def test_a_decision_is_about_all_that_is_known_of_somebody(
    reviewer: ReviewerStage, other: Identity
) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.asked()
    reviewer.may("metrics", who=other).expect(Allowed())
    assert reviewer.asked() == ["may anna get metrics"]


def test_a_decision_is_about_one_verb(reviewer: ReviewerStage) -> None:
    grants(reviewer, "proxy")
    reviewer.may("proxy").expect(Allowed())
    reviewer.may("proxy", verb=AccessVerb.CREATE).expect(Denied())


@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (1, False)])
def test_a_decision_about_very_long_attributes_is_not_kept(
    reviewer: ReviewerStage, *, more: int, is_kept: bool
) -> None:
    short = (
        '{"extra":{},"groups":[""],"resourceAttributes":{"group":"","name":"n1","resource":"nodes",'
    )
    short += '"subresource":"metrics","verb":"get","version":"v1"},"uid":"","user":"anna"}'
    who = Identity(user="anna", groups=((LARGEST_KEPT - len(short) + more) * "g",))
    grants(reviewer)
    reviewer.may("metrics", who=who).expect(Allowed())
    reviewer.asked()
    reviewer.may("metrics", who=who).expect(Allowed())
    assert (reviewer.asked() == []) is is_kept


def test_those_who_ask_the_same_at_the_same_time_cause_one_review(reviewer: ReviewerStage) -> None:
    grants(reviewer, "proxy")
    reviewer.api.calls.hold()
    replies = [reviewer.may("pods", "proxy") for _ in range(3)]
    direct = reviewer.may("proxy")
    assert reviewer.asked() == ["may anna get pods", "may anna get proxy"]
    reviewer.api.calls.release()
    reviewer.play.settle()
    for reply in (*replies, direct):
        reply.expect(Allowed())
        reply.expect_silence()
    assert reviewer.asked() == []


def test_strangers_cause_no_more_than_some_reviews_at_a_time(reviewer: ReviewerStage) -> None:
    reviewer.api.calls.hold()
    replies = [reviewer.whose(str(number)) for number in range(REVIEWS_AT_ONCE + 2)]
    assert len(reviewer.asked()) == REVIEWS_AT_ONCE
    reviewer.api.calls.release()
    reviewer.play.settle()
    for reply in replies:
        reply.expect(INVALID)


# --- the API server is away ----------------------------------------------------------------------------


def test_what_counts_goes_on_while_the_api_server_is_away(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    grants(reviewer)
    reviewer.whose("one")
    reviewer.may("metrics")
    reviewer.api.go_away()
    reviewer.advance(MINUTE)
    reviewer.whose("one").expect(Known(identity=Identity(user="anna")))
    reviewer.may("metrics", may_be_stale=False).expect(Allowed())


def test_an_api_server_that_refuses_is_tried_once_more(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    reviewer.api.calls.fail(FailureKind.UNREACHABLE)
    reply = reviewer.whose("one")
    reply.expect_silence()
    reviewer.advance(0.2)
    reply.expect(Known(identity=Identity(user="anna")))
    reviewer.api.go_away()
    reviewer.asked()
    other = reviewer.whose("two")
    reviewer.advance(0.2)
    other.expect(NO_TOKEN_REVIEW)
    assert reviewer.asked() == ["whose is two"] * 2


@pytest.mark.parametrize("question", ["token", "access"])
def test_an_api_server_that_hangs_is_waited_for_three_seconds(
    reviewer: ReviewerStage, question: str
) -> None:
    reviewer.api.calls.hold()
    reply = reviewer.whose("one") if question == "token" else reviewer.may("pods", "proxy")
    reviewer.advance(1.34)
    assert len(reviewer.asked()) == 1
    reviewer.advance(0.3)
    assert len(reviewer.asked()) == 1
    reviewer.advance(ANSWER_WITHIN - 1.64)
    reply.expect(NO_TOKEN_REVIEW if question == "token" else NO_ACCESS_REVIEW)
    reviewer.advance(MINUTE)
    assert reviewer.asked() == []


def test_two_reviews_of_one_question_take_three_seconds_together(reviewer: ReviewerStage) -> None:
    reviewer.api.calls.hold()
    reply = reviewer.may("pods", "proxy")
    reviewer.advance(1.0)
    reviewer.api.calls.release()
    reviewer.api.calls.hold()
    reviewer.play.settle()
    reply.expect_silence()
    reviewer.advance(1.9)
    reply.expect_silence()
    reviewer.advance(0.1)
    reply.expect(NO_ACCESS_REVIEW)


def test_what_cannot_be_reviewed_is_asked_anew_by_the_next_who_asks(
    reviewer: ReviewerStage,
) -> None:
    grants(reviewer)
    reviewer.api.go_away()
    reply = reviewer.may("metrics")
    reviewer.advance(0.2)
    reply.expect(NO_ACCESS_REVIEW)
    reviewer.api.come_back()
    reviewer.may("metrics").expect(Allowed())


def test_an_allowed_decision_counts_for_fifteen_minutes_more_in_an_outage(
    reviewer: ReviewerStage,
) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.api.go_away()
    reviewer.advance(20 * MINUTE - 0.3)
    early = reviewer.may("metrics")
    reviewer.advance(0.2)
    early.expect(Allowed())
    late = reviewer.may("metrics")
    reviewer.advance(0.2)
    late.expect(NO_ACCESS_REVIEW)


def test_one_subresource_that_was_allowed_is_enough_in_an_outage(reviewer: ReviewerStage) -> None:
    grants(reviewer, "proxy")
    reviewer.may("pods", "proxy")
    reviewer.api.go_away()
    reviewer.advance(10 * MINUTE)
    reply = reviewer.may("pods", "proxy")
    reviewer.advance(0.2)
    reply.expect(Allowed())


def test_commands_never_go_by_a_decision_that_has_expired(reviewer: ReviewerStage) -> None:
    grants(reviewer, "proxy", "create")
    reviewer.may("proxy", verb=AccessVerb.CREATE, may_be_stale=False).expect(Allowed())
    reviewer.api.go_away()
    reviewer.advance(5 * MINUTE)
    reply = reviewer.may("proxy", verb=AccessVerb.CREATE, may_be_stale=False)
    reviewer.advance(0.2)
    reply.expect(NO_ACCESS_REVIEW)


def test_what_was_denied_last_is_not_allowed_in_an_outage(reviewer: ReviewerStage) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.reviews.takes_back("anna", "get", "metrics")
    reviewer.advance(5 * MINUTE)
    reviewer.may("metrics").expect(Denied())
    reviewer.api.go_away()
    reviewer.advance(MINUTE)
    reply = reviewer.may("metrics")
    reviewer.advance(0.2)
    reply.expect(NO_ACCESS_REVIEW)


def test_a_token_never_goes_by_a_decision_that_has_expired(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    reviewer.whose("one")
    reviewer.api.go_away()
    reviewer.advance(2 * MINUTE)
    reply = reviewer.whose("one")
    reviewer.advance(0.2)
    reply.expect(NO_TOKEN_REVIEW)


def test_an_api_server_that_answers_is_not_away_whatever_it_says(reviewer: ReviewerStage) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.advance(6 * MINUTE)
    forbidden = ApiFailure(
        kind=FailureKind.FORBIDDEN, retry=Retry.NEVER, sentence="no rights", status=403
    )
    reviewer.api.calls.fail(forbidden)
    reviewer.asked()
    reviewer.may("metrics").expect(NO_ACCESS_REVIEW)
    assert len(reviewer.asked()) == 1


def test_one_who_waits_for_a_turn_in_an_outage_goes_by_what_was_allowed(
    reviewer: ReviewerStage,
) -> None:
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.advance(6 * MINUTE)
    reviewer.api.calls.hold()
    for number in range(REVIEWS_AT_ONCE):
        reviewer.whose(str(number))
    reply = reviewer.may("metrics")
    reviewer.advance(ANSWER_WITHIN)
    reply.expect(Allowed())


@pytest.mark.parametrize("status", [None, {}, {"allowed": "yes"}, {"allowed": 1}])
def test_an_answer_that_says_nothing_is_no_answer(
    reviewer: ReviewerStage, status: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewer.reviews, "answer", lambda _request: {"status": status})
    reviewer.may("metrics").expect(NO_ACCESS_REVIEW)


# --- crashes -------------------------------------------------------------------------------------------


def test_a_crash_loses_neither_decisions_nor_those_who_wait(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    grants(reviewer)
    reviewer.may("metrics")
    reviewer.api.calls.hold()
    whose = reviewer.whose("one")
    reviewer.asked()
    reviewer.crashes()
    reviewer.api.calls.release()
    reviewer.play.settle()
    whose.expect(Known(identity=Identity(user="anna")))
    reviewer.may("metrics").expect(Allowed())
    assert reviewer.asked() == []


class Breaking(Port[object]):
    """A port that breaks who tells it anything, once."""

    def __init__(self) -> None:
        self.is_whole = False

    @override
    def tell(self, message: object, /) -> None:
        if not self.is_whole:
            self.is_whole = True
            raise RuntimeError


def test_a_crash_over_an_answer_leaves_nobody_without_one(reviewer: ReviewerStage) -> None:
    reviewer.knows("one")
    reviewer.api.calls.hold()
    reviewer.play.tell(REVIEWER, WhoIs(token=hidden("one"), reply_to=Breaking()))
    reply = reviewer.whose("one")
    reviewer.api.calls.release()
    reviewer.advance(1.0)
    reply.expect(NO_TOKEN_REVIEW)
    reviewer.whose("one").expect(Known(identity=Identity(user="anna")))


def test_who_waits_over_a_crash_waits_three_seconds_in_all(reviewer: ReviewerStage) -> None:
    reviewer.api.calls.hold()
    whose = reviewer.whose("one")
    may = reviewer.may("metrics", who=OTHER)
    reviewer.crashes()
    reviewer.advance(ANSWER_WITHIN - 1.0)
    whose.expect(NO_TOKEN_REVIEW)
    may.expect(NO_ACCESS_REVIEW)
