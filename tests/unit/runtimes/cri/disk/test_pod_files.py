"""What containers need on the disk, on a real one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from runtimes.cri.disk.pod_files import (
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
    carry_out,
)


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_the_first_task_that_fails_is_told_by_its_path(tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    bad = MakeTerminationFile(path=str(tmp_path / "file" / "words"))
    made = MakeTerminationFile(path=str(tmp_path / "words"))
    assert str(tmp_path / "file") in carry_out([bad, made])
    assert not tmp_path.joinpath("words").exists()


def test_the_hosts_file_is_changed_in_place_since_containers_have_it_mounted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pods" / "u1" / "etc-hosts"
    assert carry_out([WriteHostsFile(path=str(path), content="10.0.0.1\tlonger\n")]) == ""
    before = path.stat()
    assert (path.read_text(), mode_of(path)) == ("10.0.0.1\tlonger\n", 0o644)
    assert carry_out([WriteHostsFile(path=str(path), content="10.0.0.2\tw\n")]) == ""
    assert path.read_text() == "10.0.0.2\tw\n"
    assert path.stat().st_ino == before.st_ino


def test_a_hosts_file_that_is_right_is_not_written_again(tmp_path: Path) -> None:
    task = WriteHostsFile(path=str(tmp_path / "etc-hosts"), content="10.0.0.1\tweb\n")
    carry_out([task])
    os.utime(task.path, ns=(1, 1))
    carry_out([task])
    assert Path(task.path).stat().st_mtime_ns == 1


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [("192.0.2.1 a\n", "192.0.2.1 a\nb\n"), ("192.0.2.1 a", "192.0.2.1 a\nb\n"), ("", "b\n")],
)
def test_the_nodes_own_hosts_come_first(tmp_path: Path, nodes: str, expected: str) -> None:
    node, path = tmp_path / "hosts", tmp_path / "etc-hosts"
    node.write_text(nodes)
    carry_out([WriteHostsFile(path=str(path), content="b\n", node_file=str(node))])
    assert path.read_text() == expected


def test_a_node_without_hosts_has_none_to_give(tmp_path: Path) -> None:
    path = tmp_path / "etc-hosts"
    task = WriteHostsFile(path=str(path), content="b\n", node_file=str(tmp_path / "nowhere"))
    assert carry_out([task]) == ""
    assert path.read_text() == "b\n"


def test_every_instance_begins_with_an_empty_file_that_any_user_can_write_to(
    tmp_path: Path,
) -> None:
    task = MakeTerminationFile(path=str(tmp_path / "containers" / "main" / "00000000"))
    assert carry_out([task]) == ""
    Path(task.path).write_text("old")
    assert carry_out([task]) == ""
    assert (Path(task.path).read_text(), mode_of(task.path)) == ("", 0o666)


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("precious")
    link.symlink_to(victim)
    for task in (
        MakeTerminationFile(path=str(link)),
        WriteHostsFile(path=str(link), content="x\n"),
    ):
        assert str(link) in carry_out([task])
    assert victim.read_text() == "precious"


def test_a_disk_that_refuses_is_told_with_its_path(tmp_path: Path) -> None:
    tmp_path.joinpath("pods").touch()
    path = tmp_path / "pods" / "u1" / "etc-hosts"
    assert carry_out([WriteHostsFile(path=str(path), content="x\n")]).endswith("Not a directory")


def test_a_directory_for_logs_is_made_and_may_be_there_already(tmp_path: Path) -> None:
    root = tmp_path / "log" / "pods"
    task = MakeLogDirectory(path=str(root), names=("shop_web_u1", "main"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        assert carry_out([task]) == ""
    assert mode_of(root / "shop_web_u1" / "main") == 0o755
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("link", ["shop_web_u1", "shop_web_u1/main"])
def test_logs_do_not_go_where_a_link_leads(tmp_path: Path, link: str) -> None:
    root, outside = tmp_path / "pods", tmp_path / "outside"
    outside.joinpath("main").mkdir(parents=True)
    root.joinpath(link).parent.mkdir(parents=True)
    root.joinpath(link).symlink_to(outside)
    before = len(list(Path("/proc/self/fd").iterdir()))
    found = carry_out([MakeLogDirectory(path=str(root), names=("shop_web_u1", "main"))])
    assert found == f"{root / link}: Not a directory"
    assert len(list(Path("/proc/self/fd").iterdir())) == before
