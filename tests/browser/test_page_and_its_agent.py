"""The page while its agent is slow, started anew, or of another version; and what was before the page was."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from settings.version import version
from tests.support.agent.process import AgentProcess, eventually, manifest
from tests.support.browser.chromium import PATIENCE_MS
from tests.support.browser.fixtures import Opener
from tests.support.browser.seeing import is_live, looks, row, shows

pytestmark = [pytest.mark.browser, pytest.mark.process]

CRASHING = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: crashing\n  annotations:\n"
    '    hollow.actorlet/run-for: 100ms\n    hollow.actorlet/exits: "1,run"\n'
    "spec:\n  containers:\n  - name: main\n    image: a\n"
    "    readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}\n"
)
USES_A_SECRET = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n"
    "spec:\n  containers:\n  - name: main\n    image: a\n"
    "    env:\n    - {name: PLAIN, value: hunter2}\n"
    "    - name: PASSWORD\n      valueFrom: {secretKeyRef: {name: database, key: password}}\n"
)
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: database}\nstringData: {password: %s}\n"


def answers_differently(
    page: Page, path: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Let what ``path`` answers reach the page changed, from now on."""

    def changed(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps(change(answer.json())))

    page.route(lambda url: url.split("?")[0].endswith(path), changed)


def test_the_first_view_says_that_a_restart_is_due_and_the_agent_s_which_version_runs(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.start_on_manifests()
    page = look_at(agent, "#/agent")
    shows(page.locator("main dl"), "Version", version())
    expect(page.get_by_text("restart is due")).to_have_count(0)

    due = {"text": "1.0 (aaa)", "advice": "1.1 (bbb) is installed: a restart is due"}
    answers_differently(
        page, "/ui/agent", lambda told: {**told, "version": {**due, "restartDue": True}}
    )
    shows(page.locator("main dl"), "1.0 (aaa); 1.1 (bbb) is installed: a restart is due")
    page.goto(page.url.replace("#/agent", "#/"))
    shows(looks(page), "Restart due", "actorlet 1.0 (aaa)", "1.1 (bbb) is installed")
    page.unroute_all(behavior="ignoreErrors")


def test_an_agent_that_is_slow_is_told_and_heals(agent: AgentProcess, look_at: Opener) -> None:
    agent.write("first.yaml", manifest("first"))
    agent.start_on_manifests()
    page = look_at(agent)
    shows(row(page, "first-node1"), "Running")
    is_live(page)

    agent.send(signal.SIGSTOP)
    banner = page.locator("#banner")
    shows(banner, "The agent owes this page an answer since", "What the page shows may be old")
    shows(page.locator("#live"), "slow")
    shows(row(page, "first-node1"), "Running")
    agent.write("second.yaml", manifest("second"))

    agent.send(signal.SIGCONT)
    is_live(page)
    shows(row(page, "second-node1"), "Running")


def test_an_agent_that_was_started_anew_is_told_among_what_happened(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("first.yaml", manifest("first"))
    agent.start_on_manifests()
    page = look_at(agent, "#/events")
    is_live(page)

    assert agent.stops() == 0
    shows(page.locator("#banner"), "This page is not live since")
    agent.start_on_manifests()

    is_live(page)
    shows(page.locator("main"), "the agent was started anew at")
    expect(page.locator("#replaced")).to_be_hidden()


def test_a_page_of_another_version_than_its_agent_says_so(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.start_on_manifests()
    page = look_at(agent)
    shows(page.locator("#node"), "node1")
    expect(page.locator("#replaced")).to_be_hidden()

    answers_differently(page, "/ui/agent", lambda told: {**told, "page": "of another version"})
    shows(page.locator("#replaced"), "of another version now than this page")
    page.get_by_role("button", name="Load the page again").click()
    is_live(page)
    expect(page.locator("#replaced")).to_be_hidden()
    page.unroute_all(behavior="ignoreErrors")


def test_what_an_older_agent_does_not_say_yet_is_left_out(
    agent: AgentProcess, look_at: Opener
) -> None:
    def without_more(told: dict[str, Any]) -> dict[str, Any]:
        older = {"metadata", "source", "status", "key"}
        rows = [{name: row[name] for name in older} for row in told["pods"]]
        return {**told, "pods": rows}

    agent.write("crashing.yaml", CRASHING)
    agent.start_on_manifests()
    page = look_at(agent, "#/agent")
    answers_differently(page, "/ui/pods", without_more)
    answers_differently(
        page, "/ui/agent", lambda told: {**told, "process": None, "pods": None, "page": None}
    )
    page.goto(page.url.replace("#/agent", "#/"))
    shows(row(page, "crashing-node1"), "file")
    shows(looks(page), "crashing-node1")
    page.unroute_all(behavior="ignoreErrors")


def test_the_last_event_of_a_pod_is_there_from_the_start(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("first.yaml", manifest("first"))
    agent.start_on_manifests()
    uid = agent.pods()["first-node1"]
    eventually(lambda: "Started" in agent.get(f"/ui/pods/{uid}")[1])
    page = look_at(agent)
    shows(row(page, "first-node1"), "Started: Started container main")


def test_a_timeline_has_each_time_that_something_happened(
    agent: AgentProcess, look_at: Opener
) -> None:
    objects = agent.manifests.parent / "objects"
    objects.mkdir()
    secret = objects / "database.yaml"
    secret.touch(0o600)
    secret.write_text(SECRET % "one")
    agent.write("crashing.yaml", CRASHING)
    agent.write("shop.yaml", USES_A_SECRET)
    agent.start_on_manifests(f"--local-objects-dir={objects}")
    uid = agent.pods()["crashing-node1"]
    eventually(lambda: '"restartCount": 1' in agent.get(f"/ui/pods/{uid}")[1])

    page = look_at(agent, f"#/pods/{uid}")
    timeline = page.get_by_role("region", name="Timeline")
    shows(timeline, "Seen", "Taken on", "Pulled", "Created container: main")
    started = timeline.get_by_role("listitem").filter(has_text="Started container main")
    expect(started).to_have_count(2, timeout=PATIENCE_MS)
    shows(started.nth(1), "2 times")
    expect(started.nth(0)).not_to_contain_text("times")
    assert timeline.locator("li time[datetime]").count() == timeline.locator("li").count()

    shop = agent.pods()["shop-node1"]
    page.goto(page.url.replace(uid, shop))
    shows(page.get_by_role("heading", level=1), "default/shop-node1")
    shows(page.get_by_role("region", name="What its containers ask for"), "Secret database")
    secret.write_text(SECRET % "hunter3")
    shows(timeline, "Secret modified", "Secret default/database, keys: password")
    for value in ("hunter2", "hunter3"):
        expect(page.locator("body")).not_to_contain_text(value)


def test_what_happened_within_one_second_is_told_in_the_order_of_a_pods_life(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests()
    uid = agent.pods()["web-node1"]
    page = look_at(agent, f"#/pods/{uid}")
    timeline = page.get_by_role("region", name="Timeline")
    shows(timeline, "is ready to serve", "Started container")
    text = timeline.inner_text()
    steps = ("is bound to this node", "its network", "Started container", "is ready to serve")
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)


def test_a_number_of_pods_leads_to_those_pods(agent: AgentProcess, look_at: Opener) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.write("crashing.yaml", CRASHING)
    agent.start_on_manifests()
    page = look_at(agent)
    shows(row(page, "web-node1"), "Running")
    page.get_by_role("list", name="Pods by phase").get_by_role("link", name="look").click()
    shows(page.locator(".count"), "1 pod")
    expect(row(page, "web-node1")).to_have_count(0)
