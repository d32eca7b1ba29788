"""The agent as its users meet it: files, signals and endpoints of a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually, manifest
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

KUBEADM = ROOT / "tests" / "fixtures" / "configurations" / "kubeadm.yaml"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """Return an agent that all stories about files and crashes are told with, one after the other."""
    with AgentProcess(tmp_path_factory.mktemp("shared")) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests("--enable-chaos")
        yield agent
        assert agent.stops() == 0


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    """Return an agent that is not started yet."""
    with AgentProcess(tmp_path) as agent:
        yield agent


# Files.


def test_a_manifest_is_served_edited_kept_when_it_breaks_renamed_and_removed(
    shared: AgentProcess,
) -> None:
    shared.write("db.yaml", manifest("db", "registry.example/db:1"))
    eventually(lambda: "db-node1" in shared.pods())
    web = shared.pods()["web-node1"]

    # An edit is another pod of the same name.
    first = shared.pods()["db-node1"]
    shared.write("db.yaml", manifest("db", "registry.example/db:2"))
    eventually(lambda: shared.images().get("db-node1") == "registry.example/db:2")
    second = shared.pods()["db-node1"]
    assert second != first

    # A broken edit stops nothing, and says where it is broken.
    shared.write("db.yaml", "apiVersion: v1\nkind: [\n")
    eventually(lambda: shared.verdicts().get("db.yaml") == "kept")
    assert shared.pods()["db-node1"] == second

    # Repaired, then renamed: the same pod all the time.
    shared.write("db.yaml", manifest("db", "registry.example/db:2"))
    eventually(lambda: shared.verdicts().get("db.yaml") == "accepted")
    (shared.manifests / "db.yaml").rename(shared.manifests / "database.yaml")
    eventually(lambda: shared.verdicts() == {"database.yaml": "accepted", "web.yaml": "accepted"})
    assert shared.pods()["db-node1"] == second

    (shared.manifests / "database.yaml").unlink()
    eventually(lambda: shared.pods() == {"web-node1": web})


def test_hangup_makes_the_sources_look_again(agent: AgentProcess) -> None:
    # The one file has two names, and whoever watches the one is not told of writes to the other.
    elsewhere = agent.log_file.with_name("web.yaml")
    elsewhere.write_text(manifest("web"))
    agent.manifests.mkdir()
    (agent.manifests / "web.yaml").hardlink_to(elsewhere)
    agent.start_on_manifests("--file-check-frequency=1h")
    eventually(lambda: agent.images() == {"web-node1": "registry.example/web:1"})
    elsewhere.write_text(manifest("web", "registry.example/web:2"))
    agent.send(signal.SIGHUP)
    eventually(lambda: agent.images().get("web-node1") == "registry.example/web:2")
    assert agent.stops() == 0


# Crashes.


@pytest.mark.parametrize("name", ["pod-manager", "source/file", "sources", "http-server"])
def test_a_crashed_actor_is_back_at_once_and_nothing_is_lost(
    shared: AgentProcess, name: str
) -> None:
    pods = shared.pods()
    restarts = shared.actors()[name]["restarts"]
    began = time.monotonic()
    status, body = shared.get(f"/debug/actors/{name}/crash", method="POST")
    assert (status, json.loads(body)) == (202, {"crashed": name})
    # Meanwhile the agent as a whole is well, and what it runs is what it ran.
    assert eventually(lambda: shared.get("/healthz")) == (200, "ok")
    assert eventually(lambda: [shared.pods()]) == [pods]
    eventually(
        lambda: (
            shared.actors()[name]["restarts"] == restarts + 1
            and shared.actors()[name]["state"] == "running"
            and shared.pods() == pods
        )
    )
    print(f"{name} was back after {time.monotonic() - began:.3f} s")  # noqa: T201  # for people
    assert shared.get("/readyz/file") == (200, "ok")
    assert "SyncLoop REMOVE" not in shared.log().partition("crashed on request")[2]


def test_no_crash_of_pod_manager_makes_anybody_say_that_there_are_no_pods(
    agent: AgentProcess,
) -> None:
    for number in range(20):
        agent.write(f"web{number}.yaml", manifest(f"web{number}"))
    agent.start_on_manifests("--enable-chaos")
    pods = agent.pods()
    assert len(pods) == 20
    for _ in range(4):
        assert agent.get("/debug/actors/pod-manager/crash", method="POST")[0] == 202
        for _ in range(20):
            assert agent.pods() == pods
            assert 'kubelet_desired_pods{static="true"} 20.0' in agent.get("/metrics")[1]
    assert agent.stops() == 0


def test_user_signal_1_writes_the_tree_and_every_stack_to_the_log(shared: AgentProcess) -> None:
    shared.send(signal.SIGUSR1)
    # The stacks come in any order, line by line.
    shared.logs("thread=http-loop")
    shared.logs("thread=MainThread")
    shared.logs("run_forever")
    assert "actor=source/file state=running" in shared.log()


def test_a_root_that_gives_up_ends_the_process_with_code_70(agent: AgentProcess) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests("--enable-chaos")
    crash = "/debug/actors/pod-manager/crash"
    # Each waits in the mailbox for the next life: five restarts are tolerated, the sixth is too many.
    assert [agent.get(crash, method="POST")[0] for _ in range(6)] == [202] * 6
    assert agent.ends() == 70
    assert "stopped              [process] exit_code=70" in agent.log()


def test_a_root_that_somebody_crashes_ends_the_process_with_code_70(agent: AgentProcess) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests("--enable-chaos")
    shown = agent.actors()
    assert (shown["actorlet"]["parent"], shown["actorlet"]["onExhausted"]) == ("", "escalate")
    assert agent.get("/debug/actors/actorlet/crash", method="POST")[0] == 202
    assert agent.ends() == 70


def test_a_manifest_that_breaks_while_no_agent_runs_keeps_its_pod(agent: AgentProcess) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests()
    pods = agent.pods()
    kept = agent.root_dir / "last-good-manifests"
    eventually(lambda: any(kept.glob("*.page")))
    agent.send(signal.SIGKILL)
    assert agent.ends() == -signal.SIGKILL

    agent.write("web.yaml", "apiVersion: v1\nkind: [\n")
    agent.start_on_manifests()

    assert agent.pods() == pods
    (found,) = agent.json("/sourcez")["sources"][0]["manifests"]
    assert (found["verdict"], found["pod"]) == ("kept", "default/web-node1")
    assert "line 3" in found["reason"]

    agent.write("web.yaml", manifest("web"))
    eventually(lambda: agent.verdicts() == {"web.yaml": "accepted"})
    assert agent.pods() == pods


def test_a_killed_agent_starts_again_with_the_same_pods(agent: AgentProcess) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.write("db.yaml", manifest("db"))
    agent.start_on_manifests()
    pods = eventually(agent.pods)
    agent.send(signal.SIGKILL)
    assert agent.ends() == -signal.SIGKILL
    agent.start_on_manifests()
    assert eventually(agent.pods) == pods
    assert agent.stops() == 0


# How it ends.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_it_in_order_and_a_late_second_one_changes_nothing(
    agent: AgentProcess, number: signal.Signals
) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests()
    agent.send(number)
    agent.logs("stopped")
    agent.send(number)
    assert agent.ends() == 0
    assert "exit_code=0" in agent.log()
    assert "Traceback" not in agent.log()
    assert "SyncLoop REMOVE" not in agent.log()


def insist(process: subprocess.Popen[str]) -> None:
    """Send SIGTERM again and again until it ends."""
    pause = threading.Event()
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        pause.wait(0.1)


@pytest.mark.parametrize(
    ("deadline", "go_on", "why"),
    [
        ("60", insist, 'why="a second signal to stop"'),
        ("0.1", subprocess.Popen.wait, 'why="stopping takes too long"'),
    ],
)
def test_something_that_hangs_does_not_keep_the_process(
    deadline: str, go_on: Callable[[subprocess.Popen[str]], object], why: str
) -> None:
    command = [sys.executable, "-m", "tests.support.agent.stuck_agent", deadline]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "started" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert "signal=SIGTERM" in process.stderr.readline()
        go_on(process)
        assert process.wait(PATIENCE) == 1
        said = process.stderr.read()
    assert why in said
    assert "Traceback" not in said


# What keeps it from starting.


def test_a_port_in_use_is_one_sentence_and_code_1(agent: AgentProcess) -> None:
    with socket.create_server(("127.0.0.1", agent.health_port)):
        assert agent.start().ends() == 1
    place = f"127.0.0.1:{agent.health_port}"
    said = agent.log().splitlines()
    assert said == [f"actorlet: cannot listen on the healthz port {place}: Address already in use"]


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("file", "actorlet: --root-dir {} is not a directory\n"),
        ("/proc/actorlet", "actorlet: cannot write to --root-dir {}: No such file or directory\n"),
    ],
)
def test_a_root_directory_that_cannot_be_written_is_one_sentence_and_code_1(
    agent: AgentProcess, root: str, said: str
) -> None:
    agent.root_dir = agent.log_file.parent / root
    agent.log_file.with_name("file").write_text("")
    assert agent.start().ends() == 1
    assert agent.log() == said.format(agent.root_dir)


def test_a_second_agent_on_one_root_directory_is_one_sentence_and_code_1(
    agent: AgentProcess, tmp_path: Path
) -> None:
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests()
    (tmp_path / "second").mkdir()
    with AgentProcess(tmp_path / "second") as second:
        second.root_dir = agent.root_dir
        assert second.start().ends() == 1
        assert second.log() == (
            f"actorlet: another agent (process {agent.process.pid}) uses --root-dir "
            f"{agent.root_dir}: stop it, or choose another directory\n"
        )
    # The first one goes on, and what is left of it after a SIGKILL is in nobody's way.
    assert list(agent.pods()) == ["web-node1"]
    agent.send(signal.SIGKILL)
    agent.ends()
    agent.start_on_manifests()
    assert list(agent.pods()) == ["web-node1"]


def test_a_second_agent_on_one_container_runtime_is_one_sentence_and_code_1(
    agent: AgentProcess, tmp_path: Path
) -> None:
    socket = tmp_path / "runtime.sock"
    (tmp_path / "link.sock").symlink_to(socket)
    on = "--container-runtime-endpoint=unix://{}"
    flags = ("--runtime=cri", "--cgroups-per-qos=false", "--enforce-node-allocatable=")
    agent.start(*flags, on.format(socket))
    eventually(lambda: "started" in agent.log())
    (tmp_path / "second").mkdir()
    with AgentProcess(tmp_path / "second") as second:
        assert second.start(*flags, on.format(tmp_path / "link.sock")).ends() == 1
        assert second.log() == (
            f"actorlet: another agent (process {agent.process.pid}) uses the container runtime at "
            f"{tmp_path}/link.sock: stop it, or name another socket\n"
        )
        agent.send(signal.SIGKILL)
        agent.ends()
        second.start(*flags, on.format(tmp_path / "link.sock"))
        eventually(lambda: "started" in second.log())


def test_a_manifest_path_that_is_a_socket_is_one_sentence_and_code_2(agent: AgentProcess) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(agent.manifests))
        assert agent.start(f"--pod-manifest-path={agent.manifests}").ends() == 2
    complaint = "is a socket; it should be a directory or a file"
    assert agent.log() == f"actorlet: the manifest path {agent.manifests} {complaint}\n"


# With nothing, with a kubelet's configuration, with systemd.


def test_with_nothing_to_do_it_runs_alone_and_says_so(agent: AgentProcess) -> None:
    agent.start()
    eventually(agent.is_ready)
    assert agent.json("/sourcez") == {"sources": []}
    assert agent.get("/healthz", port=agent.health_port) == (200, "ok")
    assert 'warning="No source of pods is configured' in agent.log()
    assert agent.stops() == 0


def test_the_first_line_of_the_log_says_what_runs_the_pods_and_where_the_page_is(
    agent: AgentProcess,
) -> None:
    agent.start_on_manifests()
    first = agent.log().splitlines()[0]
    assert "starting" in first
    assert f"node=node1 runtime=hollow page=http://127.0.0.1:{agent.port}/ " in first


def test_a_directory_of_hollow_pods_is_no_place_for_real_ones_unless_somebody_insists(
    agent: AgentProcess, tmp_path: Path
) -> None:
    agent.start_on_manifests()
    assert agent.stops() == 0
    flags = ("--runtime=cri", f"--container-runtime-endpoint=unix://{tmp_path}/none.sock")
    pods = ("--cgroups-per-qos=false", "--enforce-node-allocatable=")
    agent.start(*flags, *pods)
    assert agent.ends() == 1
    assert agent.log().splitlines()[-1] == (
        f"actorlet: the pods of --root-dir {agent.root_dir} are hollow (--runtime hollow), and this "
        "agent's run in containers (--runtime cri): choose another directory, or insist with "
        "--change-runtime"
    )
    agent.start(*flags, *pods, "--change-runtime")
    eventually(lambda: "there is no socket at" in agent.get("/readyz?verbose")[1])
    assert agent.stops() == 0


def test_the_configuration_that_kubeadm_writes_works_unchanged(agent: AgentProcess) -> None:
    agent.write("web.yaml", manifest("web"))
    (port,) = free_ports(1)  # it has a clientCAFile, so that there is a TLS port
    agent.start_on_manifests(f"--config={KUBEADM}", f"--port={port}", "--logging-format=json")
    eventually(lambda: list(agent.pods()) == ["web-node1"])
    shown = agent.json("/configz")["kubeletconfig"]
    assert shown["clusterDomain"] == "cluster.local"
    assert shown["readOnlyPort"] == agent.port
    agent.send(signal.SIGUSR1)
    agent.logs('"thread": "MainThread"')
    assert agent.stops() == 0
    # Every line of it can be parsed, thread dumps and warnings included.
    events = [json.loads(line) for line in agent.log().splitlines()]
    assert {"configuration", "starting", "SyncLoop ADD", "started", "thread", "stopped"} <= {
        event["msg"] for event in events
    }
    assert {tuple(event)[:4] for event in events} == {("ts", "level", "logger", "msg")}


def told(manager: socket.socket) -> bytes:
    """Return what systemd is told next, without what only people read."""
    datagrams = iter(lambda: manager.recv(100), None)
    return next(each for each in datagrams if not each.startswith(b"STATUS="))


def test_systemd_is_told_of_readiness_of_life_and_of_the_stop(agent: AgentProcess) -> None:
    place = agent.log_file.with_name("notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(place))
        manager.settimeout(PATIENCE)
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests(
            environment={"NOTIFY_SOCKET": str(place), "WATCHDOG_USEC": "1000000"}
        )
        assert [told(manager) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        assert agent.stops() == 0
        rest = iter(lambda: told(manager), b"STOPPING=1")
        assert set(rest) <= {b"WATCHDOG=1"}


# Its log.


def test_a_log_that_nobody_reads_any_more_hurts_nobody(agent: AgentProcess) -> None:
    reader, writer = os.pipe()
    agent.write("web.yaml", manifest("web"))
    agent.start(f"--pod-manifest-path={agent.manifests}", stderr=writer)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    eventually(agent.is_ready)
    agent.write("db.yaml", manifest("db"))
    eventually(lambda: "db-node1" in agent.pods())
    assert agent.stops() == 0


def test_a_log_whose_reader_is_stuck_holds_up_nobody(agent: AgentProcess) -> None:
    reader, writer = os.pipe()
    # Full from the beginning: whoever waits for this pipe waits for ever.
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        [os.write(writer, bytes(4096)) for _ in range(100)]
    os.set_blocking(writer, True)
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests(stderr=writer)
    os.close(writer)
    agent.write("db.yaml", manifest("db"))
    eventually(lambda: "db-node1" in agent.pods())
    assert agent.get("/healthz") == (200, "ok")
    assert agent.stops() == 0
    os.close(reader)
