"""What an API server answers when a node asks for a pod's token, as the agent asks.

One suite for the real one and those of the tests.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.volumes.tokens import TokenAsk, token_issued, token_request
from messages.pods import Pod, PodUid
from messages.units import Instant, Seconds, Timestamp
from tests.support.apiserver.subjects import (
    ACCOUNTS,
    PODS,
    Subject,
    create,
    delete,
    eventually,
    pod,
    refusal,
)

NOW = Instant(Seconds(0.0), Timestamp(0.0))
ASK = TokenAsk("", 600)


@pytest.fixture
def web(api_server: Subject) -> Pod:
    """Return a pod of the node with a service account, once the node may ask for its tokens."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "shop"}}
    api_server.admin.handle(create(ACCOUNTS, account))
    document = api_server.admin.handle(create(PODS, pod(serviceAccountName="shop")))
    web = Pod.of(document)
    eventually(api_server.node, token_request(web, ASK))
    return web


@pytest.mark.parametrize(
    ("ask", "audiences"),
    [(ASK, ["https://kubernetes.default"]), (TokenAsk("vault", 7200), ["vault"])],
)
def test_a_node_gets_a_token_for_its_pod(
    api_server: Subject, web: Pod, ask: TokenAsk, audiences: list[str]
) -> None:
    answer = api_server.node.handle(token_request(web, ask))
    assert answer["spec"]["audiences"] == audiences
    assert isinstance(answer["metadata"], dict)
    issued = token_issued(answer, NOW, 0.0)
    assert issued is not None
    assert issued.life == float(ask.expiration_seconds)


def test_each_answer_holds_a_token_for_the_whole_life(api_server: Subject, web: Pod) -> None:
    # The life of an hour and seven seconds is written as a year into the token itself.
    answer = api_server.node.handle(token_request(web, TokenAsk("", 3607)))
    issued = token_issued(answer, NOW, 0.0)
    assert issued is not None
    assert issued.life == 3607.0


def test_a_life_under_ten_minutes_is_refused(api_server: Subject, web: Pod) -> None:
    assert refusal(api_server.node, token_request(web, TokenAsk("", 599))) == (422, "Invalid")


def test_a_node_gets_no_token_of_another_account(api_server: Subject, web: Pod) -> None:
    spec = {**web.document["spec"], "serviceAccountName": "admin"}
    other = replace(web, document={**web.document, "spec": spec})
    assert refusal(api_server.node, token_request(other, ASK)) == (403, "Forbidden")
    assert refusal(api_server.admin, token_request(other, ASK)) == (404, "NotFound")


def test_a_pod_of_another_uid_gets_no_token(api_server: Subject, web: Pod) -> None:
    other = replace(web, uid=PodUid("another"))
    assert refusal(api_server.node, token_request(other, ASK)) == (403, "Forbidden")
    assert refusal(api_server.admin, token_request(other, ASK)) == (409, "Conflict")


def test_a_pod_that_is_not_there_gets_no_token(api_server: Subject, web: Pod) -> None:
    other = replace(web, name="gone")
    assert refusal(api_server.node, token_request(other, ASK)) == (404, "NotFound")
    assert refusal(api_server.admin, token_request(other, ASK)) == (404, "NotFound")


def test_a_pod_that_is_being_deleted_still_gets_one(api_server: Subject, web: Pod) -> None:
    api_server.admin.handle(delete(f"{PODS}/web", gracePeriodSeconds=600))
    assert api_server.node.handle(token_request(web, ASK))["status"]["token"]
