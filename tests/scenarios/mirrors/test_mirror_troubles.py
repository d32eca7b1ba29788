"""Mirrors that cannot be had: refused, in somebody's way, or out of reach of the API server."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from messages.api import ApiFailure, ApiRequest, FailureKind, Retry, Verb
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import FILE, HTTP, FullName
from messages.units import Seconds
from tests.support.apiserver.fake_api import ALWAYS, asks
from tests.support.mirrors.mirror_stage import (
    NODE,
    MirrorStage,
    make_static,
    mirror_made_by,
    mirror_stage,
    ordinary_pod,
)

WEB, SHOP = make_static("web"), make_static("shop")
WEB_NAME = FullName("web-n1_default")
TAKEN = "its name is taken by a pod that is no mirror of this node"


def refusal(sentence: str) -> ApiFailure:
    return ApiFailure(kind=FailureKind.FORBIDDEN, retry=Retry.NEVER, sentence=sentence, status=403)


# --- refused ---------------------------------------------------------------------------------------


def test_a_refused_mirror_is_a_verdict_an_event_and_a_number(stage: MirrorStage) -> None:
    stage.api.calls.fail(refusal("no, says the webhook"), times=ALWAYS)
    stage.serves(FILE, WEB, SHOP)
    sentence = "no, says the webhook"
    assert stage.sources[FILE].refused == {WEB.uid: sentence, SHOP.uid: sentence}
    described = stage.described()
    assert (described.wanted, described.present) == (2, 0)
    assert described.troubles == {WEB_NAME: sentence, FullName("shop-n1_default"): sentence}
    assert described.create_errors == {"forbidden": 2}
    assert stage.events.next() == PostEvent(
        regarding=ObjectReference(kind="Node", name=NODE, uid=NODE),
        type=EventType.WARNING,
        reason="FailedMirrorPod",
        message="mirror of static pod default/web-n1: no, says the webhook",
    )


def test_an_unchanged_refusal_is_told_once_and_counted_each_time(
    stage: MirrorStage, logs: list[MutableMapping[str, Any]]
) -> None:
    stage.api.calls.fail(refusal("no"), times=ALWAYS)
    stage.serves(FILE, WEB)
    stage.advance(1000.0)
    assert len(stage.events.drain()) == 1
    assert [one["error"] for one in logs if one["log_level"] == "warning"] == ["no"]
    assert len(stage.sources[FILE].verdicts) == 2
    # After 1, 2, 4 ... 256 s, and 300 s from there on, with a little jitter each.
    assert stage.described().create_errors == {"forbidden": 11}


def test_a_refusal_that_ends_is_taken_back(stage: MirrorStage) -> None:
    webhook = stage.store.refuse(lambda request: request.verb is Verb.CREATE, message="denied")
    stage.serves(FILE, WEB)
    assert "denied" in stage.sources[FILE].refused[WEB.uid]
    webhook.lift()
    stage.advance(3.0)
    assert stage.mirrors() == ["web-n1: web-1"]
    assert stage.sources[FILE].refused == {}
    assert stage.described().troubles == {}


def test_a_webhook_that_is_down_is_a_verdict_on_what_it_concerns_and_on_nothing_else(
    stage: MirrorStage,
) -> None:
    # As the API server says it when a webhook that has to be asked does not answer.
    webhook = stage.store.refuse(
        lambda request: request.verb is Verb.CREATE and "web-n1" in str(request.body),
        code=500,
        reason="InternalError",
        message='failed calling webhook "policy.example": connection refused',
    )
    other = make_static("db")
    stage.serves(FILE, WEB, other)
    assert stage.mirrors() == ["db-n1: db-1"]
    assert "failed calling webhook" in stage.sources[FILE].refused[WEB.uid]
    assert stage.described().create_errors == {"server_error": 1}

    # It may have been created all the same, so it is looked for before it is tried again.
    stage.asked()
    webhook.lift()
    stage.advance(2.0)
    assert stage.asked() == ["GET web-n1", "POST web-n1"]
    assert stage.sources[FILE].refused == {}


def test_an_edited_manifest_is_tried_at_once(stage: MirrorStage) -> None:
    stage.serves(FILE, make_static(spec={"nodeName": NODE, "priority": 7}))
    assert stage.described().create_errors == {"forbidden": 1}
    stage.advance(100.0)
    stage.asked()
    stage.serves(FILE, make_static("web", "2"))
    assert stage.asked() == ["POST web-n1"]
    assert stage.sources[FILE].refused == {}


def test_a_mirror_whose_pod_goes_is_refused_no_longer(stage: MirrorStage) -> None:
    stage.api.calls.fail(refusal("no"), times=ALWAYS)
    stage.serves(FILE, WEB)
    stage.serves(FILE)
    assert stage.sources[FILE].refused == {}
    stage.asked()
    stage.advance(600.0)
    assert stage.asked() == []


def test_a_node_that_is_registered_again_is_a_reason_to_try_at_once(stage: MirrorStage) -> None:
    stage.api.calls.fail(refusal("not with this Node"), times=8)
    stage.serves(FILE, WEB)
    stage.advance(200.0)
    assert stage.mirrors() == []
    stage.deregisters()
    stage.asked()
    stage.registers()
    assert stage.asked() == ["POST web-n1"]


def test_a_refusal_stands_while_there_is_no_node_and_is_told_once(stage: MirrorStage) -> None:
    stage.api.calls.fail(refusal("no"), times=ALWAYS)
    stage.serves(FILE, WEB)
    stage.deregisters()
    assert stage.described().troubles == {WEB_NAME: "no"}
    assert stage.sources[FILE].refused == {WEB.uid: "no"}
    stage.registers()
    stage.deregisters()
    stage.registers()
    assert len(stage.events.drain()) == 1

    stage.api.calls.recover()
    stage.advance(3.0)
    assert stage.described().troubles == {}


def test_a_missing_namespace_is_a_verdict_until_there_is_one(stage: MirrorStage) -> None:
    pod = make_static(namespace="shop")
    stage.serves(FILE, pod)
    stage.advance(300.0)
    assert stage.sources[FILE].refused.keys() == {pod.uid}
    stage.store.add({"kind": "Namespace", "metadata": {"name": "shop"}})
    stage.advance(21.0)
    assert stage.mirror(namespace="shop").uid
    assert stage.sources[FILE].refused == {}
    assert stage.described().create_errors.keys() == {"not_found"}


def test_each_source_hears_of_its_own_pods_only() -> None:
    with mirror_stage(FILE, HTTP) as stage:
        stage.joins()
        stage.api.calls.fail(refusal("no"), times=ALWAYS)
        stage.serves(FILE, WEB)
        assert stage.sources[HTTP].verdicts == []
        stage.serves(HTTP)
        assert [verdict.refused for verdict in stage.sources[HTTP].verdicts] == [{}]
        assert stage.sources[FILE].refused == {WEB.uid: "no"}


def test_the_numbers_outlive_a_crash_and_the_verdict_is_found_again(stage: MirrorStage) -> None:
    stage.api.calls.fail(refusal("no"), times=ALWAYS)
    stage.serves(FILE, WEB)
    stage.crashes()
    assert stage.described().create_errors["forbidden"] >= 2
    assert stage.sources[FILE].refused == {WEB.uid: "no"}


# --- a name that is taken --------------------------------------------------------------------------


def test_a_name_that_is_taken_is_a_verdict_and_once_it_is_free_the_mirror_stays(
    stage: MirrorStage,
) -> None:
    # K15.
    stage.store.add(ordinary_pod(WEB))
    stage.serves(FILE, WEB)
    assert stage.asked() == ["POST web-n1", "GET web-n1"]
    assert stage.sources[FILE].refused == {WEB.uid: TAKEN}
    stage.advance(120.0)
    assert set(stage.asked()) == {"GET web-n1"}

    stage.removes()
    stage.advance(21.0)
    stage.asked()
    assert stage.mirrors() == ["web-n1: web-1"]
    stage.advance(600.0)
    assert stage.asked() == []
    assert stage.sources[FILE].refused == {}
    assert stage.described().create_errors.keys() == {"name_taken"}


def test_a_name_that_a_pod_of_this_node_had_is_taken_as_soon_as_that_has_ended(
    stage: MirrorStage,
) -> None:
    stage.store.add(ordinary_pod(WEB))
    stage.serves(FILE, WEB)
    stage.store.remove("pods", "default", WEB.name, grace=0)
    stage.store.add(ordinary_pod(WEB, NODE))
    stage.advance(120.0)
    stage.asked()
    stage.removes(grace=30)
    stage.settle()
    stage.removes()
    stage.settle()
    # No time has passed: the next attempt would have come up to 20 s later.
    assert stage.asked() == ["GET web-n1", "POST web-n1"]
    assert stage.mirrors() == ["web-n1: web-1"]


def test_a_pod_that_took_the_name_is_not_touched(stage: MirrorStage) -> None:
    taken = stage.store.add(ordinary_pod(WEB, NODE))
    stage.serves(FILE, WEB)
    stage.advance(60.0)
    stage.serves(FILE)
    stage.advance(60.0)
    assert stage.store.get("pods", "default", WEB.name) == taken


def test_a_name_that_is_taken_by_what_a_node_may_not_see_is_a_verdict_until_it_is_free(
    strict: MirrorStage,
) -> None:
    strict.store.add(ordinary_pod(WEB))
    strict.serves(FILE, WEB)
    assert strict.asked() == ["POST web-n1", "GET web-n1"]
    assert strict.sources[FILE].refused == {WEB.uid: TAKEN}
    strict.advance(120.0)
    assert 14 <= len(strict.asked()) <= 20  # a creation and a look after 1, 2, 4 ... 20 s
    assert len(strict.events.drain()) == 1
    assert strict.described().create_errors.keys() == {"name_taken"}

    strict.removes()
    strict.advance(21.0)
    assert strict.asked() == ["POST web-n1"]
    assert strict.sources[FILE].refused == {}
    assert strict.mirrors() == ["web-n1: web-1"]


def test_a_creation_that_was_lost_is_no_verdict_where_a_node_may_not_look_at_nothing(
    strict: MirrorStage,
) -> None:
    strict.api.calls.fail(FailureKind.TIMEOUT, when=asks(Verb.CREATE))
    strict.serves(FILE, WEB)
    strict.advance(5.0)
    assert strict.asked() == ["POST web-n1", "GET web-n1", "POST web-n1"]
    assert strict.mirrors() == ["web-n1: web-1"]
    assert strict.sources[FILE].refused == {}
    strict.events.expect_silence()


def test_a_pod_that_is_hidden_as_if_it_were_not_there_has_the_name(stage: MirrorStage) -> None:
    stage.store.add(ordinary_pod(WEB))
    stage.api.calls.fail(FailureKind.NOT_FOUND, when=asks(Verb.GET), times=ALWAYS)
    stage.serves(FILE, WEB)
    # The first time it may have gone between the two answers.
    assert stage.asked() == ["POST web-n1", "GET web-n1", "POST web-n1", "GET web-n1"]
    assert stage.sources[FILE].refused == {WEB.uid: TAKEN}
    stage.removes()
    stage.advance(2.0)
    assert stage.asked() == ["POST web-n1"]
    assert stage.sources[FILE].refused == {}


def test_a_mirror_that_is_there_already_is_compared_and_kept(stage: MirrorStage) -> None:
    # K15: the watch does not show it yet.
    stage.api.watches.pause()
    uid = stage.store.get("nodes", NODE)["metadata"]["uid"]
    stage.store.add(mirror_made_by(uid, WEB))
    stage.serves(FILE, WEB)
    assert stage.asked() == ["POST web-n1", "GET web-n1"]
    assert stage.described().present == 1


def test_an_outdated_mirror_that_is_there_already_is_replaced(stage: MirrorStage) -> None:
    stage.api.watches.pause()
    uid = stage.store.get("nodes", NODE)["metadata"]["uid"]
    stage.store.add(mirror_made_by(uid, WEB))
    stage.serves(FILE, make_static("web", "2"))
    assert stage.asked() == ["POST web-n1", "GET web-n1", "DELETE web-n1", "POST web-n1"]
    assert stage.mirrors() == ["web-n1: web-2"]
    stage.api.watches.resume()
    stage.settle()
    assert stage.asked() == []


# --- the watch lags --------------------------------------------------------------------------------


def test_a_created_mirror_is_believed_before_the_watch_shows_it(stage: MirrorStage) -> None:
    stage.api.watches.pause()
    stage.serves(FILE, WEB)
    stage.serves(FILE, WEB, SHOP)
    stage.advance(4.0)
    assert stage.asked() == ["POST web-n1", "POST shop-n1"]

    # Then it is looked at, each time after twice as long: the watch may be down for hours.
    stage.advance(57.0)
    assert stage.asked().count("GET web-n1") == 3
    stage.api.watches.resume()
    stage.advance(600.0)
    assert stage.asked() == []


def test_a_mirror_that_went_before_the_watch_showed_it_is_made_again(stage: MirrorStage) -> None:
    stage.api.watches.pause()
    stage.serves(FILE, WEB)
    stage.api.watches.break_off()
    stage.removes()
    stage.asked()
    stage.advance(5.0)
    assert stage.asked() == ["GET web-n1", "POST web-n1"]


def test_a_mirror_that_is_called_gone_and_is_still_there_is_deleted_after_all(
    stage: MirrorStage,
) -> None:
    # An API server that has just started has not read its pods yet, and denies that there are any.
    stage.serves(FILE, WEB)
    stage.asked()
    stage.api.calls.fail(FailureKind.NOT_FOUND, when=asks(Verb.DELETE))
    stage.serves(FILE)
    assert stage.asked() == ["DELETE web-n1"]
    stage.advance(8.0)
    assert stage.asked() == ["GET web-n1", "GET web-n1", "DELETE web-n1"]
    assert stage.mirrors() == []
    stage.advance(600.0)
    assert stage.asked() == []


def test_a_mirror_that_is_called_gone_is_looked_at_once_while_the_watch_is_silent(
    stage: MirrorStage,
) -> None:
    stage.serves(FILE, WEB)
    stage.asked()
    stage.api.watches.pause()
    stage.serves(FILE)
    stage.advance(600.0)
    assert stage.asked() == ["DELETE web-n1", "GET web-n1"]


def test_a_mirror_that_comes_back_from_a_backup_under_its_old_uid_is_looked_at_no_longer(
    stage: MirrorStage,
) -> None:
    stage.serves(FILE, WEB)
    backup = stage.mirror()
    stage.removes()
    stage.settle()
    assert stage.mirror().uid != backup.uid

    stage.api.watches.break_off()
    stage.store.bring_back(backup.document)
    stage.api.watches.mend()
    stage.advance(60.0)
    assert stage.described().present == 1
    stage.asked()
    stage.advance(3600.0)
    assert stage.asked() == []


def test_a_deleted_mirror_counts_as_gone_though_the_watch_still_shows_it(
    stage: MirrorStage,
) -> None:
    stage.serves(FILE, WEB)
    stage.asked()
    stage.api.watches.pause()
    stage.store.change("pods", "default", WEB.name, metadata={"labels": {"a": "late"}})
    stage.serves(FILE, make_static("web", "2"))
    assert stage.asked() == ["DELETE web-n1", "POST web-n1"]
    stage.api.watches.resume()
    stage.advance(60.0)
    assert stage.asked() == []


# --- out of reach ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.THROTTLED,
        FailureKind.SERVER_ERROR,
        FailureKind.CREDENTIALS,
        FailureKind.UNAUTHORIZED,
    ],
)
def test_an_outage_is_no_verdict(stage: MirrorStage, kind: FailureKind) -> None:
    stage.api.calls.fail(kind, times=3)
    stage.serves(FILE, WEB)
    assert stage.described().troubles == {}
    stage.advance(10.0)
    assert stage.mirrors() == ["web-n1: web-1"]
    assert stage.described().create_errors == {}
    assert stage.sources[FILE].refused == {}
    stage.events.expect_silence()


def test_a_refusal_after_a_long_outage_is_a_first_refusal(stage: MirrorStage) -> None:
    # An API server that is just back forbids everything until it has read its own rules.
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=ALWAYS)
    stage.serves(FILE, WEB)
    stage.advance(120.0)
    stage.api.calls.recover()
    stage.api.calls.fail(refusal("not ready yet"), times=2)
    # The outage's longest wait, then those after a first and a second refusal: 1 and 2 s, and jitter.
    stage.advance(7.5 + 2.0 + 3.0)
    assert stage.mirrors() == ["web-n1: web-1"]


def test_a_thousand_names_try_an_absent_api_server_with_one_call(stage: MirrorStage) -> None:
    stage.api.calls.fail(FailureKind.UNREACHABLE, times=ALWAYS)
    stage.serves(FILE, *(make_static(f"web-{number}") for number in range(1000)))
    assert len(stage.asked()) == 16
    stage.advance(300.0)
    # After 1, 2 and 4 s, and every 7 s from there on.
    assert 42 <= len(stage.asked()) <= 46

    stage.api.calls.recover()
    stage.advance(40.0)
    assert len(stage.mirrors()) == 1000


def test_a_server_error_that_concerns_one_pod_holds_up_no_other(stage: MirrorStage) -> None:
    # A webhook that cannot be reached, say. What else is under way is answered, and so is the rest.
    def is_web(request: ApiRequest) -> bool:
        return bool((request.body or {}).get("metadata", {}).get("name") == WEB.name)

    stage.api.calls.fail(FailureKind.SERVER_ERROR, when=is_web, times=ALWAYS)
    stage.serves(FILE, WEB, *(make_static(f"shop-{number}") for number in range(40)))
    assert len(stage.mirrors()) == 40


def test_the_server_s_wish_to_be_asked_later_is_granted(stage: MirrorStage) -> None:
    throttled = ApiFailure(
        kind=FailureKind.THROTTLED,
        retry=Retry.AFTER_DELAY,
        sentence="too many requests",
        retry_after=Seconds(20.0),
    )
    stage.api.calls.fail(throttled)
    stage.serves(FILE, WEB)
    stage.advance(19.0)
    assert stage.asked() == ["POST web-n1"]
    stage.advance(1.0)
    assert stage.asked() == ["POST web-n1"]


def test_a_creation_whose_answer_is_lost_happens_once(stage: MirrorStage) -> None:
    stage.api.watches.pause()
    stage.api.calls.lose_answers()
    stage.serves(FILE, WEB)
    before = stage.mirror().uid
    stage.advance(2.0)
    assert stage.asked() == ["POST web-n1", "GET web-n1"]
    assert stage.mirror().uid == before
    assert stage.described().present == 1


def test_a_deletion_whose_answer_is_lost_is_repeated(stage: MirrorStage) -> None:
    stage.serves(FILE, WEB)
    stage.asked()
    stage.api.watches.pause()
    stage.api.calls.lose_answers()
    stage.serves(FILE, make_static("web", "2"))
    stage.advance(2.0)
    assert stage.asked() == ["DELETE web-n1", "DELETE web-n1", "POST web-n1"]


def test_a_call_that_nobody_answers_is_given_up(stage: MirrorStage) -> None:
    stage.api.calls.hold(asks(Verb.CREATE))
    stage.serves(FILE, WEB)
    stage.advance(59.0)
    assert stage.asked() == ["POST web-n1"]
    stage.advance(3.0)
    assert stage.asked() == ["GET web-n1", "POST web-n1"]

    # An answer that comes after all is ignored.
    stage.api.calls.release()
    stage.advance(120.0)
    assert stage.mirrors() == ["web-n1: web-1"]


def test_no_more_than_sixteen_calls_are_in_flight_and_one_for_each_name(
    stage: MirrorStage,
) -> None:
    stage.api.calls.hold()
    pods = [make_static(f"web-{number}") for number in range(40)]
    stage.serves(FILE, *pods)
    stage.serves(FILE, *pods[1:])
    stage.serves(FILE, make_static("web-0", "2"), *pods[1:])
    assert len(stage.asked()) == 16
    stage.api.calls.release()
    stage.settle()
    assert len(stage.mirrors()) == 40
    assert "web-0-n1: web-0-2" in stage.mirrors()
