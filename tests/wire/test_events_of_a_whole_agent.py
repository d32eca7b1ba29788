"""Readers of ``/events`` who begin with the present state: what they know is what the agent says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.agent.event_stream import told_by
from tests.support.agent.process import eventually
from tests.support.agent.served import Served, served_agent
from tests.support.wire.client import EventStream, event_stream

MANIFEST: Final = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers: [{name: main, image: "registry.example/web:1"}]
"""


def write(manifests: Path, *numbers: int) -> None:
    for number in numbers:
        text = MANIFEST.replace("NAME", f"web-{number}")
        (manifests / f"{number}.yaml").write_text(text)


class Knowledge:
    """What a reader knows of pods: it takes every event, and asks for nothing."""

    def __init__(self) -> None:
        self.pods: dict[str, str] = {}
        self.phases: dict[str, str] = {}
        self.states: list[str] = []
        self.actors: set[str] = set()
        self.last_id = ""

    def take(self, name: str, data: Any) -> None:
        if name == "state":
            self.states.append(data["state"])
            if data["state"] == "begins":
                self.pods.clear()
                self.phases.clear()
        elif name == "pod" and data["op"] == "REMOVE":
            self.pods.pop(data["uid"], None)
        elif name == "pod":
            self.pods[data["uid"]] = data["name"]
        elif name == "status":
            self.phases[data["uid"]] = data["phase"]
        elif name == "actor" and data["state"] == "running":
            self.actors.add(data["name"])

    def summary(self) -> dict[str, tuple[str, str]]:
        """Return name and phase of each pod by its UID."""
        pods = dict(self.pods)
        return {uid: (name, self.phases.get(uid, "")) for uid, name in pods.items()}


def served(agent: Served) -> dict[str, tuple[str, str]]:
    """Return the same, as ``/pods`` says it."""
    items = agent.get("/pods").document["items"]
    return {
        pod["metadata"]["uid"]: (pod["metadata"]["name"], pod["status"].get("phase", ""))
        for pod in items
    }


@contextmanager
def reading(agent: Served, since: str = "", before: Knowledge | None = None) -> Iterator[Knowledge]:
    """Have somebody read until the end of the block, who knows what it knew ``before``."""
    known = before or Knowledge()
    query = f"?since={since}" if since else ""
    with event_stream(agent.port, f"/events{query}") as stream:
        thread = threading.Thread(target=_collect, args=(stream, known), daemon=True)
        thread.start()
        yield known


def _collect(stream: EventStream, known: Knowledge) -> None:
    for name, data, event_id in told_by(stream):
        known.take(name, data)
        known.last_id = event_id or known.last_id


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "manifests"
    path.mkdir()
    return path


@pytest.fixture
def agent(manifests: Path, tmp_path: Path) -> Iterator[Served]:
    flags = ("--runtime=hollow", f"--root-dir={tmp_path / 'state'}", "--enable-chaos")
    with served_agent(manifests, *flags) as agent:
        yield agent


def test_readers_who_come_in_the_middle_of_a_burst_know_what_the_agent_knows(
    agent: Served, manifests: Path
) -> None:
    write(manifests, *range(30))
    with reading(agent) as early:
        eventually(lambda: len(served(agent)) > 0)
        # The second one comes while pods start, and others come and go.
        write(manifests, *range(30, 60))
        with reading(agent) as late:
            for number in range(0, 30, 2):
                (manifests / f"{number}.yaml").unlink()
            running = {"Running"}
            eventually(
                lambda: (
                    len(served(agent)) == 45
                    and {phase for _, phase in served(agent).values()} == running
                )
            )
            eventually(lambda: early.summary() == late.summary() == served(agent))
            assert late.states == ["begins", "complete"]


def test_who_is_cut_and_comes_back_knows_what_happened_meanwhile(
    agent: Served, manifests: Path
) -> None:
    write(manifests, 1)
    with reading(agent) as before:
        eventually(lambda: before.summary() == served(agent) != {} and before.last_id)
    write(manifests, 2)
    (manifests / "1.yaml").unlink()
    eventually(lambda: [name for name, _ in served(agent).values()] == ["web-2-node1"])
    with reading(agent, before.last_id, before) as after:
        eventually(lambda: after.summary() == served(agent))
        assert after.states == ["begins", "complete", "resumes"]


def test_an_id_of_another_process_gives_the_present_state(agent: Served, manifests: Path) -> None:
    write(manifests, 1)
    eventually(lambda: len(served(agent)) == 1)
    with reading(agent, "17c0ffee.1-5") as known:
        eventually(lambda: known.states == ["begins", "complete"])
        eventually(lambda: known.summary() == served(agent))


@pytest.mark.parametrize(
    "actor",
    [
        *("pod-manager", "event-recorder", "secret-manager", "runtime/containers", "runtime"),
        *("status-keeper", "probe-keeper", "pod-keeper", "source/file", "event-feed"),
    ],
)
def test_whoever_crashes_a_reader_knows_what_the_agent_knows(
    agent: Served, manifests: Path, actor: str
) -> None:
    write(manifests, 1, 2)
    with reading(agent) as known:
        eventually(lambda: known.summary() == served(agent) and len(known.pods) == 2)
        agent.get(f"/debug/actors/{actor}/crash", "POST")
        write(manifests, 3)
        (manifests / "1.yaml").unlink()
        names = {"web-2-node1", "web-3-node1"}
        eventually(lambda: {name for name, _ in served(agent).values()} == names)
        eventually(lambda: actor in known.actors)
        eventually(
            lambda: (
                known.summary() == served(agent)
                and {phase for _, phase in known.summary().values()} == {"Running"}
            )
        )


@pytest.mark.parametrize("crashing", ["", "event-recorder", "event-feed"])
def test_what_happened_before_somebody_looked_is_told_also_of_pods_that_are_gone(
    agent: Served, manifests: Path, crashing: str
) -> None:
    write(manifests, 1)

    def past() -> list[tuple[str, str]]:
        return [(each["name"], each["reason"]) for each in agent.get("/ui/events").json["events"]]

    of_it = [("web-1-node1", reason) for reason in ("Started", "Created", "Pulled")]
    eventually(lambda: past() == of_it)
    if crashing:
        agent.get(f"/debug/actors/{crashing}/crash", "POST")
    (manifests / "1.yaml").unlink()
    eventually(lambda: served(agent) == {})
    eventually(lambda: past()[-3:] == of_it)
    document = agent.get("/ui/events").json
    assert document["since"] <= document["events"][-1]["first"]
    assert document["forgotten"] == 0


def test_the_page_of_a_pod_has_its_events_without_a_cluster(agent: Served, manifests: Path) -> None:
    write(manifests, 1)
    (uid,) = eventually(lambda: list(served(agent)))
    words = ["Pulled", "Created", "Started"]
    eventually(
        lambda: [each["word"] for each in agent.get(f"/ui/pods/{uid}").json["events"]] == words
    )
    story = agent.get(f"/ui/pods/{uid}").json
    assert (story["volumeTroubles"], story["manifest"]["verdict"]) == ([], "accepted")
    assert story["why"] == []
    (row,) = agent.get("/ui/pods").json["pods"]
    assert (row["why"], row["lastEvent"]["reason"], row["lastEvent"]["count"]) == ([], "Started", 1)
    assert agent.get("/ui/pods/none").status == 404
