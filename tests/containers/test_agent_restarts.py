"""What becomes of pods while the agent is away: the next one finds it, and goes on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command.pod_words import since
from manifests.times import rfc3339
from messages.pods import JsonObject
from messages.units import Timestamp
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import SERVES, WholeAgent, in_container
from tests.support.patience import PATIENCE


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


def ends(agent: WholeAgent, name: str, code: int) -> None:
    """Have a container end with a code, and return once it has."""
    agent.end(name, code)
    eventually(lambda: agent.said(name)[-1:] == ["ends"])
    eventually(lambda: {state for _, state in agent.instances(name)} == {"exited"})


def restarts(agent: WholeAgent, name: str) -> int:
    return int(agent.status(name)["restartCount"])


def terminated(agent: WholeAgent, name: str, which: str = "state") -> dict[str, Any]:
    found: dict[str, Any] = (agent.status(name).get(which) or {}).get("terminated") or {}
    return found


def test_what_ended_while_the_agent_was_away_keeps_its_code_its_message_and_its_time(
    agent: WholeAgent,
) -> None:
    words = SERVES.replace("exit $code", "echo good-bye > /dev/termination-log; exit $code")
    agent.serve("once", words, restartPolicy="Never")
    agent.serve("again", words, restartPolicy="OnFailure")
    agent.begins()
    agent.await_running("once", "again")
    began = {
        name: agent.status(name)["state"]["running"]["startedAt"] for name in ("once", "again")
    }
    ids = {name: agent.status(name)["containerID"] for name in ("once", "again")}
    agent.dies()
    ends(agent, "once", 7)
    ends(agent, "again", 8)
    agent.begins()
    eventually(lambda: terminated(agent, "once"))
    agent.await_running("again", restarts=1)
    for name, which, code in (("once", "state", 7), ("again", "lastState", 8)):
        end = terminated(agent, name, which)
        assert (end["exitCode"], end["reason"], end["message"]) == (code, "Error", "good-bye\n")
        assert (end["startedAt"], end["containerID"]) == (began[name], ids[name])
        assert began[name] <= end["finishedAt"]
    assert agent.document("once")["status"]["phase"] == "Failed"
    assert agent.said("once") == ["begins", "ends"]
    eventually(lambda: agent.said("again") == ["begins", "ends", "begins"])


def kept(agent: WholeAgent) -> list[dict[str, Any]]:
    """Return what is on disk of pods for the next process."""
    pages = (agent.root_dir / "pod-records").glob("*.json")
    return [json.loads(page.read_text().partition("\n")[2]) for page in pages]


def times(document: JsonObject) -> dict[str, str]:
    """Return when each condition of a pod became what it is."""
    return {each["type"]: each["lastTransitionTime"] for each in document["status"]["conditions"]}


def is_ready(agent: WholeAgent) -> bool:
    """Return whether the condition of the pod ``web`` says so."""
    status = agent.document("web").get("status") or {}
    conditions = status.get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_pod_is_as_old_as_before_and_ready_since_then_after_a_kill_of_the_agent(
    agent: WholeAgent,
) -> None:
    agent.serve("web")
    agent.begins()
    agent.await_running("web")
    eventually(lambda: is_ready(agent))
    eventually(lambda: [page["conditions"]["Ready"][0] for page in kept(agent)] == ["True"])
    before = agent.document("web")
    beginnings = since(before), times(before)
    agent.dies()
    # Until another second than that of the first start would show.
    eventually(lambda: rfc3339(Timestamp(time.time())) > max(times(before).values()))
    agent.begins()
    eventually(lambda: is_ready(agent))
    after = agent.document("web")
    assert (since(after), times(after)) == beginnings
    assert since(after) == before["status"]["startTime"]


@pytest.mark.parametrize("code", [0, 7], ids=["succeeded", "failed"])
def test_a_pod_that_has_ended_keeps_its_address_over_a_kill_of_the_agent(
    agent: WholeAgent, code: int
) -> None:
    agent.containerd.add_network()
    agent.serve("before", restartPolicy="Never", hostNetwork=False)
    agent.serve("meanwhile", restartPolicy="Never", hostNetwork=False)
    agent.serve("late", hostNetwork=False, activeDeadlineSeconds=5)
    agent.begins()
    agent.await_running("before", "meanwhile")
    agent.end("before", code)
    eventually(lambda: terminated(agent, "before"))
    eventually(lambda: terminated(agent, "late"))
    names = ("before", "meanwhile", "late")
    addresses = {name: agent.document(name)["status"]["podIP"] for name in names}
    agent.dies()
    agent.end("meanwhile", code)
    eventually(lambda: agent.said("meanwhile")[-1:] == ["ends"])
    for _ in range(2):
        agent.begins()
        eventually(lambda: all(terminated(agent, name) for name in addresses))
        shown = {name: agent.document(name)["status"].get("podIP") for name in addresses}
        assert shown == addresses
        agent.dies()


def test_restart_counts_go_on_over_kills_of_the_agent(agent: WholeAgent) -> None:
    agent.serve("web")
    for count in range(3):
        agent.begins()
        agent.await_running("web", restarts=count)
        agent.dies()
        ends(agent, "web", 0)
    agent.begins()
    agent.await_running("web", restarts=3)
    eventually(lambda: agent.said("web") == ["begins", "ends"] * 3 + ["begins"])


def test_a_manifest_that_was_edited_meanwhile_is_another_pod_after_the_old_one_has_ended(
    agent: WholeAgent,
) -> None:
    agent.serve("web")
    agent.begins()
    agent.await_serving("web")
    agent.dies()
    agent.serve("web", f"say edited; {SERVES}")
    agent.begins()
    eventually(lambda: agent.said("web") == ["begins", "term", "edited", "begins"])
    agent.await_running("web", restarts=0)
    eventually(lambda: agent.instances("web") == [(0, "running")])


def test_an_edit_of_a_pod_with_a_fixed_uid_restarts_the_container_that_it_is_about_in_place(
    agent: WholeAgent,
) -> None:
    def write(script: str) -> None:
        pod = agent.pod("web", script)
        pod["metadata"]["uid"] = "fixed-by-its-user"
        pod["spec"]["containers"].append({**agent.container("beside"), "name": "beside"})
        agent.write("web.json", json.dumps(pod))

    write(SERVES)
    agent.begins()
    agent.await_serving("web")
    eventually(lambda: agent.said("beside") == ["begins"])
    eventually(lambda: "containerID" in agent.status("web", "beside"))
    beside = agent.status("web", "beside")["containerID"]
    write(f"say edited; {SERVES}")
    eventually(lambda: agent.said("web") == ["begins", "term", "edited", "begins"])
    agent.await_running("web", restarts=1)
    assert terminated(agent, "web", "lastState")["exitCode"] == 3
    # One that was edited while the agent was away is seen by the next one; what was not, stays.
    agent.dies()
    write(f"say again; {SERVES}")
    agent.begins()
    eventually(lambda: agent.said("web")[-3:] == ["term", "again", "begins"])
    agent.await_running("web", restarts=2)
    assert agent.status("web", "beside")["containerID"] == beside
    assert agent.said("beside") == ["begins"]


def test_a_manifest_that_went_meanwhile_has_its_pod_stopped_as_its_containers_say(
    agent: WholeAgent,
) -> None:
    hook = {"preStop": {"exec": {"command": in_container("say hook; sleep 2; say hooked")}}}
    slow = SERVES.replace("say term;", "say term; sleep 2; say late;")
    agent.serve("web", slow, main={"lifecycle": hook})
    agent.serve("stays")
    agent.begins()
    agent.await_serving("web", "stays")
    agent.dies()
    agent.withdraw("web")
    agent.begins()
    eventually(lambda: not agent.instances("web"))
    assert agent.said("web") == ["begins", "hook", "hooked", "term", "late"]
    assert agent.said("stays") == ["begins"]


def test_sidecars_end_last_though_the_agent_is_killed_meanwhile(agent: WholeAgent) -> None:
    sidecar = {
        **agent.container("web", SERVES.replace("say term", "say side")),
        "name": "side",
        "restartPolicy": "Always",
    }
    slow = SERVES.replace("say term;", "say term; sleep 2; say late;")
    agent.serve("web", slow, initContainers=[sidecar])
    agent.begins()
    agent.await_serving("web", times=2)
    agent.withdraw("web")
    eventually(lambda: "term" in agent.said("web"))
    agent.dies()
    agent.begins()
    agent.await_nothing()
    assert agent.said("web") == ["begins", "begins", "term", "late", "side"]


def test_records_that_are_torn_cost_nothing_that_runs(agent: WholeAgent) -> None:
    names = ("one", "two", "three")
    for name in names:
        agent.serve(name)
    agent.begins()
    agent.await_running(*names)
    agent.dies()
    files = [path for path in agent.root_dir.rglob("*.json") if path.is_file()]
    assert files
    for number, path in enumerate(files):
        content = path.read_bytes()
        path.write_bytes((b"", content[: len(content) // 2], b"\0" * len(content))[number % 3])
    agent.begins()
    agent.await_running(*names, restarts=0)
    agent.end("two", 5)
    eventually(lambda: agent.said("two") == ["begins", "ends", "begins"])
    agent.await_running("two", restarts=1)
    assert [agent.said(name) for name in ("one", "three")] == [["begins"]] * 2
    assert "Traceback" not in agent.log()


@pytest.mark.timeout(400)
def test_many_pods_start_once_each_while_the_agent_is_killed_again_and_again(
    agent: WholeAgent,
) -> None:
    names = [f"pod-{number}" for number in range(16)]
    for name in names:
        agent.serve(name)
    kills = (2, 6, 11, 16)
    for enough in kills:
        agent.begins()
        eventually(
            lambda enough=enough: sum(bool(agent.said(name)) for name in names) >= enough,  # type: ignore[misc]
            3 * PATIENCE,  # starts that a kill has broken off are tried again after pauses
        )
        agent.dies()
    agent.begins()
    agent.await_running(*names)
    for name in names:
        # A process that ran when its start was cut off counts as an instance that has ended.
        eventually(
            lambda name=name: agent.said(name) == ["begins"] * (1 + restarts(agent, name)),  # type: ignore[misc]
        )
        assert restarts(agent, name) <= len(kills)
    for name in names:
        agent.withdraw(name)
    eventually(lambda: sum("term" in agent.said(name) for name in names) >= 5)
    agent.dies()
    agent.begins()
    agent.await_nothing()
    assert {agent.said(name).count("term") for name in names} == {1}
