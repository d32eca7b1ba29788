"""The page of an agent with real containers: how a pod's life is told, and why one does not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.agent.process import eventually
from tests.support.browser.chromium import PATIENCE_MS
from tests.support.browser.fixtures import Opener
from tests.support.browser.seeing import looks, shows
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent

pytestmark = [pytest.mark.browser, pytest.mark.process]

RUNS = "while true; do sleep 1; done"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: database}\nstringData: {password: %s}\n"


@pytest.fixture
def real_agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


def test_the_life_of_a_pod_in_containers_is_told_step_by_step(
    real_agent: WholeAgent, look_at: Opener
) -> None:
    objects = real_agent.manifests.parent / "objects"
    objects.mkdir()
    secret = objects / "database.yaml"
    secret.touch(0o600)
    secret.write_text(SECRET % "one")
    variable = {"name": "P", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}}
    ready = {"exec": {"command": ["cat", "/told/ready"]}, "periodSeconds": 1}
    real_agent.serve("shop", RUNS, main={"env": [variable], "readinessProbe": ready})
    real_agent.serve("loop", "echo no database >&2; exit 3")
    real_agent.begins(f"--local-objects-dir={objects}")
    eventually(lambda: real_agent.runs("shop"))
    eventually(lambda: real_agent.status("loop").get("restartCount", 0) > 1)

    page = look_at(real_agent)
    shows(
        looks(page), "loop-node1", "ended with code 3 (Error)", "actorlet logs default/loop-node1"
    )
    shows(looks(page), "shop-node1", "its readiness probe fails: cat: can't open '/told/ready'")
    looks(page).get_by_role("link", name="shop-node1").click()
    timeline = page.get_by_role("region", name="Timeline")
    for step in ("Taken on", "Pulled", "Created", "Started", "Unhealthy", "not Ready"):
        shows(timeline, step)
    (real_agent.told / "ready").touch()
    shows(timeline, "is ready to serve")
    expect(page.get_by_role("region", name="Why it does not run")).to_have_count(0)
    secret.write_text(SECRET % "another")
    shows(timeline, "Secret default/database, keys: password")

    uid = real_agent.document("loop")["metadata"]["uid"]
    page.goto(f"http://127.0.0.1:{real_agent.port}/#/pods/{uid}")
    shows(page.get_by_role("heading", level=1), "default/loop-node1")
    starts = timeline.get_by_role("listitem").filter(has_text="Started container main")
    expect(starts.nth(1)).to_be_visible(timeout=PATIENCE_MS)
    shows(timeline, "BackOff", "exit code 3")
    real_agent.dies()
