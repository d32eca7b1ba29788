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

from kernel import ChildSpec, Key, OnExhausted, Port, SupervisorSpec
from manifests.pod_manifest import ManifestRules
from messages.node import FollowNode, NodeIs, NodeUid
from messages.pods import API, FILE, HTTP, SourceName
from messages.sources import (
    DescribeSource,
    ListPods,
    PodsJudged,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
    Verdict,
)
from messages.units import Seconds
from sources.apiserver.source import (
    API_SOURCE,
    ApiMemory,
    ApiSource,
    ApiSourceMessage,
    ApiSourcePorts,
)
from sources.file.source import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from sources.http.source import HTTP_SOURCE
from tests.support.apiserver.fake_api import FakeApi
from tests.support.builders import make_pod
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage
from tests.support.sources.file_source_stage import pod_text
from tests.support.sources.http_source_stage import http_source_stage, list_body, pod_item
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource

Provide: TypeAlias = Callable[[list[str]], None]
"""Makes there be exactly these pods, as the world outside of the source sees them."""


@dataclass
class Company:
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
        return self.play.ask(self.key, _describe)


def _describe(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)


@contextmanager
def file_company(path: Path) -> Iterator[Company]:
    told: Probe[SourceListed] = Probe()
    memory = FileMemory()
    rules = FileSourceRules(
        path=path,
        check_frequency=Seconds(3600.0),
        clear_on_missing=False,
        manifests=ManifestRules(node_name="node1", source=FILE),
    )

    def provide(names: list[str]) -> None:
        for file in path.iterdir():
            file.unlink()
        for name in names:
            (path / name).write_text(pod_text(name))
            os.utime(path / name, (EPOCH - 60, EPOCH - 60))

    child = ChildSpec(
        key=FILE_SOURCE,
        factory=lambda: FileSource(rules, told, memory, FakeDirectoryWatches()),
        on_exhausted=OnExhausted.ISOLATE,
    )
    with stage(SupervisorSpec(name="root", children=(child,))) as play:
        key = Key[SourceMessage](FILE_SOURCE.path)
        yield Company(play, FILE, key, told, provide)


@contextmanager
def http_company(_path: Path) -> Iterator[Company]:
    with http_source_stage() as source:

        def provide(names: list[str]) -> None:
            source.website.answer = list_body(*map(pod_item, names))

        yield Company(source.play, HTTP, Key(HTTP_SOURCE.path), source.told, provide)


@contextmanager
def api_company(_path: Path) -> Iterator[Company]:
    told: Probe[SourceListed] = Probe()
    memory = ApiMemory()
    api = FakeApi(as_node="node1")

    def provide(names: list[str]) -> None:
        present = {pod["metadata"]["name"] for pod in api.store.pods()}
        for name in present.difference(names):
            api.store.remove("pods", "default", name)
        for name in sorted({*names} - present):
            api.store.add(make_pod(name, source="", spec={"nodeName": "node1"}).document)

    def make() -> ApiSource:
        me: Port[ApiSourceMessage] = play.port(API_SOURCE)
        ports = ApiSourcePorts(pod_manager=told, watches=api.watches, node=KnownNode(), me=me)
        return ApiSource("node1", ports, memory)

    play = Stage(SupervisorSpec(name="root", children=(ChildSpec(key=API_SOURCE, factory=make),)))
    play.start()
    try:
        yield Company(play, API, Key(API_SOURCE.path), told, provide)
    finally:
        play.stop()


@contextmanager
def fake_company(_path: Path) -> Iterator[Company]:
    told: Probe[SourceListed] = Probe()
    memory = FakeMemory(wanted=())
    pods = {name: make_pod(name) for name in ("a", "b", "c")}

    def provide(names: list[str]) -> None:
        memory.wanted = tuple(pods[name] for name in names)

    child = ChildSpec(key=FAKE_SOURCE, factory=lambda: FakeSource(told, memory))
    with stage(SupervisorSpec(name="root", children=(child,))) as play:
        yield Company(play, HTTP, FAKE_SOURCE, told, provide)


@pytest.fixture(
    params=[file_company, http_company, api_company, fake_company],
    ids=["file", "http", "api", "fake"],
)
def company(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Company]:
    with request.param(tmp_path) as company:
        yield company


class KnownNode(Port[FollowNode]):
    """The Node's keeper: there is a Node."""

    @override
    def tell(self, message: FollowNode, /) -> None:
        node = NodeIs(name="node1", uid=NodeUid("node"), is_deleting=False, document={})
        message.subscriber.tell(node)


def names(listing: SourceListed) -> list[str]:
    return [pod.name.removesuffix("-node1") for pod in listing.pods]


def test_it_lists_when_it_starts_even_if_there_is_nothing(company: Company) -> None:
    first = company.told.next()
    assert (first.source, first.pods) == (company.name, ())
    company.told.expect_silence()


def test_listings_are_complete(company: Company) -> None:
    assert names(company.lists("a", "b")) == ["a", "b"]
    assert names(company.lists("b", "c")) == ["b", "c"]
    assert names(company.lists()) == []


def test_nothing_is_told_when_nothing_changed(company: Company) -> None:
    company.lists("a")
    company.tell(Rescan())
    company.told.expect_silence()


def test_asked_it_tells_the_identical_pods_again_with_a_higher_epoch(company: Company) -> None:
    before = company.lists("a", "b")
    company.tell(ListPods())
    after = company.last()
    assert before.epoch < after.epoch
    assert [*map(id, before.pods)] == [*map(id, after.pods)]


def test_an_unchanged_pod_is_the_identical_object_in_the_next_listing(company: Company) -> None:
    (before,) = company.lists("a").pods
    assert company.lists("a", "b").pods[0] is before


def test_a_new_life_lists_by_itself_with_a_higher_epoch(company: Company) -> None:
    before = company.lists("a")
    company.crashes()
    after = company.last()
    assert before.epoch < after.epoch
    assert [*map(id, before.pods)] == [*map(id, after.pods)]


def test_a_new_life_sees_what_changed_while_it_was_down(company: Company) -> None:
    company.lists("a", "b")
    company.play.system.crash(company.key.path)
    company.play.settle()
    company.provide(["b"])
    company.play.advance(1.0)
    assert names(company.last()) == ["b"]


def test_it_says_how_it_is(company: Company) -> None:
    listing = company.lists("a")
    described = company.described()
    assert (described.name, described.ready, described.error) == (company.name, True, "")
    assert described.epoch == listing.epoch
    assert described.last_listed is not None
    assert [verdict.verdict for verdict in described.manifests] == [Verdict.ACCEPTED]
    assert [verdict.uid for verdict in described.manifests] == [listing.pods[0].uid]


def test_it_shows_what_pod_manager_says_of_its_pods_also_after_a_crash(company: Company) -> None:
    (pod,) = company.lists("a").pods
    shadowed = {pod.uid: "somebody was there first"}
    company.tell(PodsJudged(source=company.name, shadowed=shadowed, rejected={}))
    company.crashes()
    (verdict,) = company.described().manifests
    assert (verdict.verdict, verdict.reason) == (Verdict.SHADOWED, "somebody was there first")
