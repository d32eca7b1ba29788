"""Pods are told of the cluster's Services when they start, and whenever these change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernel import Runtime
from messages.pods import API, FILE
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage
from tests.support.services.plain_watches import PlainWatches
from tests.support.services.service_stage import FORBIDDEN, service

MASTER = service("kubernetes", "10.0.0.1", "default")
WEB = api_pod("web", namespace="shop")
STATIC = make_pod("static", namespace="shop")


@pytest.fixture
def watches() -> PlainWatches:
    watches = PlainWatches()
    watches.put(MASTER)
    return watches


@pytest.fixture
def lives(runtime: Runtime, watches: PlainWatches) -> Iterator[LivesStage]:
    with lives_stage(runtime, LivesWorld(watches=watches)) as lives:
        yield lives


def told(lives: LivesStage) -> list[list[str]]:
    """Return the Services of each command since the last call."""
    runs, lives.machine.runs = lives.machine.runs, []
    return [[each.name for each in run.services] for run in runs]


def test_a_pod_starts_with_the_services_of_its_namespace(
    lives: LivesStage, watches: PlainWatches
) -> None:
    watches.put(service("cart"))
    watches.put(service("other", namespace="other"))
    lives.lists(API, WEB)
    assert told(lives) == [["cart", "kubernetes"]]
    assert lives.ran() == ["start web/main#0"]


def test_nobody_watches_services_before_there_is_a_pod(
    lives: LivesStage, watches: PlainWatches
) -> None:
    assert not watches.subscribers
    lives.lists(FILE, STATIC)
    assert len(watches.subscribers) == 1


def test_a_runtime_that_has_no_use_for_services_is_told_none() -> None:
    with lives_stage() as lives:
        lives.lists(API, WEB)
        assert told(lives) == [[]]


def test_a_pod_is_told_anew_when_services_change_and_nothing_of_it_restarts(
    lives: LivesStage, watches: PlainWatches
) -> None:
    lives.lists(API, WEB)
    watches.put(service("cart"))
    lives.play.settle()
    watches.put(service("other", namespace="other"))
    lives.play.settle()
    assert told(lives) == [["kubernetes"], ["cart", "kubernetes"]]
    assert lives.ran() == ["start web/main#0"]


def test_a_pod_without_service_links_hears_of_the_api_server_alone(
    lives: LivesStage, watches: PlainWatches
) -> None:
    lives.lists(API, api_pod("web", namespace="shop", spec={"enableServiceLinks": False}))
    watches.put(service("cart"))
    lives.play.settle()
    watches.put(service("kubernetes", "10.0.0.2", "default"))
    lives.play.settle()
    assert told(lives) == [["kubernetes"], ["kubernetes"]]
    lives.lists(API)
    lives.play.advance(601.0)
    assert not watches.subscribers


def test_a_pod_of_the_cluster_waits_a_moment_for_services(
    lives: LivesStage, watches: PlainWatches
) -> None:
    watches.is_silent = True
    lives.lists(API, WEB)
    lives.play.advance(2.9)
    assert lives.ran() == []
    watches.answer()
    lives.play.settle()
    assert lives.ran() == ["start web/main#0"]
    assert told(lives) == [["kubernetes"]]


def test_a_pod_starts_without_services_that_nobody_tells_and_hears_of_them_later(
    lives: LivesStage, watches: PlainWatches
) -> None:
    watches.is_silent = True
    lives.lists(API, WEB)
    lives.play.advance(3.0)
    assert lives.ran() == ["start web/main#0"]
    watches.answer()
    lives.play.settle()
    assert told(lives) == [[], ["kubernetes"]]
    lives.play.advance(100.0)
    assert told(lives) == []


def test_a_pod_waits_for_no_services_that_this_node_may_not_read(
    lives: LivesStage, watches: PlainWatches
) -> None:
    watches.failure = FORBIDDEN
    lives.lists(API, WEB)
    assert lives.ran() == ["start web/main#0"]
    assert told(lives) == [[]]


def test_a_static_pod_does_not_wait(lives: LivesStage, watches: PlainWatches) -> None:
    watches.is_silent = True
    lives.lists(FILE, STATIC)
    assert lives.ran() == ["start static/main#0"]
    watches.answer()
    lives.play.settle()
    assert told(lives) == [[], ["kubernetes"]]


def test_the_last_pod_ends_the_watch(lives: LivesStage, watches: PlainWatches) -> None:
    lives.lists(API, WEB)
    lives.lists(API)
    lives.play.advance(601.0)
    assert not watches.subscribers


def test_a_worker_that_crashed_is_told_again(lives: LivesStage, watches: PlainWatches) -> None:
    lives.lists(API, WEB)
    lives.worker_crashes(WEB)
    watches.put(service("cart"))
    lives.play.settle()
    assert told(lives)[-1] == ["cart", "kubernetes"]
    assert lives.ran() == ["start web/main#0"]


def test_a_keeper_of_services_that_crashed_goes_on(
    lives: LivesStage, watches: PlainWatches
) -> None:
    lives.lists(API, WEB)
    lives.crashes("services")
    watches.put(service("cart"))
    lives.play.settle()
    assert told(lives) == [["kubernetes"], ["cart", "kubernetes"]]
