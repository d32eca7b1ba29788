"""Pods that ask for absurd or impossible things: it is said where people look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from actors.pods.status_keeper import STATUS_KEEPER
from messages.api import Verb
from messages.pods import JsonObject
from tests.environment.cluster import NODE
from tests.environment.machine import Instance, Witness
from tests.environment.node import Node, Sources
from tests.environment.outside import Outside
from tests.environment.runtimes.hollow import Hollow
from tests.support.builders import make_pod
from tests.support.questions import describe_statuses

TEN_YEARS = 10 * 365 * 86_400


def hollow(outside: Outside) -> Hollow:
    return Hollow(outside, keeps_records=False)


class Starts(Witness):
    """Counts the containers that start and that are stopped, by UID."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.stopped: Counter[str] = Counter()

    @override
    def starts(self, one: Instance) -> None:
        self.started[one.uid] += 1

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        self.stopped[one.uid] += 1


class Joined:
    """A node of a cluster, and an ordinary pod beside the one that a story is about."""

    def __init__(self, folder: Path) -> None:
        self.node = Node(0, folder, hollow, Sources(url=False, cluster=True))
        assert self.node.cluster is not None
        self.store = self.node.cluster.store
        self.starts = Starts()
        self.node.is_seen_by(self.starts)
        self.node.advance(2.0)
        self.binds("neighbour")

    def binds(self, name: str, **fields: Any) -> None:
        """Have a pod be bound to the node."""
        spec = {"nodeName": NODE, **fields.pop("spec", {})}
        self.store.add(make_pod(name, source="", spec=spec, **fields).document)
        self.advance(5.0)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.node.advance(seconds)

    def times(self, count: Counter[str], name: str) -> int:
        """Return how often containers of a pod were started, or stopped."""
        return count[self.store.get("pods", "default", name)["metadata"]["uid"]]

    def names(self) -> list[str]:
        """Return the names of all pods at the API server."""
        return sorted(pod["metadata"]["name"] for pod in self.store.pods())

    def status(self, name: str) -> JsonObject:
        """Return the status that the API server has."""
        status: JsonObject = self.store.get("pods", "default", name).get("status") or {}
        return status

    def containers(self, name: str) -> list[JsonObject]:
        """Return the statuses of the containers of a pod."""
        return list(self.status(name)["containerStatuses"])

    def events(self, name: str) -> set[str]:
        """Return the reasons of the events about a pod."""
        return {
            event["reason"]
            for event in self.store.events()
            if event["involvedObject"]["name"] == name
        }


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Joined]:
    joined = Joined(tmp_path)
    yield joined
    assert joined.status("neighbour")["phase"] == "Running"
    assert joined.times(joined.starts.started, "neighbour") == 1
    assert joined.times(joined.starts.stopped, "neighbour") == 0
    assert not any(each.error for each in joined.node.endings)
    assert joined.node.stop() == 0


STUBBORN = {"hollow.actorlet/ignores-sigterm": "true"}


def test_a_grace_of_ten_years_is_waited_for_until_somebody_shortens_it(node: Joined) -> None:
    node.binds("web", annotations=STUBBORN, spec={"terminationGracePeriodSeconds": TEN_YEARS})
    node.store.remove("pods", "default", "web", grace=None)
    node.advance(3600.0)
    assert node.status("web")["phase"] == "Running"
    node.store.remove("pods", "default", "web", grace=1)
    node.advance(5.0)
    assert node.names() == ["neighbour"]


def test_an_activity_of_more_years_than_a_clock_has_ends_nothing(node: Joined) -> None:
    node.binds("web", spec={"activeDeadlineSeconds": 2**31 - 1})
    node.advance(3600.0)
    assert node.status("web")["phase"] == "Running"


def test_a_pod_of_ten_thousand_containers_is_refused_at_once(node: Joined) -> None:
    containers = [{"name": f"c{number}", "image": "web:1"} for number in range(10_000)]
    node.binds("crowd", spec={"containers": containers})
    status = node.status("crowd")
    assert (status["phase"], status["reason"]) == ("Failed", "TooManyContainers")
    assert "10000 containers" in status["message"]
    assert "TooManyContainers" in node.events("crowd")
    node.store.remove("pods", "default", "crowd", grace=None)
    node.advance(2.0)
    assert node.names() == ["neighbour"]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("run-for", "soon"),
        ("exits", "1,2,three"),
        ("ready-after.main", "-1s"),
        ("no-such-thing", "1"),
        ("run-for.nobody", "1s"),
        ("time-to-pull", "20000000h"),
    ],
)
def test_an_annotation_that_cannot_be_read_is_named(
    node: Joined, annotation: str, value: str
) -> None:
    node.binds("web", annotations={f"hollow.actorlet/{annotation}": value})
    (container,) = node.containers("web")
    assert container["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    assert f"hollow.actorlet/{annotation}" in container["state"]["waiting"]["message"]
    assert "Failed" in node.events("web")


def test_a_status_that_is_refused_for_ever_is_said_in_log_event_and_description(
    node: Joined,
) -> None:
    node.store.refuse(
        lambda request: request.verb is Verb.PATCH and request.path.endswith("/web/status")
    )
    with capture_logs() as logs:
        node.binds("web")
        node.advance(600.0)
    said = [log for log in logs if log["event"] == "the status of a pod is not written"]
    assert [log["pod"] for log in said] == ["default/web"]
    assert "FailedStatusUpdate" in node.events("web")
    described = node.node.play.ask(STATUS_KEEPER, describe_statuses)
    assert len(described.troubles or {}) == 1
    assert node.times(node.starts.started, "web") == 1
    assert described.waiting == 1

    node.store.remove("pods", "default", "web", grace=1)
    node.advance(10.0)
    assert node.names() == ["neighbour"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"os": {"name": "windows"}}, "PodOSNotSupported"),
        ({"nodeSelector": {"disk": "gold"}}, "NodeAffinity"),
        (
            {
                "containers": [
                    {
                        "name": "main",
                        "image": "web:1",
                        "resources": {"requests": {"cpu": "1000000"}},
                    }
                ]
            },
            "OutOfcpu",
        ),
    ],
)
def test_what_a_pod_cannot_have_here_is_its_reason_and_an_event(
    node: Joined, spec: JsonObject, reason: str
) -> None:
    node.binds("web", spec=spec)
    assert node.status("web")["phase"] == "Failed"
    assert node.status("web")["reason"] == reason
    assert reason in node.events("web")
    assert node.times(node.starts.started, "web") == 0
