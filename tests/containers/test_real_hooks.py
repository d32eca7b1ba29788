"""Hooks of real containers, in the whole agent: when they are called, and what becomes of the container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent, in_container
from tests.support.wire.http1_server import Http1Server, http1_server

BEGUN = "until [ $(grep -c begins /told/web) -gt $(grep -c term /told/web) ]; do sleep 0.05; done"
"""Waits until the container has come to its ``trap``: a hook may be there before."""


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        agent.begins()
        yield agent


@pytest.fixture
def server() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


def serve(agent: WholeAgent, grace: int = 10, **lifecycle: dict[str, Any]) -> None:
    """Put the manifest of a pod with hooks in place."""
    agent.serve("web", main={"lifecycle": lifecycle}, terminationGracePeriodSeconds=grace)


def does(script: str) -> dict[str, Any]:
    """Return a hook that runs a script, in which ``say`` notes something."""
    return {"exec": {"command": in_container(script)}}


def test_hooks_are_called_after_the_start_and_before_the_end(agent: WholeAgent) -> None:
    serve(agent, postStart=does(f"{BEGUN}; say started"), preStop=does("sleep 1; say stops"))
    agent.await_running("web")
    assert agent.said("web") == ["begins", "started"]
    agent.withdraw("web")
    agent.await_nothing()
    assert agent.said("web") == ["begins", "started", "stops", "term"]


def test_a_page_is_asked_for_on_loopback_where_the_pod_has_the_network_of_the_node(
    agent: WholeAgent, server: Http1Server
) -> None:
    serve(agent, postStart={"httpGet": {"path": "/started?web", "port": server.port}})
    agent.await_running("web")
    (seen,) = server.seen
    assert seen.target == "/started?web"
    assert seen.values("user-agent") == ["kube-lifecycle/1.34"]


def test_a_container_whose_first_hook_fails_is_killed_and_started_again(agent: WholeAgent) -> None:
    serve(agent, postStart=does(f"{BEGUN}; echo s3cr3t; exit 7"))
    eventually(lambda: agent.said("web")[:4] == ["begins", "term"] * 2)
    eventually(lambda: waits_for(agent) == "CrashLoopBackOff")
    agent.logs("PostStartHook failed: the command exited with code 7")
    assert "s3cr3t" not in agent.log()


def waits_for(agent: WholeAgent) -> str:
    """Return why the container waits; empty if it does not."""
    waiting = (agent.status("web").get("state") or {}).get("waiting") or {}
    return str(waiting.get("reason", ""))


def test_a_command_that_is_not_there_fails_its_hook_and_holds_no_stop_up(
    agent: WholeAgent,
) -> None:
    serve(agent, preStop={"exec": {"command": ["no-such-command"]}})
    agent.await_serving("web")
    agent.withdraw("web")
    agent.await_nothing()
    agent.logs("PreStopHook failed: ")


def test_a_hook_that_takes_too_long_is_given_up_when_the_grace_is_over(agent: WholeAgent) -> None:
    serve(agent, grace=2, preStop={"exec": {"command": ["sleep", "600"]}})
    agent.await_serving("web")
    agent.withdraw("web")
    agent.await_nothing()
    agent.logs("PreStopHook failed: given up after 2s")


def test_an_agent_that_is_killed_in_a_hook_leaves_the_stop_to_the_next_one(
    agent: WholeAgent,
) -> None:
    serve(agent, preStop=does("say stops; sleep 2"))
    agent.await_serving("web")
    agent.withdraw("web")
    eventually(lambda: "stops" in agent.said("web"))
    agent.dies()
    agent.begins()
    agent.await_nothing()
