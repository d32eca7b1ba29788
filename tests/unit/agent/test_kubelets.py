"""Kubelets that run beside the agent are looked for at its start."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.locks import kubelets, warn_of_kubelets

HERE, ELSEWHERE = "mnt:[4026531841]", "mnt:[4026532999]"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a table of processes with some that are no kubelet."""
    (tmp_path / "meminfo").touch()
    process(tmp_path, "self", "python")
    process(tmp_path, "7", "kubectl")
    (tmp_path / "8").mkdir()  # has just ended
    return tmp_path


def process(proc: Path, number: str, name: str, files: str = HERE) -> None:
    (proc / number / "ns").mkdir(parents=True)
    (proc / number / "comm").write_text(f"{name}\n")
    (proc / number / "ns" / "mnt").symlink_to(files)


def test_kubelets_of_this_machine_are_found(proc: Path) -> None:
    process(proc, "300", "kubelite")
    process(proc, "20", "kubelet")
    assert kubelets(proc) == [20, 300]


def test_one_in_a_container_is_not_meant(proc: Path) -> None:
    process(proc, "20", "kubelet", ELSEWHERE)
    assert kubelets(proc) == []


def test_one_whose_namespace_may_not_be_seen_is_meant(proc: Path) -> None:
    process(proc, "20", "kubelet")
    (proc / "20" / "ns" / "mnt").unlink()
    assert kubelets(proc) == [20]


def test_each_is_a_warning(proc: Path) -> None:
    process(proc, "20", "kubelet")
    with capture_logs() as logs:
        warn_of_kubelets(proc)
    (line,) = logs
    assert line["event"].endswith("each of the two stops the pods of the other")
    assert (line["log_level"], line["process"]) == ("warning", 20)


def test_the_table_of_this_machine_can_be_read() -> None:
    assert all(number > 0 for number in kubelets())
