"""The keeper of tokens: what volumes want of it, what it asks the API server, and what it tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.volumes.tokens import NO_ACCOUNT, NO_TOKEN
from messages.api import ApiFailure, ApiRequest, FailureKind, Retry, Verb
from messages.pods import JsonObject
from messages.tokens import TokenNeeded, TokensAre
from messages.units import Seconds
from tests.support.apiserver.fake_api import ALWAYS, asks
from tests.support.volumes.token_stage import TOKEN, VAULT, TokenStage, static

HOUR = 3600.0
ASKED = ["web as shop for : 3600"]


# --- tokens come and are renewed ----------------------------------------------------------------------


def test_the_api_server_is_asked_for_a_token_of_the_pods_account_bound_to_the_pod(
    tokens: TokenStage,
) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    (request,) = tokens.api.calls.requests
    assert request.path == "/api/v1/namespaces/default/serviceaccounts/shop/token"
    assert request.body == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {},
        "spec": {
            "expirationSeconds": 3600,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": pod.uid},
        },
    }
    assert tokens.token(pod) is not None


def test_what_is_wanted_is_told_at_once_and_then_as_it_comes(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.hold()
    tokens.wants(pod)
    assert tokens.facts() == [TokensAre(uid=pod.uid)]
    tokens.api.calls.release()
    tokens.play.settle()
    (fact,) = tokens.facts()
    assert (set(fact.tokens), dict(fact.troubles)) == ({TOKEN}, {})


def test_tokens_for_several_audiences_are_asked_for_together(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.hold()
    tokens.wants(pod, TOKEN, VAULT)
    assert sorted(tokens.asked()) == [*ASKED, "web as shop for vault: 600"]
    tokens.api.calls.release()
    tokens.play.settle()
    assert tokens.token(pod) != tokens.token(pod, VAULT) is not None


def test_files_that_differ_in_their_path_alone_have_one_token(tokens: TokenStage) -> None:
    pod = tokens.binds()
    other = replace(TOKEN, path="elsewhere")
    tokens.wants(pod, TOKEN, other)
    assert tokens.asked() == ASKED
    assert tokens.token(pod) == tokens.token(pod, other) is not None


def test_a_wish_that_repeats_is_answered_and_asks_for_nothing(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    token = tokens.token(pod)
    tokens.asked()
    tokens.wants(pod)
    (fact,) = tokens.facts()
    assert fact.tokens == {TOKEN: token}
    assert tokens.asked() == []


def test_a_later_wish_replaces_the_earlier_one(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod, TOKEN)
    token = tokens.token(pod)
    tokens.wants(pod, TOKEN, VAULT)
    assert tokens.token(pod) == token
    tokens.wants(pod, VAULT)
    assert set(tokens.fact(pod).tokens) == {VAULT}
    tokens.asked()
    # The token that nobody shows any more is not renewed.
    tokens.advance(2 * HOUR)
    assert {each.split()[4] for each in tokens.asked()} == {"vault:"}


def test_a_token_is_renewed_after_four_fifths_of_its_life(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    first = tokens.token(pod)
    tokens.asked()
    tokens.advance(0.8 * HOUR - 11)
    assert tokens.asked() == []
    tokens.advance(11)
    assert tokens.asked() == ASKED
    assert tokens.token(pod) not in {None, first}


def test_the_api_servers_word_on_the_life_counts_whatever_its_clock_says(
    tokens: TokenStage,
) -> None:
    pod = tokens.binds()
    # The clock of this machine is a day late, and the wish was for an hour.
    tokens.sleeps(-86400)
    shortening(tokens, 1000)
    tokens.wants(pod)
    tokens.asked()
    tokens.advance(800 - 11)
    assert tokens.asked() == []
    tokens.advance(11)
    assert tokens.asked() == ASKED


def test_a_token_of_a_machine_that_slept_is_renewed_at_once(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    first = tokens.token(pod)
    tokens.asked()
    tokens.sleeps(5 * HOUR)
    tokens.advance(10)
    assert tokens.asked() == ASKED
    # It was never told as lost.
    assert [dict(fact.troubles) for fact in tokens.facts()] == [{}]
    assert tokens.token(pod) not in {None, first}


def test_a_clock_that_is_set_back_renews_no_token_later(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    tokens.asked()
    tokens.advance(60)
    tokens.sleeps(-86400)
    tokens.advance(0.8 * HOUR - 60)
    assert tokens.asked() == ASKED


def test_a_pod_that_is_being_deleted_has_its_token_renewed(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    tokens.store.remove("pods", "default", "web", grace=86400)
    tokens.wants(replace(pod, is_deleting=True))
    tokens.asked()
    tokens.advance(0.8 * HOUR)
    assert tokens.asked() == ASKED


# --- pods that go ---------------------------------------------------------------------------------------


def test_a_pod_that_is_released_has_no_token_renewed(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    tokens.asked()
    tokens.releases(pod)
    tokens.releases(pod)
    tokens.advance(2 * HOUR)
    assert tokens.asked() == []
    assert not tokens.memory.pods


def test_a_pod_that_wants_no_token_any_more_is_answered_and_forgotten(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    tokens.facts()
    tokens.wants_none(pod)
    assert tokens.facts() == [TokensAre(uid=pod.uid)]
    assert not tokens.memory.pods


def test_an_answer_for_a_pod_that_was_released_is_told_to_nobody(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.hold()
    tokens.wants(pod)
    tokens.facts()
    tokens.releases(pod)
    tokens.api.calls.release()
    tokens.play.settle()
    assert tokens.facts() == []


def test_an_answer_to_an_earlier_wish_is_not_taken_for_a_later_one(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.hold()
    tokens.wants(pod)
    tokens.releases(pod)
    tokens.wants(pod)
    assert tokens.asked() == ASKED * 2
    tokens.api.calls.release()
    tokens.play.settle()
    assert len(tokens.facts()) == 3  # the two wishes, and the token
    assert tokens.token(pod) is not None


def test_a_pod_that_was_deleted_meanwhile_is_not_asked_for_again_and_again(
    tokens: TokenStage,
) -> None:
    pod = tokens.binds()
    tokens.store.remove("pods", "default", "web")
    tokens.wants(pod)
    assert "forbidden" in tokens.trouble(pod)
    tokens.asked()
    tokens.advance(600)
    assert len(tokens.asked()) < 20


def test_a_pod_of_that_name_with_another_uid_is_a_trouble(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.store.remove("pods", "default", "web")
    tokens.binds()
    tokens.wants(pod)
    assert "might have been deleted and then recreated" in tokens.trouble(pod)


# --- the API server refuses ----------------------------------------------------------------------------


def test_a_refusal_is_told_in_the_api_servers_words_and_tried_again(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.fail(FailureKind.FORBIDDEN, times=3)
    tokens.wants(pod)
    assert "forbidden" in tokens.trouble(pod)
    tokens.advance(10)
    assert tokens.token(pod) is not None
    assert tokens.trouble(pod) == ""
    assert len(tokens.asked()) == 4


def test_a_missing_service_account_is_a_trouble_until_it_is_made(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.store.remove("serviceaccounts", "default", "shop")
    tokens.wants(pod)
    assert '"shop" not found' in tokens.trouble(pod)
    tokens.advance(600)
    assert len(tokens.asked()) < 20
    tokens.makes_account("shop")
    tokens.advance(121)
    assert tokens.token(pod) is not None


def test_a_life_that_is_too_short_for_the_api_server_is_a_trouble(tokens: TokenStage) -> None:
    pod = tokens.binds()
    short = TokenNeeded(audience="", expiration_seconds=60, path="token")
    tokens.wants(pod, short, VAULT)
    assert "10 minutes" in tokens.trouble(pod, short)
    assert tokens.token(pod, VAULT) is not None


def test_a_renewal_that_fails_leaves_the_last_token_until_it_has_expired(
    tokens: TokenStage,
) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    first = tokens.token(pod)
    tokens.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
    tokens.advance(HOUR - 1)
    assert len(tokens.asked()) > 3
    assert (tokens.token(pod), tokens.trouble(pod)) == (first, "")
    tokens.advance(1)
    assert tokens.token(pod) is None
    assert tokens.trouble(pod).endswith("; the last one has expired")
    tokens.api.calls.recover()
    tokens.advance(121)
    assert tokens.token(pod) not in {None, first}


@pytest.mark.parametrize(
    "answer",
    [
        {"metadata": {}},
        {"metadata": {}, "status": None},
        {"metadata": {}, "status": {"token": ""}},
        {
            "metadata": {},
            "status": {"token": "t\xe4", "expirationTimestamp": "2024-01-01T00:00:00Z"},
        },
        {"metadata": {}, "status": {"token": "opaque", "expirationTimestamp": "soon"}},
    ],
)
def test_an_answer_without_a_token_that_can_be_used_is_a_trouble(
    tokens: TokenStage, answer: JsonObject
) -> None:
    pod = tokens.binds()
    answering(tokens, answer)
    tokens.wants(pod)
    assert tokens.trouble(pod) == NO_TOKEN
    assert tokens.described().requests == {"unusable": 1}


def test_a_static_pod_has_no_token_and_the_api_server_is_not_asked(tokens: TokenStage) -> None:
    pod = static(tokens.binds())
    tokens.wants(pod, TOKEN, VAULT)
    assert tokens.fact(pod).troubles == {TOKEN: NO_ACCOUNT, VAULT: NO_ACCOUNT}
    tokens.advance(HOUR)
    assert tokens.asked() == []


# --- the API server is away ----------------------------------------------------------------------------


def test_while_the_api_server_is_away_one_token_is_tried_and_all_are_told_why(
    tokens: TokenStage,
) -> None:
    pods = [tokens.binds(f"web-{number}") for number in range(40)]
    tokens.api.go_away()
    for pod in pods:
        tokens.wants(pod)
    tokens.advance(60)
    assert all("unreachable" in tokens.trouble(pod) for pod in pods)
    assert len(tokens.asked()) < 40
    tokens.api.come_back()
    tokens.advance(10)
    assert all(tokens.token(pod) for pod in pods)
    assert len(tokens.asked()) == 40


def test_a_running_pod_keeps_its_token_while_the_api_server_is_away_until_it_expires(
    tokens: TokenStage,
) -> None:
    pods = [tokens.binds("a"), tokens.binds("b")]
    for pod in pods:
        tokens.wants(pod)
    tokens.api.go_away()
    tokens.advance(HOUR - 1)
    assert all(tokens.token(pod) for pod in pods)
    tokens.advance(1)
    assert not any(tokens.token(pod) for pod in pods)
    assert all("expired" in tokens.trouble(pod) for pod in pods)
    tokens.api.come_back()
    tokens.advance(10)
    assert all(tokens.token(pod) for pod in pods)


def test_an_api_server_that_asks_to_wait_is_waited_for(tokens: TokenStage) -> None:
    pod = tokens.binds()
    busy = ApiFailure(
        kind=FailureKind.THROTTLED,
        retry=Retry.AFTER_DELAY,
        sentence="too many requests",
        status=429,
        retry_after=Seconds(30.0),
    )
    tokens.api.calls.fail(busy)
    tokens.wants(pod)
    tokens.asked()
    tokens.advance(29)
    assert tokens.asked() == []
    tokens.advance(2)
    assert tokens.asked() == ASKED


def test_a_thousand_pods_have_few_requests_under_way_at_a_time(tokens: TokenStage) -> None:
    pods = [tokens.binds(f"web-{number}") for number in range(200)]
    tokens.api.calls.hold()
    for pod in pods:
        tokens.wants(pod)
    assert len(tokens.api.calls.requests) == 16
    tokens.api.calls.release()
    tokens.play.settle()
    assert all(tokens.token(pod) for pod in pods)


def test_a_pod_that_waits_for_its_token_comes_before_renewals(tokens: TokenStage) -> None:
    for number in range(40):
        tokens.wants(tokens.binds(f"old-{number}"))
    tokens.asked()
    tokens.api.calls.hold()
    tokens.advance(0.8 * HOUR)
    assert len(tokens.asked()) == 16
    new = tokens.binds("new")
    tokens.wants(new)
    tokens.api.calls.release()
    tokens.play.settle()
    assert tokens.asked()[0] == "new as shop for : 3600"


# --- crashes and numbers --------------------------------------------------------------------------------


def test_a_keeper_that_crashed_knows_its_tokens_and_renews_them(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.wants(pod)
    first = tokens.token(pod)
    tokens.asked()
    tokens.crashes()
    assert tokens.asked() == []
    tokens.advance(0.8 * HOUR)
    assert tokens.asked() == ASKED
    assert tokens.token(pod) not in {None, first}


def test_a_keeper_that_crashed_asks_again_for_what_was_under_way(tokens: TokenStage) -> None:
    pod = tokens.binds()
    tokens.api.calls.hold()
    tokens.wants(pod)
    tokens.crashes()
    assert tokens.asked() == ASKED * 2
    tokens.api.calls.release()
    tokens.play.settle()
    assert tokens.token(pod) is not None


def test_the_state_of_all_tokens_is_counted(tokens: TokenStage) -> None:
    good, bad, waiting = (tokens.binds(name) for name in ("good", "bad", "waiting"))
    tokens.wants(good, TOKEN, VAULT)
    tokens.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.CREATE), times=1)
    tokens.wants(bad)
    tokens.api.calls.hold()
    tokens.wants(waiting)
    described = tokens.described()
    assert described.states == {"there": 2, "trouble": 1, "pending": 1}
    assert described.requests == {"issued": 2, "forbidden": 1}
    for pod in (good, bad, waiting):
        tokens.releases(pod)
    assert set(tokens.described().states.values()) == {0}


def shortening(tokens: TokenStage, seconds: int) -> None:
    """Have the API server give tokens another life than was asked for, and say so."""
    handle = tokens.store.handle

    def short(request: ApiRequest, *, as_node: str = "") -> JsonObject:
        body = dict(request.body or {})
        body["spec"] = {**body["spec"], "expirationSeconds": seconds}
        return handle(replace(request, body=body), as_node=as_node)

    vars(tokens.store)["handle"] = short


def answering(tokens: TokenStage, answer: JsonObject) -> None:
    """Have the API server answer everything in the same way."""
    vars(tokens.store)["handle"] = lambda *_request, **_who: answer
