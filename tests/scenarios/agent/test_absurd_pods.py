"""Pods that ask for absurd or impossible things: it is said where people look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from actors.pods.status_keeper import STATUS_KEEPER
from messages.api import Verb
from messages.pods import JsonObject
from tests.support.builders import make_pod
from tests.support.crash_matrix import StoryRun
from tests.support.questions import describe_statuses
from tests.support.worlds.running import NODE, RunningWorld

TEN_YEARS = 10 * 365 * 86_400


class Node(RunningWorld):
    """A whole agent, and an ordinary pod beside the one that a story is about."""

    def binds(self, name: str, **fields: Any) -> None:
        """Have a pod be bound to the node."""
        spec = {"nodeName": NODE, **fields.pop("spec", {})}
        self.store.add(make_pod(name, source="", spec=spec, **fields).document)
        self.play.advance(2.0)

    def begins(self) -> None:
        """Start the agent, with a pod that shall suffer from nothing."""
        self.play.start()
        self.play.advance(2.0)
        self.binds("neighbour")

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
def node(tmp_path: Path) -> Iterator[Node]:
    world = Node(StoryRun(tmp_path / "node", seed=0))
    world.begins()
    yield world
    assert world.status("neighbour")["phase"] == "Running"
    assert list(world.watch.kills.values()).count("default/neighbour/main 0") == 0
    assert not (*world.watch.violations, *world.statuses.violations, *world.other_errors)
    assert world.play.stop() == 0


STUBBORN = {"hollow.actorlet/ignores-sigterm": "true"}


def test_a_grace_of_ten_years_is_waited_for_until_somebody_shortens_it(node: Node) -> None:
    node.binds("web", annotations=STUBBORN, spec={"terminationGracePeriodSeconds": TEN_YEARS})
    node.store.remove("pods", "default", "web", grace=None)
    node.play.advance(3600.0)
    assert node.status("web")["phase"] == "Running"
    node.store.remove("pods", "default", "web", grace=1)
    node.play.advance(5.0)
    assert node.names() == ["neighbour"]


def test_an_activity_of_more_years_than_a_clock_has_ends_nothing(node: Node) -> None:
    node.binds("web", spec={"activeDeadlineSeconds": 2**31 - 1})
    node.play.advance(3600.0)
    assert node.status("web")["phase"] == "Running"


def test_a_pod_of_ten_thousand_containers_is_refused_at_once(node: Node) -> None:
    containers = [{"name": f"c{number}", "image": "web:1"} for number in range(10_000)]
    node.binds("crowd", spec={"containers": containers})
    status = node.status("crowd")
    assert (status["phase"], status["reason"]) == ("Failed", "TooManyContainers")
    assert "10000 containers" in status["message"]
    assert "TooManyContainers" in node.events("crowd")
    node.store.remove("pods", "default", "crowd", grace=None)
    node.play.advance(2.0)
    assert node.names() == ["neighbour"]


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**63, 10**30])
def test_restarts_beyond_32_bits_are_shown_as_the_most_that_fits(node: Node, count: int) -> None:
    ended = {"exitCode": 1, "reason": "Error", "containerID": "hollow://lost"}
    container = {
        "name": "main",
        "restartCount": count,
        "image": "web:1",
        "imageID": "",
        "ready": False,
        "state": {"terminated": ended},
        "lastState": {},
    }
    node.binds("web", status={"phase": "Running", "containerStatuses": [container]})
    (shown,) = node.containers("web")
    assert shown["restartCount"] == 2**31 - 1
    assert "running" in shown["state"]


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
    node: Node, annotation: str, value: str
) -> None:
    node.binds("web", annotations={f"hollow.actorlet/{annotation}": value})
    (container,) = node.containers("web")
    assert container["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    assert f"hollow.actorlet/{annotation}" in container["state"]["waiting"]["message"]
    assert "Failed" in node.events("web")


def test_a_status_that_is_refused_for_ever_is_said_in_log_event_and_description(node: Node) -> None:
    node.store.refuse(
        lambda request: request.verb is Verb.PATCH and request.path.endswith("/web/status")
    )
    with capture_logs() as logs:
        node.binds("web")
        node.play.advance(600.0)
    said = [log for log in logs if log["event"] == "the status of a pod is not written"]
    assert [log["pod"] for log in said] == ["default/web"]
    assert "FailedStatusUpdate" in node.events("web")
    described = node.play.ask(STATUS_KEEPER, describe_statuses)
    assert len(described.troubles or {}) == 1
    assert node.watch.starts["default/web/main 0"] == 1
    assert described.waiting == 1

    node.store.remove("pods", "default", "web", grace=1)
    node.play.advance(10.0)
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
    node: Node, spec: JsonObject, reason: str
) -> None:
    node.binds("web", spec=spec)
    assert node.status("web")["phase"] == "Failed"
    assert node.status("web")["reason"] == reason
    assert reason in node.events("web")
    assert node.watch.starts["default/web/main 0"] == 0
