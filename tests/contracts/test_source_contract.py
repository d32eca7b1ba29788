"""What PodManager and the endpoints rely on in every source: one suite, on the real ones and the fake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from typing_extensions import override

from kernel import ChildSpec, Key, Port, SupervisorSpec
from messages.node import FollowNode
from messages.pods import API, FILE, HTTP, SourceName
from messages.sources import (
    ListPods,
    PodsJudged,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
    Verdict,
)
from sources.apiserver import API_SOURCE
from sources.file import FILE_SOURCE
from sources.http.source import HTTP_SOURCE
from tests.support.apiserver.fake_api import FakeApi
from tests.support.builders import make_pod
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage
from tests.support.sources.api_source_stage import NODE, api_source_stage
from tests.support.sources.file_source_stage import file_source_stage, pod_text
from tests.support.sources.http_source_stage import http_source_stage, list_body, pod_item
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource
from tests.support.sources.questions import described

Provide: TypeAlias = Callable[[list[str]], None]
"""Makes there be exactly these pods, as the world outside of the source sees them."""


@dataclass
class SourceUnderTest:
    """A source, the world it looks at, and the PodManager that it tells."""

    play: Stage
    name: SourceName
    key: Key[SourceMessage]
    told: Probe[SourceListed]
    provide: Provide

    def lists(self, *names: str) -> SourceListed:
        """Make there be these pods, have the source look, and return what it tells."""
        self.provide(list(names))
        self.tell(Rescan())
        return self.last()

    def tell(self, message: SourceMessage) -> None:
        self.play.tell(self.key, message)
        self.play.advance(0.3)

    def last(self) -> SourceListed:
        """Return the newest listing."""
        return self.told.drain()[-1]

    def crashes(self) -> None:
        self.play.system.crash(self.key.path)
        self.play.advance(1.0)

    def described(self) -> SourceDescribed:
        return described(self.play, self.key)


@contextmanager
def file_source(path: Path) -> Iterator[SourceUnderTest]:
    def provide(names: list[str]) -> None:
        for file in path.iterdir():
            file.unlink()
        for name in names:
            (path / name).write_text(pod_text(name))
            os.utime(path / name, (EPOCH - 60, EPOCH - 60))

    with file_source_stage(path) as source:
        key = Key[SourceMessage](FILE_SOURCE.path)
        yield SourceUnderTest(source.play, FILE, key, source.told, provide)


@contextmanager
def http_source(_path: Path) -> Iterator[SourceUnderTest]:
    with http_source_stage() as source:

        def provide(names: list[str]) -> None:
            source.website.answer = list_body(*map(pod_item, names))

        yield SourceUnderTest(source.play, HTTP, Key(HTTP_SOURCE.path), source.told, provide)


@contextmanager
def api_source(_path: Path) -> Iterator[SourceUnderTest]:
    api = FakeApi(as_node=NODE.name)

    def provide(names: list[str]) -> None:
        present = {pod["metadata"]["name"] for pod in api.store.pods()}
        for name in present.difference(names):
            api.store.remove("pods", "default", name)
        for name in sorted({*names} - present):
            api.store.add(make_pod(name, source="", spec={"nodeName": NODE.name}).document)

    with api_source_stage(watches=api.watches, node=KnownNode()) as source:
        key = Key[SourceMessage](API_SOURCE.path)
        yield SourceUnderTest(source.play, API, key, source.told, provide)


@contextmanager
def fake_source(_path: Path) -> Iterator[SourceUnderTest]:
    told: Probe[SourceListed] = Probe()
    memory = FakeMemory(wanted=())
    pods = {name: make_pod(name) for name in ("a", "b", "c")}

    def provide(names: list[str]) -> None:
        memory.wanted = tuple(pods[name] for name in names)

    child = ChildSpec(key=FAKE_SOURCE, factory=lambda: FakeSource(told, memory))
    with stage(SupervisorSpec(name="root", children=(child,))) as play:
        yield SourceUnderTest(play, HTTP, FAKE_SOURCE, told, provide)


@pytest.fixture(
    params=[file_source, http_source, api_source, fake_source],
    ids=["file", "http", "api", "fake"],
)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceUnderTest]:
    with request.param(tmp_path) as source:
        yield source


class KnownNode(Port[FollowNode]):
    """The Node's keeper: there is a Node."""

    @override
    def tell(self, message: FollowNode, /) -> None:
        message.subscriber.tell(NODE)


def names(listing: SourceListed) -> list[str]:
    return [pod.name.removesuffix("-node1") for pod in listing.pods]


def test_it_lists_when_it_starts_even_if_there_is_nothing(source: SourceUnderTest) -> None:
    first = source.told.next()
    assert (first.source, first.pods) == (source.name, ())
    source.told.expect_silence()


def test_listings_are_complete(source: SourceUnderTest) -> None:
    assert names(source.lists("a", "b")) == ["a", "b"]
    assert names(source.lists("b", "c")) == ["b", "c"]
    assert names(source.lists()) == []


def test_nothing_is_told_when_nothing_changed(source: SourceUnderTest) -> None:
    source.lists("a")
    source.tell(Rescan())
    source.told.expect_silence()


def test_asked_it_tells_the_identical_pods_again_with_a_higher_epoch(
    source: SourceUnderTest,
) -> None:
    before = source.lists("a", "b")
    source.tell(ListPods())
    after = source.last()
    assert before.epoch < after.epoch
    assert [*map(id, before.pods)] == [*map(id, after.pods)]


def test_an_unchanged_pod_is_the_identical_object_in_the_next_listing(
    source: SourceUnderTest,
) -> None:
    (before,) = source.lists("a").pods
    assert source.lists("a", "b").pods[0] is before


def test_a_new_life_lists_by_itself_with_a_higher_epoch(source: SourceUnderTest) -> None:
    before = source.lists("a")
    source.crashes()
    after = source.last()
    assert before.epoch < after.epoch
    assert [*map(id, before.pods)] == [*map(id, after.pods)]


def test_a_new_life_sees_what_changed_while_it_was_down(source: SourceUnderTest) -> None:
    source.lists("a", "b")
    source.play.system.crash(source.key.path)
    source.play.settle()
    source.provide(["b"])
    source.play.advance(1.0)
    assert names(source.last()) == ["b"]


def test_it_says_how_it_is(source: SourceUnderTest) -> None:
    listing = source.lists("a")
    described = source.described()
    assert (described.name, described.ready, described.error) == (source.name, True, "")
    assert described.epoch == listing.epoch
    assert described.last_listed is not None
    assert [verdict.verdict for verdict in described.manifests] == [Verdict.ACCEPTED]
    assert [verdict.uid for verdict in described.manifests] == [listing.pods[0].uid]


def test_it_shows_what_pod_manager_says_of_its_pods_also_after_a_crash(
    source: SourceUnderTest,
) -> None:
    (pod,) = source.lists("a").pods
    shadowed = {pod.uid: "somebody was there first"}
    source.tell(PodsJudged(source=source.name, shadowed=shadowed, rejected={}))
    source.crashes()
    (verdict,) = source.described().manifests
    assert (verdict.verdict, verdict.reason) == (Verdict.SHADOWED, "somebody was there first")
