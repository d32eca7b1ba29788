"""Change hooks of real containers: signals that find the new file, and restarts, without a control plane."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.volume_agent import RESTS, VolumeAgent, config_map
from tests.support.project.checkout import ROOT

MOUNT = {"name": "settings", "mountPath": "/settings"}
VOLUME = config_map("settings", "settings")
LISTENS = (
    "trap 'say \"HUP $(cat /settings/level)\"' HUP; trap 'exit 0' TERM;"
    " say begins; while true; do sleep 0.02; done"
)
"""Says at each SIGHUP what its file has then."""
SHOWS = 'say "has $LEVEL"; ' + RESTS
LEVEL = {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}


@pytest.fixture
def agent(mounting: Path, containerd: Containerd) -> Iterator[VolumeAgent]:
    with VolumeAgent(mounting, containerd) as agent:
        yield agent


def hook(agent: VolumeAgent, name: str, action: str, group: str = "") -> None:
    """Annotate a manifest that is in place."""
    file = agent.manifests / f"{name}.json"
    pod = json.loads(file.read_text())
    annotations = {"actorlet/on-object-change": action}
    if group:
        annotations["actorlet/rollout-group"] = group
    pod["metadata"]["annotations"] = annotations
    file.write_text(json.dumps(pod))


def listens(agent: VolumeAgent, name: str = "web", **spec: Any) -> None:
    """Put a pod in place that gets SIGHUP when its file has changed."""
    agent.keep("ConfigMap", "settings", level="0")
    agent.mount(name, LISTENS, [VOLUME], [MOUNT], **spec)
    hook(agent, name, "signal:SIGHUP")


def test_a_program_that_is_signalled_always_finds_the_new_file(agent: VolumeAgent) -> None:
    listens(agent)
    agent.up()
    agent.await_said("web", "begins")
    expected = ["begins"]
    for level in range(1, 11):
        agent.keep("ConfigMap", "settings", level=str(level))
        expected.append(f"HUP {level}")
        agent.await_said("web", *expected)
    assert agent.status("web")["restartCount"] == 0
    counted = 'actorlet_change_hooks_total{action="signal",result="done"} 10.0'
    eventually(lambda: counted in agent.get("/metrics")[1])


def test_a_signal_needs_nothing_in_the_image(agent: VolumeAgent) -> None:
    env = [{"name": "NAME", "value": "web"}, {"name": "PATH", "value": "/nowhere"}]
    script = LISTENS.replace("cat ", "/bin/cat ").replace("sleep", "/bin/sleep")
    agent.keep("ConfigMap", "settings", level="0")
    agent.mount("web", script, [VOLUME], [MOUNT], main={"env": env})
    pod = json.loads((agent.manifests / "web.json").read_text())
    pod["spec"]["containers"][0]["command"][0] = "/bin/sh"
    (agent.manifests / "web.json").write_text(json.dumps(pod))
    hook(agent, "web", "signal:SIGHUP")
    agent.up()
    agent.await_said("web", "begins")
    agent.keep("ConfigMap", "settings", level="1")
    agent.await_said("web", "begins", "HUP 1")


def test_of_processes_that_are_shared_only_the_containers_own_gets_the_signal(
    agent: VolumeAgent,
) -> None:
    bystander = agent.beside("other", LISTENS.replace("/settings/level", "/dev/null"), [])
    listens(agent, others=[bystander], shareProcessNamespace=True)
    agent.up()
    agent.await_said("web", "begins")
    agent.await_said("other", "begins")
    agent.keep("ConfigMap", "settings", level="1")
    agent.await_said("web", "begins", "HUP 1")
    assert agent.said("other") == ["begins"]
    assert agent.status("web", "other")["restartCount"] == 0


def test_a_change_while_the_agent_is_away_is_signalled_when_it_is_back(
    agent: VolumeAgent,
) -> None:
    listens(agent)
    agent.up()
    agent.await_said("web", "begins")
    agent.await_running("web")
    eventually(lambda: any((agent.root_dir / "pod-records").glob("*.json")))
    agent.dies()
    agent.keep("ConfigMap", "settings", level="1")
    agent.up()
    agent.await_said("web", "begins", "HUP 1")


def test_a_container_is_started_again_with_the_new_variable_and_says_why(
    agent: VolumeAgent,
) -> None:
    agent.keep("ConfigMap", "settings", level="0")
    named = {"name": "NAME", "value": "web"}
    agent.mount("web", SHOWS, [], [], main={"env": [named, LEVEL]}, restartPolicy="Never")
    hook(agent, "web", "restart,splay=1s")
    agent.up()
    agent.await_said("web", "has 0", "rests")
    agent.keep("ConfigMap", "settings", level="1")
    agent.await_said("web", "has 0", "rests", "has 1", "rests")
    agent.await_running("web", restarts=1)
    assert agent.status("web")["lastState"]["terminated"]["reason"] == "ObjectChanged"
    # Whoever looks after the agent was killed finds the same, and nothing is done once more.
    agent.dies()
    agent.up()
    eventually(lambda: agent.runs("web"))
    assert agent.status("web")["lastState"]["terminated"]["reason"] == "ObjectChanged"
    assert agent.status("web")["restartCount"] == 1


def test_static_pods_of_a_group_are_started_again_one_at_a_time(agent: VolumeAgent) -> None:
    agent.keep("ConfigMap", "settings", level="0")
    names = ("a", "b", "c")
    # Each writes into one file when it begins and when it ends, and takes its time for that: the one before
    # it may run and not have come to its first line yet, on a busy machine.
    script = (
        "echo begin-$NAME >> /told/order; trap 'sleep 2; echo end-$NAME >> /told/order; exit 0' TERM;"
        ' say "has $(cat /settings/level)"; while true; do sleep 0.05; done'
    )
    for name in names:
        agent.mount(name, script, [VOLUME], [MOUNT])
        hook(agent, name, "restart", "web")
    agent.up()
    for name in names:
        agent.await_said(name, "has 0")
    agent.keep("ConfigMap", "settings", level="1")
    for name in names:
        agent.await_said(name, "has 0", "has 1")
    order = (agent.told / "order").read_text().split()[len(names) :]
    assert re.fullmatch(r"(end-(\w) begin-\2 ?){3}", " ".join(order)), order


def test_the_example_of_the_page_does_what_it_says(agent: VolumeAgent) -> None:
    objects = ROOT / "examples" / "change-hooks-objects" / "clock-settings.yaml"
    text = objects.read_text()
    (agent.objects / "clock-settings.yaml").write_text(text)
    for name in ("clock", "web"):
        manifest = (ROOT / "examples" / "change-hooks" / f"{name}.yaml").read_text()
        manifest = manifest.replace("spec:\n", "spec:\n  hostNetwork: true\n", 1)
        (agent.manifests / f"{name}.yaml").write_text(manifest)
    agent.up()
    eventually(lambda: "start: good morning" in log_of(agent, "web"))
    eventually(lambda: "start: good morning" in log_of(agent, "clock"))
    (agent.objects / "clock-settings.yaml").write_text(text.replace("morning", "evening"))
    eventually(lambda: "SIGHUP: good evening" in log_of(agent, "clock"))
    eventually(lambda: "start: good evening" in log_of(agent, "web"))
    eventually(lambda: agent.status("web", "web").get("restartCount") == 1)


def log_of(agent: VolumeAgent, name: str) -> str:
    """Return what the containers of a pod have written."""
    files = sorted((agent.told.parent / "logs").glob(f"default_{name}-node1_*/*/*.log"))
    return "".join(each.read_text() for each in files)


def test_a_container_that_keeps_variables_of_an_earlier_secret_is_told_until_it_starts_again(
    agent: VolumeAgent,
) -> None:
    agent.keep("Secret", "login", password="s3cret-1")
    variable = {"secretKeyRef": {"name": "login", "key": "password"}}
    own = {"name": "NAME", "value": "web"}
    agent.serve("web", main={"env": [own, {"name": "PASSWORD", "valueFrom": variable}]})
    agent.up()
    agent.await_running("web")

    def told() -> tuple[int, list[dict[str, str]]]:
        page = agent.json(f"/ui/pods/{agent.pods()['web-node1']}")
        assert "s3cret" not in json.dumps(page)
        return agent.json("/ui/agent")["pods"]["oldVariables"], page["oldVariables"]

    assert told() == (0, [])
    agent.keep("Secret", "login", password="s3cret-2")
    old = {"container": "main", "kind": "Secret", "name": "login"}
    eventually(lambda: told() == (1, [old]))
    # What it was made from is written at the container.
    agent.dies()
    agent.up()
    eventually(lambda: agent.is_ready() and told() == (1, [old]))
    agent.end("web", 3)
    agent.await_running("web", restarts=1)
    eventually(lambda: told() == (0, []))
