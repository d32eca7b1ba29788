"""With records hollow containers outlive the agent's process, as real ones do."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from files.records import UNUSABLE
from messages.container_runtime import (
    ContainersAre,
    FollowContainers,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved
from messages.units import Seconds
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from runtimes.hollow.record_file import HEADER, HOLLOW_RECORDS
from tests.environment.crashes import CrashesAmid, How
from tests.support.kernel.clock import EPOCH
from tests.support.runtimes.hollow_stage import HollowStage, hollow_pod, hollow_stage

PLAIN, ENDS = hollow_pod("plain"), hollow_pod("ends", run_for="60s", exits="3")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hollow" / "containers.json"


def process(file: Path, at: float = 0.0) -> AbstractContextManager[HollowStage]:
    """Start a process ``at`` that time."""
    return hollow_stage(records=file, at=at)


def everything(stage: HollowStage) -> dict[str, list[ContainerObserved]]:
    """Return the containers of each pod."""
    return {each.pod.name: list(each.containers) for each in stage.follow().sandboxes}


def test_containers_go_on_in_the_next_process_as_they_were(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.started(ENDS)
        stage.play.advance(1.0)
        before = stage.follow().sandboxes
    with process(file, at=30.0) as stage:
        assert stage.follow().sandboxes == before
        stage.play.advance(29.0)
        assert stage.told() == []
        stage.play.advance(2.0)
        (fact,) = stage.told()
        (ended,) = fact.sandboxes[0].containers
        assert (ended.exit_code, ended.finished_at) == (3, EPOCH + 60.0)


def test_what_ended_meanwhile_has_ended_when_it_was_due(file: Path) -> None:
    with process(file) as stage:
        stage.started(ENDS)
        stage.play.advance(1.0)
    with process(file, at=1000.0) as stage:
        (ended,) = everything(stage)["ends"]
        assert (ended.state, ended.finished_at) == (ContainerState.EXITED, EPOCH + 60.0)


def test_what_changed_is_on_record_though_the_runtime_crashes_while_it_has_it_saved(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process(file) as stage:
        crashes = CrashesAmid(monkeypatch, stage.play.clock.monotonic)
        stage.started(PLAIN)  # its sandbox is saved at once, the rest in a moment
        crashes.arm(1, How.UNTOLD)
        stage.play.advance(2.0)
        before = stage.follow().sandboxes
        assert stage.play.describe()[HOLLOW_CONTAINERS.path].restarts == 1
    with process(file, at=30.0) as stage:
        assert stage.follow().sandboxes == before


def test_a_container_gets_ready_and_a_sandbox_dies_in_the_next_process(file: Path) -> None:
    pod = hollow_pod(ready_after="20s", sandbox_dies_after="40s")
    with process(file) as stage:
        stage.started(pod)
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert not everything(stage)["web"][0].is_ready
        stage.play.advance(11.0)
        assert everything(stage)["web"][0].is_ready
        stage.play.advance(20.0)
        assert everything(stage)["web"][0].exit_code == 137


def test_a_stop_goes_on(file: Path) -> None:
    pod = hollow_pod(ignores_sigterm="true")
    with process(file) as stage:
        container = stage.started(pod)
        stage.play.advance(1.0)  # its start is on record
        stage.send(StopContainer(id=container.id, grace=Seconds(30.0)))
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert everything(stage)["web"][0].state is ContainerState.RUNNING
        stage.play.advance(22.0)
        assert everything(stage)["web"][0].finished_at == EPOCH + 31.0


def test_addresses_that_are_in_use_are_not_given_again(file: Path) -> None:
    with process(file) as stage:
        for name in ("a", "b", "c"):
            stage.started(hollow_pod(name))
        b = stage.memory.core.machine.inventory.contents(hollow_pod("b").uid)[0].sandbox
        stage.call(StopSandbox(id=b.id))
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        ips = [stage.sandbox(hollow_pod(name)).ips for name in ("d", "e")]
        assert ips == [("10.244.0.5",), ("10.244.0.6",)]


def test_what_was_removed_does_not_come_back(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        sandbox = stage.sandbox(hollow_pod("gone"))
        stage.play.advance(1.0)
        stage.call(RemoveSandbox(id=sandbox.id))
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert list(everything(stage)) == ["plain"]


def test_what_was_stopped_and_removed_later_does_not_come_back_either(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        sandbox = stage.sandbox(hollow_pod("gone"))
        stage.call(StopSandbox(id=sandbox.id))
        stage.play.advance(1.0)  # saved as stopped
        stage.call(RemoveSandbox(id=sandbox.id))
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert list(everything(stage)) == ["plain"]


def test_a_container_of_the_next_process_has_another_id(file: Path) -> None:
    with process(file) as stage:
        first = stage.started(PLAIN).id
        sandbox = stage.memory.core.machine.inventory.contents(PLAIN.uid)[0].sandbox
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert stage.created(PLAIN, sandbox, attempt=1).id != first


def test_what_was_told_before_the_records_were_read_waits_for_them(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.play.advance(1.0)
    stage = HollowStage(stage.memory.core.machine.rules, records=file)
    follow = FollowContainers(subscriber=stage.facts)
    stage.play.system.start()
    stage.play.port(HOLLOW_CONTAINERS).tell(follow)
    stage.play.settle()
    first = stage.facts.next()
    assert isinstance(first, ContainersAre)
    assert len(first.sandboxes) == 1
    stage.play.stop()


def test_crashes_of_both_actors_lose_nothing(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.play.system.crash(HOLLOW_RECORDS.path)
        stage.play.advance(1.0)
        stage.started(ENDS)
        stage.crash()
        stage.play.advance(1.0)
        before = stage.follow().sandboxes
    with process(file, at=2.0) as stage:
        assert stage.follow().sandboxes == before


def test_changes_in_quick_succession_are_saved_together(file: Path) -> None:
    with process(file) as stage:
        for number in range(50):
            stage.started(hollow_pod(f"p{number}"))
        handled = stage.play.describe()[HOLLOW_RECORDS.path].handled
        stage.play.advance(1.0)
        assert handled <= 3
        assert stage.play.describe()[HOLLOW_RECORDS.path].handled <= handled + 1
    with process(file, at=2.0) as stage:
        assert len(everything(stage)) == 50


# --- files that are not as they should be --------------------------------------------------------------


def test_a_line_that_was_not_written_to_its_end_is_dropped(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.play.advance(1.0)
        stage.started(ENDS)
        stage.play.advance(1.0)
    file.write_bytes(file.read_bytes()[:-20])
    with process(file, at=10.0) as stage:
        assert everything(stage)["ends"] == []  # its sandbox was in an earlier line
        stage.started(ENDS)
        stage.play.advance(1.0)
    with process(file, at=20.0) as stage:
        assert [len(containers) for containers in everything(stage).values()] == [1, 1]


@pytest.mark.parametrize(
    "content",
    [b"something else\n", HEADER.replace(b"1", b"2"), b"\0" * 5000],
    ids=["foreign", "future", "zeros"],
)
def test_a_foreign_or_future_file_is_set_aside_and_said_once(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with capture_logs() as logs, process(file) as stage:
        assert everything(stage) == {}
        stage.started(PLAIN)
        stage.play.advance(1.0)
    assert [line["event"] for line in logs].count("records of hollow containers are set aside") == 1
    assert file.with_suffix(UNUSABLE).read_bytes() == content
    with process(file, at=10.0) as stage:
        assert list(everything(stage)) == ["plain"]


@pytest.mark.parametrize("line", [b"{}", b'{"uid":1}', b"[" * 5000, b"\xff", b'{"uid":"u","x":1'])
def test_a_line_that_cannot_be_read_harms_no_other(file: Path, line: bytes) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.play.advance(1.0)
    file.write_bytes(file.read_bytes() + line + b"\n")
    with capture_logs() as logs, process(file, at=10.0) as stage:
        assert list(everything(stage)) == ["plain"]
        stage.started(ENDS)
        stage.play.advance(1.0)
    assert {"event": "records of hollow pods cannot be read", "records": 1}.items() <= next(
        line.items() for line in logs if "cannot be read" in line["event"]
    )
    with process(file, at=20.0) as stage:
        assert list(everything(stage)) == ["plain", "ends"]


def test_where_nothing_can_be_written_everything_runs_and_it_is_said_once(file: Path) -> None:
    file.parent.write_text("in the way")
    with capture_logs() as logs, process(file) as stage:
        stage.started(PLAIN)
        stage.play.advance(60.0)
        stage.started(ENDS)
        stage.play.advance(1.0)
        assert stage.described().containers == {ContainerState.RUNNING: 2}
        file.parent.unlink()
        stage.play.advance(31.0)
    said = [line for line in logs if line["event"].startswith("records of hollow")]
    assert [line["log_level"] for line in said] == ["warning", "info"]
    with process(file, at=80.0) as stage:
        assert list(everything(stage)) == ["plain", "ends"]


def test_the_file_is_for_the_agent_alone_and_does_not_grow_for_ever(file: Path) -> None:
    long = hollow_pod("long", message="x" * 4000, run_for="1s", exits="1")
    with process(file) as stage:
        stage.started(PLAIN)
        for attempt in range(400):
            container = stage.started(long, attempt=attempt)
            stage.play.advance(2.0)
            stage.call(RemoveContainer(id=container.id))
            stage.play.advance(1.0)
        assert file.stat().st_size < 2_000_000
        assert file.stat().st_mode & 0o077 == 0
    with process(file, at=5000.0) as stage:
        assert list(everything(stage)) == ["plain", "long"]


def test_a_sandbox_is_asked_for_while_the_first_one_is_known(file: Path) -> None:
    with process(file) as stage:
        stage.started(PLAIN)
        stage.play.advance(1.0)
    with process(file, at=10.0) as stage:
        assert stage.refused(RunSandbox(pod=PLAIN, attempt=0)).message
        assert isinstance(stage.call(RunSandbox(pod=PLAIN, attempt=1)), SandboxObserved)
