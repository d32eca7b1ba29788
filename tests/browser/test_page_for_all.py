"""The page for everybody: by keyboard and screen reader, on small and large screens, with hostile names."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from tests.support.agent.process import AgentProcess, manifest
from tests.support.browser.chromium import PATIENCE_MS, Scheme
from tests.support.browser.fixtures import Opener
from tests.support.browser.seeing import grave_findings, is_live, looks, row, shows

pytestmark = [pytest.mark.browser, pytest.mark.process]

MARKUP = "<img src=x onerror=window.wasRun=true>"
SAYS_MARKUP = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: hostile\n  annotations:\n"
    '    hollow.actorlet/run-for: 1s\n    hollow.actorlet/exits: "1"\n'
    f'    hollow.actorlet/message: "{MARKUP}"\n'
    "spec:\n  containers:\n  - {name: main, image: a}\n"
)
VIEWS = ["#/", "#/manifests", "#/objects", "#/actors", "#/agent", "#/events"]

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: large}\n"
LACKS_A_KEY = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: keyless\n"
    "spec:\n  containers:\n  - name: main\n    image: a\n    env:\n"
    "    - {name: C, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}\n"
)


@pytest.fixture
def busy(agent: AgentProcess) -> AgentProcess:
    """Return an agent with pods of all kinds, and a broken manifest."""
    agent.write("web.yaml", manifest("web"))
    agent.write("broken.yaml", "kind: Pod\n")
    agent.write("hostile.yaml", SAYS_MARKUP)
    agent.write("odd.yaml", manifest("odd", image=f"'{MARKUP}'"))
    agent.write(f"{MARKUP}.yaml", "kind: Pod\n")
    agent.start_on_manifests("--enable-chaos")
    return agent


def test_names_and_messages_stay_text(busy: AgentProcess, look_at: Opener) -> None:
    page = look_at(busy)
    shows(looks(page), f"{MARKUP}.yaml")
    shows(looks(page), f"ended with code 1 (Error): {MARKUP}", f'image name "{MARKUP}"')
    looks(page).get_by_role("link", name="hostile-node1").click()
    shows(page.get_by_role("region", name="Timeline"), MARKUP)
    shows(row(page, "main").first, MARKUP)
    page.go_back()
    looks(page).get_by_role("link", name="odd-node1").click()
    shows(row(page, "main").first, "InvalidImageName", MARKUP)
    page.goto(page.url.partition("#")[0] + "#/pods/" + MARKUP)
    shows(page.locator("main"), "This pod is not here")
    assert page.locator("img").count() == 0
    assert page.evaluate("() => window.wasRun") is None


def test_the_browser_refuses_scripts_that_are_not_of_the_page(
    busy: AgentProcess, look_at: Opener
) -> None:
    page = look_at(busy, forgiven="TrustedHTML")
    is_live(page)
    with pytest.raises(PlaywrightError, match="TrustedHTML"):
        page.evaluate("() => { document.body.innerHTML = '<p>'; }")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(busy: AgentProcess, look_at: Opener, scheme: Scheme) -> None:
    page = look_at(busy, scheme=scheme)
    shows(looks(page), "hostile-node1")
    uid = busy.pods()["hostile-node1"]
    for view in [*VIEWS, f"#/pods/{uid}"]:
        page.goto(f"http://127.0.0.1:{busy.port}/{view}")
        shows(page.locator("#live"), "live")
        expect(page.locator("main .count, main dl, main .nothing").first).not_to_be_empty(
            timeout=PATIENCE_MS
        )
        assert grave_findings(page) == [], view


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_nothing_is_wider_than_the_window(busy: AgentProcess, look_at: Opener, width: int) -> None:
    page = look_at(busy, width=width)
    shows(looks(page), "hostile-node1")
    uid = busy.pods()["hostile-node1"]
    for view in [*VIEWS, f"#/pods/{uid}"]:
        page.goto(f"http://127.0.0.1:{busy.port}/{view}")
        expect(page.locator("main .count, main dl, main .nothing").first).not_to_be_empty(
            timeout=PATIENCE_MS
        )
        needed = page.evaluate("() => document.documentElement.scrollWidth")
        assert needed <= width, view


@pytest.mark.parametrize("width", [1024, 1280])
def test_names_of_manifests_are_not_broken_within_words(
    busy: AgentProcess, look_at: Opener, width: int
) -> None:
    name = "a" * 30 + ".yaml"
    busy.write(name, "kind: Pod\n")
    # What stands beside it wants room, too: a sentence of many words, and a long name.
    fields = "\n".join(f"  unknown{number}: 1" for number in range(20))
    busy.write("c.yaml", f"{manifest('c' * 40)}\n{fields}\n")
    page = look_at(busy, "#/manifests", width=width)
    shows(row(page, name), "rejected")
    shows(row(page, "c.yaml"), "unknown field")
    # In one go: the page shows directories anew, and that of a test is long.
    lines = page.evaluate(
        "(name) => { for (const each of document.querySelectorAll('th .below')) each.textContent = '';"
        " return [...document.querySelectorAll('th a')].find((each) => each.textContent === name)"
        ".getClientRects().length }",
        name,
    )
    assert lines == 1
    longest = "b" * 200 + ".yaml"
    busy.write(longest, "kind: Pod\n")
    shows(row(page, longest), "rejected")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_longest_state_stays_within_a_small_screen(
    agent: AgentProcess, look_at: Opener, tmp_path: Path
) -> None:
    objects = tmp_path / "objects"
    objects.mkdir()
    (objects / "settings.yaml").write_text(SETTINGS)
    agent.write("keyless.yaml", LACKS_A_KEY)
    agent.start_on_manifests(f"--local-objects-dir={objects}")
    page = look_at(agent, width=360)
    shows(row(page, "keyless-node1"), "CreateContainerConfigError")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_a_keyboard_reaches_everything_and_keeps_its_place(
    busy: AgentProcess, look_at: Opener
) -> None:
    page = look_at(busy)
    shows(row(page, "web-node1"), "Running")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    link = row(page, "web-node1").get_by_role("link")
    link.focus()
    busy.write("above.yaml", manifest("above"))
    shows(row(page, "above-node1"), "Running")
    expect(link).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    shows(page.get_by_role("heading", level=1), "default/web-node1")


def test_what_is_searched_for_is_told_to_a_screen_reader_and_stays_in_the_address(
    busy: AgentProcess, look_at: Opener
) -> None:
    page = look_at(busy)
    shows(row(page, "web-node1"), "Running")
    page.get_by_role("searchbox", name="Search pods").fill("web")
    expect(row(page, "hostile-node1")).to_have_count(0, timeout=PATIENCE_MS)
    shows(page.get_by_role("status"), "1 pod (of 3)")
    assert page.url.endswith("#/?search=web")
    page.reload()
    shows(row(page, "web-node1"), "Running")
    expect(row(page, "hostile-node1")).to_have_count(0)
