"""The keeper of container logs: links, rotations, and what it removes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from actors.logs.directories import LogDirectory
from actors.logs.layout import LoggedPod
from actors.logs.messages import LOG_KEEPER
from kernel import Key
from messages.changes import Op, PodChange
from messages.container_logs import LogOwner
from messages.container_runtime import PodContainersAre, RuntimeIsAway
from messages.pod_lives import PodLife
from messages.pod_manager import PodsAre, PodsChanged
from messages.pod_runtime import ContainerState
from messages.pods import FILE, PodUid
from tests.support.builders import make_pod
from tests.support.runtimes.log_files import POD, WrittenLog, as_lines, shown
from tests.support.runtimes.logging_runtime import LogStage, log_stage

GONE = LoggedPod("shop", "gone", PodUid("dead"))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[LogStage]:
    with log_stage(tmp_path) as found:
        yield found


def fill(log: WrittenLog, lines: int = 20) -> None:
    """Make a log longer than 1,000 bytes."""
    for _ in range(lines):
        log.write(b"%4d" % len(log.lines) + b"x" * 50)


# What waits while the disk does not answer.


def test_what_waits_for_a_disk_that_hangs_grows_with_the_pods_and_not_with_time(
    stage: LogStage,
) -> None:
    stage.play.start()
    log = stage.container(state=ContainerState.CREATED)
    keeper = stage.play.port(LOG_KEEPER)
    pod, other = (make_pod(name, uid=name) for name in ("web", "other"))
    for _ in range(1000):
        keeper.tell(RuntimeIsAway(message="connect: no such file or directory"))
        keeper.tell(stage.runtime.everything())
        for uid in (POD.uid, PodUid("other")):
            keeper.tell(PodContainersAre(uid=uid, sandboxes=()))
        keeper.tell(PodsAre(source=FILE, pods=()))
        for op in (Op.ADD, Op.UPDATE, Op.REMOVE):
            changes = tuple(PodChange(op=op, pod=each) for each in (pod, other))
            keeper.tell(PodsChanged(source=FILE, changes=changes))
    stage.runtime.logs["containerd://c0ffee"] = (log, ContainerState.RUNNING)
    keeper.tell(PodContainersAre(uid=POD.uid, sandboxes=stage.runtime.of(POD)))
    assert stage.play.waiting(LOG_KEEPER) == 5
    stage.play.settle()
    assert stage.linked() == {"web_shop_main-c0ffee.log": str(log.path)}


# Links.


def test_a_log_is_linked_for_collectors_as_soon_as_its_container_was_started(
    stage: LogStage,
) -> None:
    stage.play.start()
    log = stage.container(state=ContainerState.CREATED)
    stage.tell_pod()
    assert stage.linked() == {}
    stage.runtime.logs["containerd://c0ffee"] = (log, ContainerState.RUNNING)
    stage.tell_pod()
    assert stage.linked() == {"web_shop_main-c0ffee.log": str(log.path)}


def test_containers_that_were_there_before_the_agent_are_linked(stage: LogStage) -> None:
    stage.container(state=ContainerState.EXITED)
    stage.links.mkdir()
    (stage.links / "web_shop_main-c0ffee.log").symlink_to("/elsewhere/0.log")
    stage.play.start()
    assert list(stage.linked().values()) == [str(stage.root / "shop_web_0a1b/main/0.log")]


def test_a_file_in_the_place_of_a_link_is_left_alone(stage: LogStage) -> None:
    stage.container()
    stage.links.mkdir()
    path = stage.links / "web_shop_main-c0ffee.log"
    path.write_text("mine")
    stage.play.start()
    stage.next_round()
    assert path.read_text() == "mine"


def test_links_to_logs_that_are_gone_are_removed_and_no_others(stage: LogStage) -> None:
    stage.links.mkdir()
    dangling = str(stage.root / "shop_old_1/main/0.log")
    for name, target in [
        ("old_shop_main-1.log", dangling),
        ("a_b_c-1.log", "/nowhere"),
        ("x", dangling),
    ]:
        (stage.links / name).symlink_to(target)
    stage.play.start()
    stage.play.advance(60.0)
    assert sorted(stage.linked()) == ["a_b_c-1.log", "x"]


def test_links_stay_as_they_are_until_the_runtime_has_said_what_it_has(stage: LogStage) -> None:
    stage.links.mkdir()
    (stage.links / "a_b_c-1.log").symlink_to(stage.root / "b_a_1/c/0.log")
    stage.runtime.is_away = True
    stage.play.start()
    stage.play.advance(130.0)
    assert sorted(stage.linked()) == ["a_b_c-1.log"]


# Rotations.


def test_many_logs_are_rotated_by_several_workers_and_no_line_is_lost(tmp_path: Path) -> None:
    with log_stage(tmp_path, workers=4) as stage:
        logs = [
            stage.container(f"containerd://{number}", name=f"main-{number}") for number in range(18)
        ]
        stage.play.start()
        for _ in range(3):
            for log in logs:
                fill(log)
            stage.next_round()
        for log in logs:
            assert len(log.rotated()) == 3
            assert shown(log, with_rotated=True) == as_lines(log.texts())
        assert (stage.described().rotated, stage.described().failed) == (54, 0)


def test_with_several_workers_a_trouble_of_one_log_is_said_and_keeps_no_other(
    tmp_path: Path,
) -> None:
    with log_stage(tmp_path, workers=4) as stage, capture_logs() as said:
        logs = [
            stage.container(f"containerd://{number}", name=f"main-{number}") for number in range(3)
        ]
        stage.play.start()
        folder = logs[1].path.parent
        folder.rename(folder.with_name("aside"))
        folder.symlink_to("aside")  # no link is followed
        for log in logs:
            fill(log)
        stage.next_round()
        assert [len(log.rotated()) for log in (logs[0], logs[2])] == [1, 1]
        assert not list((folder.parent / "aside").glob("*.log.*"))
        warnings = [each for each in said if each["log_level"] == "warning"]
        assert "rotate" in [each["work"] for each in warnings]


def test_a_log_that_is_too_long_is_rotated_and_no_line_is_lost(stage: LogStage) -> None:
    log = stage.container()
    stage.play.start()
    for _ in range(3):
        fill(log)
        stage.next_round()
    log.write(b"last")
    assert len(log.rotated()) == 3
    assert [path.suffix for path in log.rotated()][:2] == [".gz", ".gz"]
    assert shown(log, with_rotated=True) == as_lines(log.texts())
    described = stage.described()
    assert (described.rotated, described.failed) == (3, 0)
    size = sum(path.stat().st_size for path in log.path.parent.iterdir())
    assert described.used_bytes == {LogOwner(POD.uid, "shop", "web", "main"): size}


def test_short_logs_and_logs_of_containers_that_ended_are_left_alone(stage: LogStage) -> None:
    short, ended = (
        stage.container(),
        stage.container("containerd://2", ContainerState.EXITED, name="b"),
    )
    fill(short, 5)
    fill(ended)
    stage.play.start()
    stage.next_round()
    assert short.rotated() == ended.rotated() == []


@pytest.mark.parametrize("max_size", [-1, 10**9])
def test_nothing_is_rotated_below_the_limit_or_without_one(tmp_path: Path, max_size: int) -> None:
    with log_stage(tmp_path, max_size=max_size) as stage:
        log = stage.container()
        fill(log)
        stage.play.start()
        stage.next_round()
        assert log.rotated() == []


def test_many_logs_are_rotated_in_one_round(stage: LogStage) -> None:
    logs = [stage.container(f"containerd://{n}", name=f"c{n}") for n in range(40)]
    for log in logs:
        fill(log)
    stage.play.start()
    stage.next_round()
    assert all(len(log.rotated()) == 1 for log in logs)


def test_a_log_whose_container_ends_amid_its_rotation_gets_its_name_back(stage: LogStage) -> None:
    log = stage.container()
    fill(log)
    stage.runtime.answers_calls = False
    stage.play.start()
    stage.next_round()
    assert not log.path.exists()
    stage.runtime.logs["containerd://c0ffee"] = (log, ContainerState.EXITED)
    stage.runtime.answer(stage.runtime.waiting.pop())
    stage.play.settle()
    assert shown(log) == as_lines(log.texts())
    assert log.rotated() == []
    assert stage.described().failed == 1


def test_a_log_that_was_opened_anew_in_spite_of_a_failure_is_not_replaced(stage: LogStage) -> None:
    log = stage.container()
    fill(log)
    stage.runtime.reopens_in_spite_of_failing = True
    stage.play.start()
    stage.next_round()
    log.write(b"after")
    assert shown(log, with_rotated=True) == as_lines(log.texts())


def test_while_a_runtime_has_not_answered_the_log_is_not_touched_again(stage: LogStage) -> None:
    log = stage.container()
    fill(log)
    stage.runtime.answers_calls = False
    stage.play.start()
    stage.next_round()
    stage.next_round()
    assert len(stage.runtime.waiting) == 1
    stage.play.advance(130.0)
    assert len(stage.runtime.waiting) == 2
    assert len(log.rotated()) == 1


def test_a_keeper_that_crashed_between_renaming_and_reopening_has_the_log_opened_anew(
    stage: LogStage,
) -> None:
    log = stage.container()
    fill(log)
    log.rename()
    log.write(b"to the renamed file")
    stage.play.start()
    stage.next_round()
    log.write(b"to the new one")
    assert stage.runtime.reopened == ["containerd://c0ffee"]
    assert shown(log, with_rotated=True) == as_lines(log.texts())


def test_a_log_that_was_renamed_before_its_container_ended_gets_its_name_back(
    stage: LogStage,
) -> None:
    log = stage.container(state=ContainerState.EXITED)
    fill(log)
    log.rename()
    stage.play.start()
    stage.play.advance(2.0)
    assert shown(log) == as_lines(log.texts())


def test_a_packed_log_of_a_container_that_ended_stays_packed(stage: LogStage) -> None:
    log = stage.container(state=ContainerState.EXITED)
    fill(log)
    log.compress(log.rotate())
    log.path.unlink()  # by somebody else
    packed = log.rotated()
    stage.play.start()
    stage.play.advance(2.0)
    assert not log.path.exists()  # whoever read it would see no text
    assert log.rotated() == packed


def test_what_a_killed_process_left_is_tidied_at_the_first_round(stage: LogStage) -> None:
    log = stage.container()
    log.write()
    left = log.path.with_name("0.log.20260101-000000.tmp")
    left.write_bytes(b"half")
    stage.play.start()
    stage.next_round()
    assert not left.exists()


def test_a_full_disk_is_said_once_and_logs_are_rotated_all_the_same(
    stage: LogStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: object, name: str, _mode: int) -> int:
        raise OSError(28, "No space left on device", name)

    log = stage.container()
    monkeypatch.setattr(LogDirectory, "create_file", full)
    with capture_logs() as lines:
        stage.play.start()
        for _ in range(4):
            fill(log)
            stage.next_round()
        monkeypatch.undo()
        fill(log)
        stage.next_round()
    assert len(log.rotated()) == 4
    said = [line["event"] for line in lines if line.get("work") == "compress"]
    assert said == ["logs of containers cannot be kept", "logs of containers can be kept again"]


# What is removed.


def test_logs_of_earlier_instances_go_but_for_the_one_before(stage: LogStage) -> None:
    logs = [WrittenLog(stage.root, attempt=attempt) for attempt in range(4)]
    for log in logs:
        log.write()
        log.rotate()
        log.close()
    stage.container(attempt=3)
    stage.play.start()
    stage.play.advance(60.0)
    names = {path.name.split(".")[0] for path in logs[0].path.parent.iterdir()}
    assert names == {"2", "3"}


def test_logs_go_with_a_pod_that_nobody_wants_and_the_runtime_has_no_more(stage: LogStage) -> None:
    log = stage.container(pod=GONE)
    stage.play.start()
    assert len(stage.linked()) == 1
    stage.runtime.logs.clear()
    stage.tell_pod(GONE)
    stage.play.advance(2.0)
    assert not log.path.parents[1].exists()
    assert stage.linked() == {}


@pytest.mark.parametrize("why", ["wanted", "lives", "not listed", "runtime away", "runtime has it"])
def test_logs_stay_as_long_as_anybody_may_need_them(stage: LogStage, why: str) -> None:
    log = WrittenLog(stage.root, GONE)
    log.close()
    if why == "wanted":
        stage.pods.wanted.add(GONE.uid)
    elif why == "lives":
        stage.pods.lives[GONE.uid] = PodLife.TERMINATED
    elif why == "not listed":
        stage.pods.have_listed = False
    elif why == "runtime away":
        stage.runtime.is_away = True
    else:
        stage.container(pod=GONE)
    stage.play.start()
    if why == "runtime away":
        stage.play.tell(LOG_KEEPER, RuntimeIsAway(message="no socket"))
    stage.play.advance(200.0)
    assert log.path.exists()


def test_logs_of_the_pod_that_a_static_pod_has_replaced_stay_until_that_is_replaced_too(
    stage: LogStage,
) -> None:
    pods = [LoggedPod("default", "new", PodUid(uid)) for uid in ("oldest", "old", "new")]
    logs: list[Path] = []
    for age, pod in enumerate(reversed(pods)):
        log = WrittenLog(stage.root, pod)
        log.close()
        os.utime(log.path.parents[1], (1e9 - age, 1e9 - age))
        logs.insert(0, log.path)
    stage.pods.wanted.add(pods[-1].uid)
    stage.play.start()
    stage.play.advance(200.0)
    assert [path.exists() for path in logs] == [False, True, True]
    # Its manifest is taken away.
    stage.pods.wanted.remove(pods[-1].uid)
    stage.pods.list()
    stage.play.advance(2.0)
    assert [path.exists() for path in logs] == [False, False, False]


def test_removing_logs_never_leads_out_of_their_tree(stage: LogStage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "main").mkdir(parents=True)
    (outside / "main" / "0.log").write_text("precious")
    stage.root.mkdir()
    (stage.root / "shop_linked_1").symlink_to(outside)
    inner = stage.root / "shop_gone_dead"
    inner.mkdir()
    (inner / "main").symlink_to(outside / "main")
    (stage.root / "lost+found").mkdir()
    stage.play.start()
    stage.play.advance(2.0)
    assert [path.name for path in stage.root.iterdir()] == ["lost+found"]
    assert (outside / "main" / "0.log").read_text() == "precious"


def test_a_directory_that_is_a_link_out_of_the_tree_is_neither_linked_nor_rotated(
    stage: LogStage, tmp_path: Path
) -> None:
    log = stage.container()
    fill(log)
    outside = tmp_path / "outside"
    log.path.parent.rename(outside)
    log.path.parent.symlink_to(outside)
    stage.play.start()
    stage.next_round()
    assert stage.linked() == {}
    assert [path.name for path in outside.iterdir()] == ["0.log"]


def test_a_crash_of_the_keeper_changes_nothing(stage: LogStage) -> None:
    log = stage.container()
    stage.play.start()
    fill(log)
    stage.next_round()
    stage.play.tell(cast("Key[object]", LOG_KEEPER), object())
    stage.play.advance(1.0)
    fill(log)
    stage.next_round()
    assert shown(log, with_rotated=True) == as_lines(log.texts())
    assert stage.described().rotated == 2
