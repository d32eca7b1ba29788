"""What pods read of Secrets at a real API server: right after they were bound, and under each strategy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from messages.objects import ReadVerdict
from messages.pods import JsonObject
from stores.objects.node_ttl import NODE_TTL
from tests.support.agent.joined_agent import NODE_NAME, Onlooker
from tests.support.agent.joined_objects import (
    edit,
    is_seen_in,
    make_anew,
    remove,
    secret,
    served,
    using,
    value,
    wipe_objects,
)
from tests.support.agent.joined_values import Insider, insider
from tests.support.agent.process import eventually
from tests.support.cluster.cluster import Cluster
from tests.support.objects.reader import Answer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

PODS = 30


@pytest.fixture(autouse=True)
def tidy(onlooker: Onlooker, logs: list[MutableMapping[str, Any]]) -> Iterator[None]:
    """Have nothing left in the cluster, and no value in the log, when a test has ended."""
    yield
    wipe_objects(onlooker)
    onlooker.wipe()
    assert [event for event in logs if is_seen_in(str(event))] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def strategy(name: str) -> dict[str, str]:
    """Return the field of the configuration that chooses how a node learns of changes."""
    return {"configMapAndSecretChangeDetectionStrategy": name}


def phase(onlooker: Onlooker, name: str) -> str:
    shown = onlooker.pod(name) or {}
    return str((shown.get("status") or {}).get("phase"))


def is_cached(onlooker: Onlooker, reader: Insider, pod: JsonObject) -> bool:
    """Whether a read asks the API server for nothing."""
    asked = served(onlooker, "GET")
    assert reader.read(pod, "db").verdict is ReadVerdict.FOUND
    return served(onlooker, "GET") == asked


def bind(onlooker: Onlooker, name: str) -> None:
    """Bind a pod to the node, as a scheduler does."""
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    onlooker.create(f"/api/v1/namespaces/default/pods/{name}/binding", binding)


class FirstReads:
    """What pods read first, each as soon as it is bound."""

    def __init__(self, onlooker: Onlooker, reader: Insider) -> None:
        self._onlooker = onlooker
        self._reader = reader
        self.answers: list[Answer] = []
        self.took: list[float] = []
        """Seconds, from the moment at which the API server has said that the pod is bound."""

    def bind(self, number: int) -> None:
        """Make a Secret and bind a pod that uses it, and read at once."""
        self._onlooker.admin.add(secret(f"s{number}"))
        pod = self._onlooker.admin.add(using(f"p{number}", secrets=[f"s{number}"]))
        began = time.monotonic()
        self.answers.append(self._reader.read(pod, f"s{number}"))
        self.took.append(time.monotonic() - began)

    def bind_all(self) -> None:
        for number in range(PODS):
            self.bind(number)


def test_a_pod_that_was_bound_a_moment_ago_reads_its_secret(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> None:
    with insider(folder, cluster.kubeconfig()) as reader:
        first = FirstReads(onlooker, reader)
        first.bind_all()
        # The Node authorizer hears of a pod when the node does, now before it and now after it.
        early = reader.forbidden()
    median, worst = statistics.median(first.took), max(first.took)
    print(f"first reads: median {median:.3f} s, worst {worst:.3f} s; {early} came too early")  # noqa: T201  # for people
    # Of one that came too early the list may answer while its watch is still refused: stale for a moment.
    assert {each.verdict for each in first.answers} <= {ReadVerdict.FOUND, ReadVerdict.STALE}
    assert [each.verdict for each in first.answers].count(ReadVerdict.STALE) <= early
    passwords = [each.value.data["password"].decode() for each in first.answers if each.value]
    assert passwords == [value(f"s{number}") for number in range(PODS)]
    assert not is_seen_in(repr(first.answers))


def test_a_read_waits_for_the_permission_that_comes_with_the_binding(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> None:
    onlooker.admin.add(secret("db"))
    pod = onlooker.admin.add(using("web", secrets=["db"], node=""))
    with insider(folder, cluster.kubeconfig()) as reader:
        eventually(reader.is_connected)  # after five seconds of refusals a read has failed
        # The agent is so early here that the Node authorizer cannot know of the pod.
        reader.begin_to_read(pod, "db")
        eventually(lambda: reader.forbidden() >= 2)
        assert reader.answers() == []

        bind(onlooker, "web")
        began = time.monotonic()
        (answer,) = eventually(reader.answers)
        print(f"read {time.monotonic() - began:.3f} s after the binding")  # noqa: T201  # for people
        assert answer.value is not None
        assert answer.value.data == {"password": value("db").encode()}
        # The list may have answered while the watch is still refused: then the value is stale for a moment.
        assert answer.verdict in {ReadVerdict.FOUND, ReadVerdict.STALE}
        eventually(lambda: reader.read(pod, "db").verdict is ReadVerdict.FOUND)


def test_a_pod_reads_what_is_there_when_it_comes_also_of_what_never_changes(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> None:
    frozen = secret("frozen", immutable=True)
    with insider(folder, cluster.kubeconfig()) as reader:
        onlooker.admin.add(frozen)
        first = onlooker.admin.add(using("first", secrets=["frozen"]))
        assert reader.password(first, "frozen") == value("frozen")

        # Nobody watches it, so that its first pod goes on with what it has, until another one comes.
        made = make_anew(onlooker, {**frozen, "stringData": {"password": value("second")}})
        assert reader.password(first, "frozen") == value("frozen")
        second = onlooker.admin.add(using("second", secrets=["frozen"]))
        answer = reader.read(second, "frozen")
        assert (answer.verdict, answer.age) == (ReadVerdict.FOUND, None)
        assert answer.value is not None
        assert answer.value.uid == made["metadata"]["uid"]
        assert {reader.password(pod, "frozen") for pod in (first, second)} == {value("second")}


def test_a_node_that_caches_serves_what_it_has_for_as_long_as_the_node_says(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> None:
    onlooker.admin.add(secret("db"))
    with insider(folder, cluster.kubeconfig(), **strategy("Cache")) as reader:
        pod = onlooker.admin.add(using("web", secrets=["db"]))
        assert reader.password(pod, "db") == value("db")
        edit(onlooker, "db", "second")
        asked = served(onlooker, "GET")
        assert reader.password(pod, "db") == value("db")
        assert served(onlooker, "GET") == asked

        eventually(onlooker.node)
        onlooker.admin.change("nodes", NODE_NAME, metadata={"annotations": {NODE_TTL: "0"}})
        eventually(lambda: reader.password(pod, "db") == value("second"))
        edit(onlooker, "db", "third")
        # Refreshed from the API server's cache, which may lag a moment behind.
        eventually(lambda: reader.password(pod, "db") == value("third"))

        onlooker.admin.change("nodes", NODE_NAME, metadata={"annotations": {NODE_TTL: "3600"}})
        eventually(lambda: is_cached(onlooker, reader, pod))


def test_a_node_that_gets_asks_for_every_read(
    folder: Path, cluster: Cluster, onlooker: Onlooker
) -> None:
    onlooker.admin.add(secret("db"))
    with insider(folder, cluster.kubeconfig(), **strategy("Get")) as reader:
        pod = onlooker.admin.add(using("web", secrets=["db"]))
        eventually(lambda: phase(onlooker, "web") == "Running")  # it has read what it begins with
        assert reader.password(pod, "db") == value("db")
        asked = served(onlooker, "GET")
        edit(onlooker, "db", "second")
        assert reader.password(pod, "db") == value("second")
        assert served(onlooker, "GET") == asked + 1

        remove(onlooker, "db")
        answer = reader.read(pod, "db")
        assert (answer.verdict, answer.age) == (ReadVerdict.NOT_FOUND, None)
