"""The API server of scenario tests as actors see it: answers, facts, and every way to fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from messages.api import (
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    FailureKind,
    Retry,
    Verb,
)
from messages.pods import JsonObject
from messages.watches import (
    ObjectsAre,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.fake_api import FakeApi, asks
from tests.support.apiserver.fake_api_server import FakeApiServer
from tests.support.kernel.probe import Probe

POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/web:1"}]},
}
WEB = ApiRequest(verb=Verb.GET, path="/api/v1/namespaces/default/pods/web")
KILL_WEB = ApiRequest(verb=Verb.DELETE, path=WEB.path, body={"gracePeriodSeconds": 0})
BOUND = WatchTarget(path="/api/v1/pods", field_selector="spec.nodeName=n1")


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def kind_of(answer: ApiAnswered) -> FailureKind:
    assert isinstance(answer.outcome, ApiFailure)
    return answer.outcome.kind


# --- calls ------------------------------------------------------------------------------------------


def test_a_call_is_answered_with_the_object(api: FakeApi, answers: Probe[ApiAnswered]) -> None:
    pod = api.store.add(POD)
    api.calls.tell(CallApi(request=WEB, reply_to=answers))
    answers.expect(ApiAnswered(request=WEB, outcome=pod))
    assert api.calls.asked() == ["GET /api/v1/namespaces/default/pods/web"]


def test_a_refusal_is_the_failure_that_the_real_sender_makes_of_it(
    api: FakeApi, answers: Probe[ApiAnswered]
) -> None:
    api.calls.tell(CallApi(request=WEB, reply_to=answers))
    answer = answers.next()
    assert isinstance(answer.outcome, ApiFailure)
    assert (answer.outcome.kind, answer.outcome.status) == (FailureKind.NOT_FOUND, 404)
    assert answer.outcome.retry is Retry.NEVER


def test_a_failure_hits_only_what_it_picks_and_only_so_often(
    api: FakeApi, answers: Probe[ApiAnswered]
) -> None:
    pod = api.store.add(POD)
    api.calls.fail(FailureKind.SERVER_ERROR, when=asks(Verb.DELETE, "/pods/"))
    for request in (WEB, KILL_WEB, KILL_WEB):
        api.calls.tell(CallApi(request=request, reply_to=answers))
    assert answers.next().outcome == pod
    assert kind_of(answers.next()) is FailureKind.SERVER_ERROR
    assert not isinstance(answers.next().outcome, ApiFailure)
    assert api.store.pods() == ()


def test_a_lost_answer_is_a_request_that_was_carried_out(
    api: FakeApi, answers: Probe[ApiAnswered]
) -> None:
    api.store.add(POD)
    api.calls.lose_answers()
    api.calls.tell(CallApi(request=KILL_WEB, reply_to=answers))
    assert kind_of(answers.next()) is FailureKind.TIMEOUT
    assert not api.store.has("pods", "default", "web")


def test_a_held_call_happens_when_it_is_released(api: FakeApi, answers: Probe[ApiAnswered]) -> None:
    api.store.add(POD)
    api.calls.hold()
    api.calls.tell(CallApi(request=KILL_WEB, reply_to=answers))
    answers.expect_silence()
    assert api.store.has("pods", "default", "web")
    api.calls.release()
    assert not isinstance(answers.next().outcome, ApiFailure)
    assert not api.store.has("pods", "default", "web")


# --- watches ------------------------------------------------------------------------------------------


def told(facts: Probe[WatchFact]) -> list[str]:
    return [_words(fact) for fact in facts.drain()]


def _words(fact: WatchFact) -> str:
    match fact:
        case ObjectsAre():
            return " ".join(["are", *(item["metadata"]["name"] for item in fact.objects)])
        case WatchEvent():
            return f"{fact.op.value} {fact.object['metadata']['name']}"
        case WatchFailed():
            return f"failed {fact.failure.kind.value}"
        case WatchRecovered():
            return "recovered"


def test_a_watch_tells_all_objects_and_then_each_change(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.store.add(POD)
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    first = facts.next()
    assert isinstance(first, ObjectsAre)
    assert first.objects == api.store.pods()

    api.store.change("pods", "default", "web", status={"phase": "Running"})
    api.store.add({**POD, "metadata": {"name": "mail"}, "spec": {**POD["spec"], "nodeName": "n2"}})
    api.store.remove("pods", "default", "web")
    assert told(facts) == ["MODIFIED web", "MODIFIED web", "DELETED web"]


def test_a_repeated_watch_lists_anew_and_does_not_double(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.store.add(POD)
    assert told(facts) == ["are", "are", "ADDED web"]
    assert api.watches.targets == [BOUND]


def test_nothing_is_told_to_who_no_longer_watches(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.tell(Unwatch(target=BOUND, subscriber=facts))
    api.store.add(POD)
    assert told(facts) == ["are"]


def test_a_watch_that_lags_tells_later_and_in_order(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.pause()
    api.store.add(POD)
    api.store.remove("pods", "default", "web")
    assert told(facts) == ["are"]
    api.watches.resume()
    assert told(facts) == ["ADDED web", "MODIFIED web", "DELETED web"]


def test_a_broken_watch_is_deaf_until_it_lists_anew(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.break_off()
    api.store.add(POD)
    assert told(facts) == ["are", "failed unreachable"]
    api.watches.mend()
    assert told(facts) == ["are web", "recovered"]


def test_a_broken_watch_can_go_on_where_it_was(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.break_off()
    api.store.add(POD)
    api.watches.mend_and_resume()
    assert told(facts) == ["are", "failed unreachable", "ADDED web", "recovered"]


def test_who_asks_again_of_a_broken_watch_is_owed_a_list(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.break_off()
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.mend_and_resume()
    failed = "failed unreachable"
    assert told(facts) == ["are", failed, failed, "are", "recovered"]


def test_a_broken_watch_whose_place_is_forgotten_lists_anew(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.break_off()
    api.store.add(POD)
    api.store.compact()
    api.watches.mend_and_resume()
    assert told(facts) == ["are", "failed unreachable", "are web", "recovered"]


def test_a_watch_that_is_not_allowed_fails(api: FakeApi, facts: Probe[WatchFact]) -> None:
    secrets = WatchTarget(path="/api/v1/namespaces/default/secrets")
    api.watches.tell(Watch(target=secrets, subscriber=facts))
    assert told(facts) == ["failed forbidden"]


def test_while_it_is_away_everything_fails_and_then_nothing(
    api: FakeApi, facts: Probe[WatchFact], answers: Probe[ApiAnswered]
) -> None:
    api.store.add(POD)
    api.go_away()
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.calls.tell(CallApi(request=WEB, reply_to=answers))
    assert told(facts) == ["failed unreachable"]
    assert kind_of(answers.next()) is FailureKind.UNREACHABLE

    api.come_back()
    api.calls.tell(CallApi(request=WEB, reply_to=answers))
    assert told(facts) == ["are web", "recovered"]
    assert not isinstance(answers.next().outcome, ApiFailure)


# --- behind a socket ----------------------------------------------------------------------------------


def test_its_kubeconfig_leads_to_it(tmp_path: Path) -> None:
    with FakeApiServer() as server, ApiClient(server.access()) as node:
        kubeconfig = json.loads(server.kubeconfig(tmp_path).read_text())
        assert kubeconfig["clusters"][0]["cluster"]["server"] == server.http.url
        assert Path(kubeconfig["clusters"][0]["cluster"]["certificate-authority"]).exists()
        assert node.text("/readyz") == "ok"


def test_it_knows_its_clients_by_certificate() -> None:
    with FakeApiServer() as server:
        identity = server.http.issue_client_identity("system:node:n1")
        known = replace(server.access(), authorization="", identity=identity)
        with ApiClient(known) as node:
            node.add({"kind": "Node", "metadata": {"name": "n1"}})
    assert server.store.has("nodes", "n1")
