"""Makes the pictures of the page in ``docs/images``: ``make screenshots``.

Needs Debian's chromium, and root: manifests are where people have them, in a file system of the agent's own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.support.agent.process import ROOT, AgentProcess
from tests.support.browser.chromium import Scheme, opened, started
from tests.support.browser.seeing import is_live, looks, row, shows
from tools.small_pictures import shrink

IMAGES = ROOT / "docs" / "images"
SHOWN_AT = "/etc/kubernetes/manifests"
IN_ITS_PLACE = """
mount -t tmpfs none /mnt
mkdir /mnt/changed /mnt/work
mount -t overlay none -o lowerdir=/etc,upperdir=/mnt/changed,workdir=/mnt/work /etc
mkdir -p "$1"
mount --bind "$0" "$1"
shift
exec "$@"
"""
"""Lets a folder be seen at another place, by one program alone. Whatever is made for that goes with it."""
PICTURES: tuple[tuple[str, str, int, int, Scheme], ...] = (
    ("pod-light", "#/pods/crash-loop-edge-1", 1280, 1000, "light"),
    ("page-light", "#/", 1280, 800, "light"),
    ("page-dark", "#/", 1280, 800, "dark"),
    ("page-narrow", "#/", 360, 720, "dark"),
    ("page-wide", "#/", 2560, 1000, "light"),
    ("timeline-dark", "#/pods/shop-edge-1", 1280, 1300, "dark"),
    ("actors-dark", "#/actors", 1280, 800, "dark"),
)
BROKEN = "apiVersion: v1\nkind: Pod\nmetadata: {name: cache}\nspec:\n  containrs: []\n"


def main() -> None:
    """Start an agent on the examples, and take pictures of its page."""
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentProcess(Path(folder)) as agent,
        started() as browser,
    ):
        objects = Path(folder) / "objects"
        objects.mkdir()
        for path in sorted((ROOT / "examples/local-objects").iterdir()):
            place = objects / path.name
            place.touch(0o600)
            place.write_text(path.read_text())
        for name in (
            *(f"manifests/{each}" for each in ("etcd", "logging", "web", "batch")),
            *(f"hollow/{each}" for each in ("crash-loop", "image-error")),
            "pods-with-objects/shop",
        ):
            agent.write(Path(name).name + ".yaml", (ROOT / f"examples/{name}.yaml").read_text())
        agent.write("cache.yaml", BROKEN)
        agent.start_on_manifests(
            f"--pod-manifest-path={SHOWN_AT}",
            f"--local-objects-dir={objects}",
            "--hostname-override=edge-1",
            launcher=[
                "unshare",
                "--mount",
                "sh",
                "-ec",
                IN_ITS_PLACE,
                str(agent.manifests),
                SHOWN_AT,
            ],
        )
        _take_pictures(browser, agent, objects)


def _take_pictures(browser: Browser, agent: AgentProcess, objects: Path) -> None:
    uids = agent.pods()
    settings = objects / "shop-settings.yaml"
    for name, view, width, height, scheme in PICTURES:
        before, _, pod = view.rpartition("/")
        target = f"{before}/{uids[pod]}" if pod in uids else view
        url = f"http://127.0.0.1:{agent.port}/{target}"
        with opened(browser, url, width=width, height=height, scheme=scheme) as page:
            is_live(page)
            if pod == "shop-edge-1":
                settings.write_text(settings.read_text() + "  # changed\n  colour: green\n")
            _await(page, view)
            path = IMAGES / f"{name}.png"
            page.screenshot(path=path, animations="disabled")
            shrink(path)


def _await(page: Page, view: str) -> None:
    """Return once a view shows what its picture is for."""
    timeline = page.get_by_role("region", name="Timeline")
    if view == "#/":
        shows(looks(page), "cache.yaml", "crash-loop-edge-1", "image-error-edge-1")
        shows(row(page, "web-edge-1"), "Running")
    elif view == "#/actors":
        shows(row(page, "status-keeper"), "running")
    elif "shop" in view:
        shows(timeline, "Started", "ConfigMap modified")
    else:
        why = page.get_by_role("region", name="Why it does not run")
        shows(why, "CrashLoopBackOff", "no connection to the database")
        shows(timeline, "exit code 1", "BackOff")


if __name__ == "__main__":
    main()
