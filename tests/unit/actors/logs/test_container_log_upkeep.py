"""Which logs on disk nobody needs any more."""

from __future__ import annotations

import pytest

from actors.logs.upkeep import WantedPods, orphans
from messages.changes import Op, PodChange
from messages.pod_lives import PodLife
from messages.pod_manager import PodsAre, PodsChanged
from messages.pods import API, FILE, HTTP, PodUid, SourceName
from tests.support.builders import make_pod

NAMES = ["shop_web_1", "shop_web_2", "shop_other_3", "shop_web_4", "lost+found"]
"""The oldest first."""


def wanted(source: SourceName, uid: str = "4") -> WantedPods:
    """Return that a source wants the pod web, and that all have listed."""
    found = WantedPods(frozenset({API, FILE, HTTP}))
    for each in (API, FILE, HTTP):
        pods = (make_pod("web", namespace="shop", uid=uid),) if each == source else ()
        found.take(PodsAre(source=each, pods=pods))
    return found


@pytest.mark.parametrize("source", [FILE, HTTP])
def test_of_the_pods_that_a_static_one_has_replaced_the_last_keeps_its_logs(
    source: SourceName,
) -> None:
    assert orphans(NAMES, (), wanted(source), {}) == ["shop_web_1", "shop_other_3"]


def test_logs_of_the_api_server_s_pods_go_with_them() -> None:
    gone = ["shop_web_1", "shop_web_2", "shop_other_3"]
    assert orphans(NAMES, (), wanted(API), {}) == gone


def test_a_pod_that_still_ends_is_not_the_one_that_was_replaced_before() -> None:
    lives = {PodUid("2"): PodLife.TERMINATING}
    assert orphans(NAMES, (), wanted(FILE), lives) == ["shop_other_3"]


def test_when_the_manifest_goes_all_its_logs_go() -> None:
    pods = wanted(FILE)
    web = make_pod("web", namespace="shop", uid="4")
    pods.take(PodsChanged(source=FILE, changes=(PodChange(op=Op.REMOVE, pod=web),)))
    assert orphans(NAMES, (), pods, {}) == NAMES[:-1]
    pods.take(PodsChanged(source=FILE, changes=(PodChange(op=Op.ADD, pod=web),)))
    assert orphans(NAMES, (), pods, {}) == ["shop_web_1", "shop_other_3"]


def test_nothing_goes_before_each_source_has_listed() -> None:
    pods = WantedPods(frozenset({API, FILE}))
    pods.take(PodsAre(source=FILE, pods=()))
    assert orphans(NAMES, (), pods, {}) == []
