"""Crashes of an actor at any message that it tells, while the whole agent runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.pods.keeper_parts import POD_KEEPER
from tests.environment.crashes import CrashesAmid, How
from tests.environment.node import Node
from tests.environment.runtimes.hollow import Hollow
from tests.support.builders import make_pod

WEB = make_pod("web", uid="web-1", source="http")


def of_node(folder: Path) -> Node:
    folder.mkdir()
    return Node(1, folder, lambda outside: Hollow(outside, keeps_records=True))


def left_after_crash(folder: Path, patched: pytest.MonkeyPatch, number: int) -> set[str] | None:
    """Return what is left of a pod that was removed. None if no crash was at that message of its keeper.

    Here are its status, its record on disk and its worker.
    """
    node = of_node(folder)
    node.lists([WEB])
    node.advance(5.0)
    crashed: list[str] = []
    crashes = CrashesAmid(patched, lambda: node.wall)
    crashes.when_crashed = crashed.append
    crashes.arm(number, How.UNTOLD, POD_KEEPER.path)
    node.lists([])
    node.advance(28.0)  # before the runtime is asked again
    is_over = not crashed
    crashes.disarm()
    node.advance(60.0)
    records = {path.stem for path in (folder / "root" / "pod-records").glob("*")}
    workers = {name for name in node.actors() if name.startswith("pods/")}
    return None if is_over else set(node.statuses()) | records | workers


def test_of_a_pod_that_ended_nothing_is_left_at_whichever_message_its_keeper_crashes(
    tmp_path: Path,
) -> None:
    for number in range(1, 100):
        folder = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patched:
            left = left_after_crash(folder, patched, number)
        if left is None:
            break
        assert left == set(), number
    assert number > 5  # a turn, a wish, and what the keepers of records and statuses forget


def shown_after_crash(folder: Path, patched: pytest.MonkeyPatch, number: int) -> str | None:
    """Return the phase of a new pod. None if no crash was at that message of its worker."""
    node = of_node(folder)
    crashed: list[str] = []
    crashes = CrashesAmid(patched, lambda: node.wall)
    crashes.when_crashed = crashed.append
    crashes.arm(number, How.UNTOLD, "pods/web-1")
    node.lists([WEB])
    node.advance(28.0)
    return str(node.statuses()["web-1"]["phase"]) if crashed else None


def test_a_pod_is_shown_as_it_runs_at_whichever_message_its_worker_crashes(tmp_path: Path) -> None:
    for number in range(1, 100):
        with pytest.MonkeyPatch.context() as patched:
            phase = shown_after_crash(tmp_path / str(number), patched, number)
        if phase is None:
            break
        assert phase == "Running", number
    assert number > 5  # what it commands, how far it is, its record, and a status twice
