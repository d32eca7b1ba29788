"""The page of a running agent, as somebody sees it in a browser without touching it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.agent.process import AgentProcess, eventually, manifest
from tests.support.browser.chromium import PATIENCE_MS
from tests.support.browser.fixtures import Opener
from tests.support.browser.seeing import is_live, is_on_the_first_screen, looks, row, shows

pytestmark = [pytest.mark.browser, pytest.mark.process]

BROKEN = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\n"
    "spec:\n  containrs:\n  - {name: main, image: a}\n"
)
CRASHING = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: crashing\n  annotations:\n"
    '    hollow.actorlet/run-for: 1s\n    hollow.actorlet/exits: "1"\n'
    "    hollow.actorlet/message: no connection to the database\n"
    "spec:\n  containers:\n  - {name: main, image: a}\n"
)
NEEDS_A_SECRET = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\n"
    "spec:\n  containers:\n  - name: main\n    image: a\n    env:\n    - name: PASSWORD\n"
    "      valueFrom: {secretKeyRef: {name: database, key: password}}\n"
)


def test_a_manifest_appears_without_a_reload(agent: AgentProcess, look_at: Opener) -> None:
    agent.write("first.yaml", manifest("first"))
    agent.start_on_manifests()
    page = look_at(agent)
    shows(row(page, "first-node1"), "Running")
    is_live(page)
    page.evaluate("() => { window.wasNotLoadedAgain = true; }")

    agent.write("second.yaml", manifest("second"))
    shows(row(page, "second-node1"), "Running")

    (agent.manifests / "second.yaml").unlink()
    expect(row(page, "second-node1")).to_have_count(0, timeout=PATIENCE_MS)
    assert page.evaluate("() => window.wasNotLoadedAgain")


def test_the_first_view_says_which_line_of_a_manifest_is_wrong(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("broken.yaml", BROKEN)
    agent.start_on_manifests()
    page = look_at(agent)
    shows(looks(page), "rejected", "broken.yaml", "(line 4)", "containrs on line 5")
    is_on_the_first_screen(looks(page), "containrs on line 5")

    looks(page).get_by_role("link", name="broken.yaml").click()
    shows(row(page, "broken.yaml"), str(agent.manifests), "rejected", "(line 4)", "file")


def test_the_numbers_above_are_those_of_the_list_that_follows(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("crashing.yaml", CRASHING)
    agent.write("broken.yaml", BROKEN)
    agent.write("other.yaml", BROKEN.replace("name: broken", "name: other"))
    agent.start_on_manifests()
    page = look_at(agent)
    numbers = page.get_by_role("list", name="Pods by phase")
    shows(numbers, "1 pod needs a look", "2 manifests need a look")
    expect(looks(page).get_by_role("listitem")).to_have_count(3, timeout=PATIENCE_MS)

    numbers.get_by_role("link", name="2 manifests need a look").click()
    shows(row(page, "other.yaml"), "rejected")


def test_what_happened_before_the_page_was_opened_is_there_with_its_time_and_goes_on(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("gone.yaml", manifest("gone"))
    agent.start_on_manifests()
    eventually(lambda: "Started" in agent.get("/ui/events")[1])
    (agent.manifests / "gone.yaml").unlink()
    eventually(lambda: not agent.pods())

    page = look_at(agent, "#/events")
    past = page.get_by_role("region", name="Since the agent started")
    shows(past, "The agent started at", "default/gone-node1", "Started container main")
    shows(page.get_by_role("region", name="Since this page was opened"), "Nothing has happened")

    agent.write("crashing.yaml", CRASHING)
    shows(past, "default/crashing-node1", "BackOff", "since ")
    past.get_by_label("Show").select_option("warnings")
    expect(past.get_by_text("default/gone-node1")).to_have_count(0, timeout=PATIENCE_MS)
    shows(past, "BackOff")


def test_the_first_view_says_which_secret_is_missing(agent: AgentProcess, look_at: Opener) -> None:
    objects = agent.manifests.parent / "objects"
    objects.mkdir()
    agent.write("shop.yaml", NEEDS_A_SECRET)
    agent.start_on_manifests(f"--local-objects-dir={objects}")
    page = look_at(agent)
    shows(looks(page), "shop-node1", "Secret default/database does not exist; it is needed by")
    is_on_the_first_screen(looks(page), "Secret default/database does not exist")
    shows(looks(page), "Put a file with the Secret into the directory of --local-objects-dir")
    expect(looks(page).get_by_text("does not exist")).to_have_count(1)
    expect(looks(page).get_by_text("no file describes it")).to_have_count(0)

    page.goto(page.url + "#/objects")
    shows(row(page, "default/database"), "Secret", "absent", "1 reference")


def test_the_first_view_and_the_pods_own_say_why_it_crashes(
    agent: AgentProcess, look_at: Opener
) -> None:
    agent.write("crashing.yaml", CRASHING)
    agent.start_on_manifests()
    page = look_at(agent)
    shows(
        looks(page), "CrashLoopBackOff", "ended with code 1 (Error): no connection to the database"
    )
    is_on_the_first_screen(looks(page), "no connection to the database")
    shows(looks(page), "actorlet logs default/crashing-node1 -c main -p")

    looks(page).get_by_role("link", name="crashing-node1").click()
    shows(page.get_by_role("heading", level=1), "default/crashing-node1")
    shows(page.get_by_role("region", name="Why it does not run"), "no connection to the database")
    shows(page.get_by_role("region", name="Timeline"), "Taken on", "Started", "exit code 1")
    shows(row(page, "ContainersReady"), "False", "containers with unready status: [main]")


def test_a_crash_of_an_actor_shows_and_heals(agent: AgentProcess, look_at: Opener) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests("--enable-chaos")
    page = look_at(agent, "#/actors")
    keeper = row(page, "status-keeper")
    shows(keeper, "running")
    before = keeper.inner_text()

    assert agent.get("/debug/actors/status-keeper/crash", method="POST")[0] == 202

    shows(keeper, "InjectedCrashError")
    expect(keeper).not_to_have_text(before, timeout=PATIENCE_MS)
    shows(keeper, "running")
    page.goto(page.url.replace("#/actors", "#/"))
    shows(row(page, "web-node1"), "Running")


def test_a_lost_stream_shows_and_heals(agent: AgentProcess, look_at: Opener) -> None:
    agent.write("first.yaml", manifest("first"))
    agent.start_on_manifests()
    page = look_at(agent)
    shows(row(page, "first-node1"), "Running")
    is_live(page)

    assert agent.stops() == 0

    banner = page.locator("#banner")
    shows(banner, "This page is not live since", "What it shows may be old", "next try")
    shows(page.locator("#live"), "not live")
    shows(row(page, "first-node1"), "Running")  # what was known stays

    # Nobody answers yet: whoever tries now sees the banner still.
    banner.get_by_role("button", name="Try now").click()
    shows(banner, "This page is not live since")

    agent.write("second.yaml", manifest("second"))
    agent.start_on_manifests()  # the page tries by itself, too

    is_live(page)
    shows(row(page, "second-node1"), "Running")
