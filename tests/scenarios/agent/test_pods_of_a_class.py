"""Pods that a class of somebody's own runs, and what the next agent makes of those that have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from typing_extensions import override

from actorlet import ContainerReport, PodReport
from agent.edges import Bounds
from tests.environment.machine import Instance, Witness
from tests.environment.node import Node, NodeBounds, Sources
from tests.environment.origins import FromCluster
from tests.environment.runtimes.provider import ClassFault, Provided
from tests.support.builders import make_pod


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (None, "ContainerStatusUnknown"),
        (PodReport("Failed", reason="Evicted", message="the machine was needed"), "Evicted"),
        (
            PodReport(
                "Failed",
                containers={"main": ContainerReport(state="running")},
                reason="Evicted",
                message="it was full",
            ),
            "Evicted",
        ),
    ],
)
def test_a_pod_that_failed_for_a_reason_is_shown_so_by_the_next_agent_and_not_run_again(
    tmp_path: Path, report: PodReport | None, reason: str
) -> None:
    node = Node(1, tmp_path, lambda outside: Provided(outside, is_able=False))
    runtime = node.runtime
    assert isinstance(runtime, Provided)
    pod = make_pod("once", uid="once-1", source="http", spec={"restartPolicy": "Never"})
    node.lists([pod])
    node.advance(5.0)
    assert [one.uid for one in runtime.live()] == ["once-1"]
    runtime.vanish(runtime.jobs["once-1"])
    if report is not None:
        runtime.strangers["once-1"] = report
    node.advance(15.0)
    before = node.statuses()["once-1"]
    assert (before["phase"], before["reason"]) == ("Failed", reason)
    node.is_killed()
    node.advance(60.0)
    after = node.statuses()["once-1"]
    shown = ("phase", "reason", "message")
    assert [after[each] for each in shown] == [before[each] for each in shown]
    assert list(runtime.live()) == []
    assert node.stop() == 0


def test_of_pods_that_are_removed_before_the_class_can_say_what_runs_none_is_begun(
    tmp_path: Path,
) -> None:
    few = NodeBounds(Bounds(pods=1))
    node = Node(1, tmp_path, lambda outside: Provided(outside, is_able=False), bounds=few)
    runtime = node.runtime
    assert isinstance(runtime, Provided)
    begun: list[str] = []
    node.is_seen_by(Begun(begun))
    runtime.faults += [ClassFault(method="observe", answer=lambda _: None)] * 3
    node.is_killed()
    pods = [make_pod(name, uid=f"{name}-1", source="http") for name in ("goes", "stays")]
    node.lists(pods)
    node.lists(pods[1:])
    node.advance(60.0)
    assert begun == ["stays-1"]
    assert node.stop() == 0


class Begun(Witness):
    """Notes of which pods containers start."""

    def __init__(self, uids: list[str]) -> None:
        self._uids = uids

    @override
    def starts(self, one: Instance) -> None:
        self._uids.append(one.uid)


class TellsNoTimes(Provided):
    """A class that does not say since when anything runs."""

    @override
    def observe(self) -> Mapping[str, PodReport | str]:
        return {
            uid: replace(job.report(), containers={"main": ContainerReport(restarts=job.restarts)})
            for uid, job in self.jobs.items()
        }


def shown(node: Node) -> tuple[int, datetime]:
    """Return how often the container of the one pod was restarted, and since when it runs."""
    if node.cluster is None:
        status = node.statuses()["web-1"]
    else:
        status = dict(node.cluster.store.get("pods", "default", "web")["status"])
    (container,) = status["containerStatuses"]
    since = datetime.fromisoformat(container["state"]["running"]["startedAt"])
    return container["restartCount"], since


@pytest.mark.parametrize("seconds", [0.0, 100.0])
@pytest.mark.parametrize("is_static", [True, False], ids=["static", "of the API server"])
def test_since_when_a_container_runs_is_the_same_after_each_kill_of_the_agent_until_it_is_restarted(
    tmp_path: Path,
    seconds: float,
    is_static: bool,  # noqa: FBT001
) -> None:
    sources = Sources(url=is_static, cluster=not is_static)
    node = Node(1, tmp_path, lambda outside: TellsNoTimes(outside, is_able=False), sources)
    runtime = node.runtime
    assert isinstance(runtime, Provided)
    web = make_pod("web", uid="web-1", source="http")
    if node.cluster is None:
        node.lists([web])
    else:
        FromCluster(node.cluster).bring(web)

    node.advance(30.0)
    before = shown(node)
    for _ in range(3):
        node.is_dead_for(seconds)
        node.advance(30.0)
        assert shown(node) == before

    (job,) = runtime.jobs.values()
    runtime.restart(job)
    node.advance(30.0)
    again = shown(node)
    assert again[0] == 1
    assert (again[1] - before[1]).total_seconds() >= 3 * seconds + 90
    node.is_dead_for(seconds)
    node.advance(30.0)
    assert shown(node) == again
    assert node.stop() == 0
