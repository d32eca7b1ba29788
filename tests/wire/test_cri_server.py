"""A runtime behind a real socket that comes, goes, is replaced, and answers what no runtime should."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.container_runtime import (
    LookAtPod,
    PodContainersAre,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
)
from messages.pod_runtime import ContainerState, SandboxObserved
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.agent.process import eventually
from tests.support.cri.cri_stage import IMAGE, creation_in, cri_pod
from tests.support.cri.fake_cri import NEVER, Fault
from tests.support.cri.fake_server import FakeCriServer, cri_server
from tests.support.cri.live_cri import LiveCri, live_cri

POD = cri_pod()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeCriServer]:
    with cri_server(tmp_path / "cri.sock") as server:
        server.machine.images.ids[IMAGE] = f"sha256:{7:0>64x}"
        yield server


@pytest.fixture
def runtime(server: FakeCriServer, tmp_path: Path) -> Iterator[LiveCri]:
    with live_cri(server.socket, tmp_path) as runtime:
        runtime.is_there()
        yield runtime


def started(runtime: LiveCri) -> str:
    """Run the container ``main``, and return its id."""
    sandbox = runtime.call(RunSandbox(pod=POD, attempt=0))
    assert isinstance(sandbox, SandboxObserved), sandbox
    made: Any = runtime.call(creation_in(POD, sandbox))
    ran: Any = runtime.call(StartContainer(id=made.id))
    assert ran.state is ContainerState.RUNNING
    container_id: str = ran.id
    return container_id.removeprefix("containerd://")


def ends_while_asked(server: FakeCriServer, method: str) -> None:
    """End the runtime once it has begun to carry out a call."""
    eventually(lambda: server.cri.count(method) > 0)
    server.stop()


def test_it_is_found_again_each_time_with_what_became_of_its_containers(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    container = started(runtime)
    for _ in range(3):
        server.stop()
        assert runtime.is_away()
        server.start()
        ((seen,),) = [each.containers for each in runtime.is_there().sandboxes]
        assert seen.state is ContainerState.RUNNING
    server.stop()
    runtime.is_away()
    server.do(lambda: server.machine.end(container, 42))
    server.start()
    ((ended,),) = [each.containers for each in runtime.is_there().sandboxes]
    assert (ended.state, ended.exit_code) == (ContainerState.EXITED, 42)


def test_a_socket_that_is_made_anew_by_another_runtime_is_that_ones(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    started(runtime)
    server.stop()
    runtime.is_away()
    with cri_server(server.socket) as other:
        other.cri.name, other.cri.version = "cri-o", "1.31.0"
        there = runtime.is_there()
        assert (there.name, there.sandboxes) == ("cri-o", ())


def test_a_directory_is_no_runtime_until_a_socket_is_there(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    server.stop()
    server.socket.mkdir()
    while "no socket" not in (said := runtime.is_away()):
        assert said
    server.socket.rmdir()
    server.start()
    runtime.is_there()


def test_a_call_during_which_the_runtime_ends_is_uncertain(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    server.cri.faults = [Fault(method="RunPodSandbox", delay=NEVER)]
    ending = threading.Thread(target=lambda: ends_while_asked(server, "RunPodSandbox"))
    ending.start()
    failure = runtime.call(RunSandbox(pod=POD, attempt=0))
    assert isinstance(failure, RuntimeFailure)
    assert failure.kind is RuntimeFailureKind.UNCERTAIN
    ending.join()  # or it would take the socket of the next server away
    server.start()
    seen = runtime.call(LookAtPod(uid=POD.uid))
    assert isinstance(seen, PodContainersAre)
    assert [each.sandbox.id for each in seen.sandboxes] == [*server.machine.sandboxes]
    assert server.cri.count("RunPodSandbox") == 1


def test_an_answer_of_100_mb_is_lost_and_nothing_else(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    def huge(reply: Any) -> Any:
        reply.status.message = "x" * 100_000_000
        return reply

    main = started(runtime)

    def is_of_another(asked: Any) -> bool:
        # An event may have ``main`` looked at just now.
        return bool(asked.container_id != main)

    server.cri.faults = [Fault(method="ContainerStatus", garbage=huge, of=is_of_another)]
    sandbox = next(iter(server.machine.sandboxes))
    seen: Any = runtime.call(LookAtPod(uid=POD.uid))
    assert [each.sandbox.id for each in seen.sandboxes] == [sandbox]
    made: Any = runtime.call(creation_in(POD, seen.sandboxes[0].sandbox, "beside"))
    assert isinstance(made, RuntimeFailure)
    seen = runtime.call(LookAtPod(uid=POD.uid))
    assert sorted(one.name for one in seen.sandboxes[0].containers) == ["beside", "main"]


def test_bytes_that_are_no_answer_are_a_failure_of_that_call(
    server: FakeCriServer, runtime: LiveCri
) -> None:
    def other(_: Any) -> Any:
        return cri.PodSandboxStatusResponse(
            info={"a": "b"}, status=cri.PodSandboxStatus(id="\x01\x02", created_at=1)
        )

    server.cri.faults = [Fault(method="RunPodSandbox", garbage=other)]
    assert isinstance(runtime.call(RunSandbox(pod=POD, attempt=0)), RuntimeFailure)
    seen: Any = runtime.call(LookAtPod(uid=POD.uid))
    assert len(seen.sandboxes) == 1


def test_a_refusal_of_a_megabyte_is_a_sentence(server: FakeCriServer, runtime: LiveCri) -> None:
    """gRPC carries no such text: what arrives is short, whatever it says."""
    refusal = RpcFailure(code=RpcCode.OTHER, message="no\n" * 300_000)
    server.cri.faults = [Fault(method="RunPodSandbox", failure=refusal)]
    failure = runtime.call(RunSandbox(pod=POD, attempt=0))
    assert isinstance(failure, RuntimeFailure)
    assert len(failure.message) <= 4096
    assert "\n" not in failure.message


STOPPABLE = """
import sys, pathlib, time
from tests.support.cri.fake_server import cri_server
with cri_server(pathlib.Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(120)
"""


def test_a_process_that_is_stopped_is_away_and_there_at_once_when_it_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cri.sock"
    with subprocess.Popen(
        [sys.executable, "-c", STOPPABLE, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with live_cri(path, tmp_path) as runtime:
                runtime.is_there()
                os.kill(process.pid, signal.SIGSTOP)
                said = runtime.is_away()
                assert "does not answer" in said
                os.kill(process.pid, signal.SIGCONT)
                runtime.is_there()
        finally:
            process.kill()


def test_one_that_takes_connections_and_says_nothing_does_not_answer(tmp_path: Path) -> None:
    path = tmp_path / "cri.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with live_cri(path, tmp_path) as runtime:
            assert runtime.is_away() == "it takes calls and does not answer within 2 s"
