"""What files of the node say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtimes.cri.disk.node_files import kernel_security, read_resolv_conf


def write(root: Path, path: str, content: str) -> None:
    root.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
    root.joinpath(path).write_text(content)


def test_a_node_without_security_modules_has_none(tmp_path: Path) -> None:
    found = kernel_security(tmp_path)
    assert (found.has_selinux, found.has_apparmor) == (False, False)


def test_apparmor_counts_if_it_is_on_and_there_are_profiles(tmp_path: Path) -> None:
    write(tmp_path, "sys/module/apparmor/parameters/enabled", "Y\n")
    assert not kernel_security(tmp_path).has_apparmor
    write(tmp_path, "sys/kernel/security/apparmor/profiles", "")
    assert kernel_security(tmp_path).has_apparmor
    write(tmp_path, "sys/module/apparmor/parameters/enabled", "N\n")
    assert not kernel_security(tmp_path).has_apparmor


def test_selinux_counts_where_it_is_mounted_enforcing_or_not(tmp_path: Path) -> None:
    write(tmp_path, "sys/fs/selinux/enforce", "0")
    assert kernel_security(tmp_path).has_selinux


def test_a_resolv_conf_is_read_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_bytes(b"x" * (1 << 20) + b"more")
    assert len(read_resolv_conf(str(path))) == 1 << 20


def test_what_is_no_file_is_an_error_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "missing", "."):
        with pytest.raises(OSError, match=r"No such file|is not a file"):
            read_resolv_conf(str(tmp_path / name))
