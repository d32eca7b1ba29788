"""What the command, the live view and the page say of a pod is one thing."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Browser

from command.main import main
from command.pod_words import is_well, pod_name
from command.top.lists import PODS
from messages.events import (
    DescribeEventsOfPods,
    DescribePodEvents,
    EventsOfPods,
    PodEventsDescribed,
)
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.statuses import DescribeStatuses, StatusesDescribed
from tests.support.agent.served import NO_PODS, Served, StandIns, served_tree
from tests.support.browser import chromium
from tests.support.pods.generated import generated_pods

pytestmark = pytest.mark.browser
MANY = 200
NO_LIVES = PodLivesDescribed(
    lives={}, started=0, refused={}, restarted_static=0, restarted=0, preempted=0
)
Said = dict[str, tuple[str, str, bool]]
"""The state of each pod, how many of its containers are ready, and whether it is well."""


def by_the_command(agent: Served, capture: pytest.CaptureFixture[str]) -> Said:
    def shown(*words: str) -> list[list[str]]:
        assert main(["--server", f"127.0.0.1:{agent.port}", "pods", *words]) == 0
        return [line.split() for line in capture.readouterr().out.splitlines()]

    troubled = {line[0].removeprefix("pod/") for line in shown("--troubled", "-o", "name")}
    return {name: (state, ready, name not in troubled) for name, ready, state, *_ in shown()[1:]}


def by_the_live_view(agent: Served) -> Said:
    rows = agent.get(f"{PODS.path}?limit={MANY}").document[PODS.field]
    said = {pod_name(row): (PODS.cells(row, 0.0), is_well(row)) for row in rows}
    return {name: (cells[2], cells[1], well) for name, (cells, well) in said.items()}


def by_the_page(agent: Served, browser: Browser) -> Said:
    script = f"""async () => {{
        const {{ podRows }} = await import('/ui/pod-rows.js');
        const answer = await fetch('/ui/pods?limit={MANY}');
        return podRows(await answer.json());
    }}"""
    with chromium.opened(browser, f"http://127.0.0.1:{agent.port}/") as page:
        rows: list[dict[str, Any]] = page.evaluate(script)
    return {
        f"{row['namespace']}/{row['name']}": (row["state"], row["ready"], row["isWell"])
        for row in rows
    }


def by_one_pod_alone(agent: Served, uids: list[str]) -> Said:
    stories = [agent.get(f"/ui/pods/{uid}").document for uid in uids]
    return {
        pod_name(story["pod"]): (
            story["summary"]["state"],
            story["summary"]["ready"],
            story["summary"]["isWell"],
        )
        for story in stories
    }


def test_the_command_the_live_view_and_the_page_say_the_same_of_the_same_pod(
    browser: Browser, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    drawn = list(generated_pods(MANY, seed=1))
    statuses = {pod.uid: status for pod, status in drawn if status is not None}
    pods = dataclasses.replace(NO_PODS, pods=tuple(pod for pod, _ in drawn))
    running = {
        DescribeStatuses: StatusesDescribed(statuses=statuses),
        DescribePodLives: NO_LIVES,
        DescribeRuntime: RuntimeDescribed(name="hollow", pods=(), containers={}),
        DescribeEventsOfPods: EventsOfPods(events={}),
        DescribePodEvents: PodEventsDescribed(events=(), changes=()),
    }
    with served_tree(stand_ins=StandIns(pods=pods, running=running)) as agent:
        said = by_the_command(agent, capsys)
        assert by_the_live_view(agent) == said
        assert by_the_page(agent, browser) == said
        assert by_one_pod_alone(agent, [pod.uid for pod, _ in drawn]) == said
        counted = agent.get("/ui/agent").document["pods"]["troubled"]
    assert len(said) == MANY
    assert counted == sum(not well for *_, well in said.values())
    # Pods of all kinds were among them.
    words = Counter(state for state, *_ in said.values())
    assert len(words) > 10, json.dumps(words)
