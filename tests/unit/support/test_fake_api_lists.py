"""The watches of scenario tests: marks, lists beside watches, and lists that are slow or fail."""

from __future__ import annotations

import pytest

from messages.api import ApiFailure, FailureKind
from messages.pods import JsonObject
from messages.watches import (
    ListTarget,
    ObjectsAre,
    TargetListed,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from tests.support.apiserver.fake_api import FakeApi
from tests.support.kernel.probe import Probe

SECRETS = "/api/v1/namespaces/default/secrets"
WEB = WatchTarget(path=SECRETS, field_selector="metadata.name=web")
DB = WatchTarget(path=SECRETS, field_selector="metadata.name=db")
LIST_WEB, WATCH_WEB = f"list {SECRETS} (metadata.name=web)", f"watch {SECRETS} (metadata.name=web)"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(as_node="")


def secret(name: str = "web") -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


def told(facts: Probe[WatchFact]) -> list[str]:
    return [_words(fact) for fact in facts.drain()]


def _words(fact: WatchFact) -> str:
    match fact:
        case ObjectsAre():
            return " ".join(
                [f"are@{fact.mark}", *(item["metadata"]["name"] for item in fact.objects)]
            )
        case WatchEvent():
            return f"{fact.op.value} {fact.object['metadata']['name']}"
        case WatchFailed():
            return f"failed {fact.failure.kind.value}"
        case WatchRecovered():
            return "recovered"


def found(lists: Probe[TargetListed]) -> list[tuple[int, object]]:
    """Return mark, and names or what went wrong, of each answer."""
    return [(listed.mark, _outcome(listed.outcome)) for listed in lists.drain()]


def _outcome(outcome: ObjectsAre | ApiFailure) -> object:
    if isinstance(outcome, ApiFailure):
        return outcome.kind
    return [item["metadata"]["name"] for item in outcome.objects]


def test_a_list_has_the_highest_mark_of_its_target(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=3))
    api.watches.tell(Watch(target=WEB, subscriber=Probe(), mark=5))
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=4))
    assert told(facts) == ["are@3", "are@5"]


def test_the_last_who_leaves_takes_the_marks_along(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=3))
    api.watches.tell(Unwatch(target=WEB, subscriber=facts))
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    assert told(facts) == ["are@3", "are@0"]


def test_a_list_beside_a_watch_is_told_to_who_asked(
    api: FakeApi, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.store.add(secret())
    api.watches.tell(ListTarget(target=WEB, reply_to=lists, mark=7))
    listed = lists.next()
    assert isinstance(listed.outcome, ObjectsAre)
    assert listed.outcome.mark == listed.mark == 7
    assert listed.outcome.objects[0]["kind"] == "Secret"
    # And the watch goes on.
    api.store.remove("secrets", "default", "web")
    assert told(facts) == ["are@0", "ADDED web", "DELETED web"]
    assert api.watches.asked() == [LIST_WEB, WATCH_WEB, LIST_WEB]
    assert api.watches.asked() == []


def test_a_collection_is_not_listed_beside_its_watch(
    api: FakeApi, lists: Probe[TargetListed]
) -> None:
    with pytest.raises(AssertionError, match="no single object"):
        api.watches.tell(ListTarget(target=WatchTarget(path=SECRETS), reply_to=lists))


def test_while_it_is_broken_lists_fail_and_are_not_repeated(
    api: FakeApi, lists: Probe[TargetListed]
) -> None:
    api.watches.break_off(FailureKind.FORBIDDEN, when=lambda target: target == WEB)
    api.watches.tell(ListTarget(target=WEB, reply_to=lists, mark=1))
    api.watches.tell(ListTarget(target=DB, reply_to=lists, mark=2))
    api.watches.mend()
    assert found(lists) == [(1, FailureKind.FORBIDDEN), (2, [])]


def test_so_many_lists_fail_and_the_next_does_not(
    api: FakeApi, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    api.watches.fail_lists(FailureKind.SERVER_ERROR, times=2)
    api.watches.tell(ListTarget(target=WEB, reply_to=lists))
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    assert found(lists) == [(0, FailureKind.SERVER_ERROR)]
    # What stands is told again to who asks again.
    assert told(facts) == ["failed server_error", "failed server_error", "are@0", "recovered"]


def test_a_held_list_finds_what_there_is_when_it_is_released(
    api: FakeApi, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    api.watches.hold_lists(lambda target: target == WEB)
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(ListTarget(target=WEB, reply_to=lists))
    api.watches.tell(ListTarget(target=DB, reply_to=lists))
    api.store.add(secret())
    assert (told(facts), found(lists)) == ([], [(0, [])])
    api.watches.release_lists()
    assert (told(facts), found(lists)) == (["are@0 web"], [(0, ["web"])])
    api.watches.tell(ListTarget(target=WEB, reply_to=lists))
    assert found(lists) == [(0, ["web"])]


def test_a_held_answer_says_what_there_was_and_the_watch_goes_on_from_there(
    api: FakeApi, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    api.watches.hold_lists(are_carried_out=True)
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(ListTarget(target=WEB, reply_to=lists))
    api.store.add(secret())
    api.watches.release_lists()
    assert (told(facts), found(lists)) == (["are@0", "ADDED web"], [(0, [])])


def test_a_repeat_while_it_lists_lists_anew_only_for_a_higher_mark(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.hold_lists()
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=2))
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=2))
    assert api.watches.asked() == [LIST_WEB]
    api.watches.tell(Watch(target=WEB, subscriber=facts, mark=3))
    api.watches.release_lists()
    assert told(facts) == ["are@3"]
    assert api.watches.asked() == [LIST_WEB, WATCH_WEB]


def test_nothing_is_told_of_a_list_that_nobody_wants_any_more(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.hold_lists()
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(Unwatch(target=WEB, subscriber=facts))
    api.watches.release_lists()
    assert told(facts) == []
    assert api.watches.targets == []


def test_while_a_watch_lists_anew_it_hears_nothing(api: FakeApi, facts: Probe[WatchFact]) -> None:
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.hold_lists()
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.store.add(secret())
    assert told(facts) == ["are@0"]
    api.watches.release_lists()
    assert told(facts) == ["are@0 web"]


def test_answers_lag_as_facts_do(
    api: FakeApi, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    api.watches.pause()
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(ListTarget(target=WEB, reply_to=lists))
    api.store.add(secret())
    assert (told(facts), found(lists)) == ([], [])
    api.watches.resume()
    assert (told(facts), found(lists)) == (["are@0", "ADDED web"], [(0, [])])


def test_a_watch_that_never_failed_has_nothing_to_recover_from(
    api: FakeApi, facts: Probe[WatchFact]
) -> None:
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    assert told(facts) == ["are@0", "are@0"]
