"""Listings that crash PodManager: one bad pod is nobody else's trouble."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from actors.pod_manager import PodMemory
from messages.pods import FILE, HTTP, Pod, PodUid
from tests.support.builders import make_pod
from tests.support.pods.pod_manager_stage import PodManagerStage, pod_manager_stage

WEB, SHOP, MAIL = make_pod("web"), make_pod("shop"), make_pod("mail")
SENTENCE = "taking it in has crashed the pod manager"


def poison(name: str, uid: str = "", image: str = "registry.example/poison:1") -> Pod:
    """Return a pod that no source should have made: annotations are a mapping, or missing."""
    document = {
        "metadata": {"name": name, "namespace": "default", "annotations": 5},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    return Pod(
        document=document, uid=PodUid(uid or f"poison-{name}"), namespace="default", name=name
    )


def lists_until_it_lives(manager: PodManagerStage, *pods: Pod) -> None:
    """List, and list again whenever PodManager asks, as a source does."""
    manager.file.drain()
    manager.lists(FILE, *pods)
    for _ in range(5):
        manager.recovers()
        if not manager.file.asked():
            return
        manager.lists(FILE, *pods)
    raise AssertionError("it keeps crashing")


def test_a_poisonous_pod_is_kept_out_and_everybody_else_is_served(
    manager: PodManagerStage,
) -> None:
    subscriber = manager.subscriber()
    manager.lists(HTTP, MAIL)
    manager.lists(FILE, WEB)
    subscriber.drain()

    # The listing crashes it once ...
    manager.lists(FILE, WEB, poison("bad"), SHOP)
    assert manager.crash_count() == 1
    manager.recovers()

    # ... and is taken in without the pod when it is told again.
    manager.lists(HTTP, MAIL)
    manager.lists(FILE, WEB, poison("bad"), SHOP)
    assert subscriber.heard() == ["http are mail", "file are web shop"]
    assert manager.crash_count() == 1
    judged = manager.file.judged()
    assert judged is not None
    assert judged.rejected == {"poison-bad": SENTENCE}


def test_many_poisonous_pods_are_one_crash(manager: PodManagerStage) -> None:
    # Ten crashes would be more than the root supervisor tolerates.
    subscriber = manager.subscriber()
    lists_until_it_lives(manager, *(poison(f"bad-{number}") for number in range(10)), WEB)
    assert subscriber.heard() == ["file are web"]
    assert manager.crash_count() == 1


def test_poison_that_is_edited_again_and_again_is_one_crash(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    lists_until_it_lives(manager, WEB, poison("bad", image="v1"))
    manager.lists(FILE, WEB, poison("bad", image="v2"))
    manager.lists(FILE, WEB, poison("bad", image="v3"), SHOP)
    assert manager.crash_count() == 1
    assert subscriber.heard() == ["file are web", "file: ADD shop"]


@pytest.mark.parametrize("uid", ["uid-default-web", "another"], ids=["own UID", "digest"])
def test_the_last_good_version_stays(manager: PodManagerStage, uid: str) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB, SHOP)
    subscriber.drain()

    lists_until_it_lives(manager, poison("web", uid=uid), SHOP)
    assert subscriber.heard() == ["file are web shop"]
    known = manager.find(uid=WEB.uid).pod
    assert known is not None
    assert known.document["spec"] == WEB.document["spec"]


def test_a_mended_pod_is_served_at_once(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    lists_until_it_lives(manager, WEB, poison("shop", uid=SHOP.uid))
    subscriber.drain()

    manager.lists(FILE, WEB, SHOP)
    assert subscriber.heard() == ["file: ADD shop"]
    judged = manager.file.judged()
    assert judged is not None
    assert judged.rejected == {}


def test_what_is_kept_out_can_go_away(manager: PodManagerStage) -> None:
    subscriber = manager.subscriber()
    manager.lists(FILE, WEB, SHOP)
    lists_until_it_lives(manager, WEB, poison("shop", uid=SHOP.uid))
    subscriber.drain()

    # Its last good version goes with it: the source does not list it any more.
    manager.lists(FILE, WEB)
    assert subscriber.heard() == ["file: REMOVE shop"]


def test_the_record_outlives_the_actor() -> None:
    memory = PodMemory()
    with pod_manager_stage(memory=memory) as manager:
        lists_until_it_lives(manager, WEB, poison("bad"))
        manager.crashes()
        subscriber = manager.subscriber()
        assert subscriber.heard() == ["file are web"]
        manager.lists(FILE, WEB, poison("bad"))
        assert subscriber.heard() == ["file are web"]
        assert manager.crash_count() == 2  # the poison's, and the one made by the test


def test_the_source_at_fault_is_named_in_the_log(logs: list[MutableMapping[str, Any]]) -> None:
    with pod_manager_stage() as manager:
        lists_until_it_lives(manager, poison("bad"))
    told = [event for event in logs if event["event"] == "a listing crashed the pod manager"]
    assert [(event["log_level"], event["source"]) for event in told] == [("warning", FILE)]
