"""Under systemd each cgroup is a slice, which systemd makes, limits and stops. A stand-in plays systemd."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from files.cgroups.kernel_trees import V2Tree
from files.cgroups.limits import CgroupLimits
from files.cgroups.names import CgroupDriver, CgroupOptions
from files.cgroups.systemd_tree import SystemdTree, properties_of, run_systemctl
from messages.pods import Pod
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from tests.support.builders import make_pod
from tests.support.runtimes.cgroup_model import CgroupModel

UID = "0a-1b"
LEVEL = "/kubepods.slice/kubepods-burstable.slice"
PLACE = f"{LEVEL}/kubepods-burstable-pod0a_1b.slice"


class StandInSystemd:
    """Makes and removes folders of slices as systemd does, and notes what it was told."""

    def __init__(self, model: CgroupModel) -> None:
        self.model = model
        self.settings: dict[str, tuple[str, ...]] = {}
        self.commands: list[tuple[str, ...]] = []
        self.is_away = False

    def __call__(self, *words: str) -> None:
        if self.is_away:
            raise OSError(errno.EIO, "Failed to connect to bus", words[-1])
        self.commands.append(words)
        match words:
            case ("start", name):
                self._make(name)
            case ("set-property", "--runtime", name, *settings):
                self.settings[name] = tuple(settings)
            case ("stop", name):
                self.model.remove(self._folder(name))
            case ("revert", name):
                self.settings.pop(name, None)
            case _:
                raise OSError(errno.EINVAL, f"Unknown command verb {words[0]}")

    def _make(self, name: str) -> None:
        parts = name.removesuffix(".slice").split("-")
        folder = "/cg2"
        for depth in range(1, len(parts) + 1):
            if depth > 1 or folder == "/cg2":
                cgroup = self.model.cgroups[folder]
                for each in ("cpu", "memory", "pids"):
                    if each not in cgroup.files["cgroup.subtree_control"]:
                        self.model.write(f"{folder}/cgroup.subtree_control", f"+{each}")
            folder = f"{folder}/{'-'.join(parts[:depth])}.slice"
            self.model.make(folder)

    def _folder(self, name: str) -> str:
        return next(each for each in self.model.cgroups if each.endswith(f"/{name}"))


@pytest.fixture
def systemd() -> StandInSystemd:
    model = CgroupModel()
    model.mount_v2("cpu", "memory", "pids")
    return StandInSystemd(model)


@pytest.fixture
def cgroups(systemd: StandInSystemd) -> PodCgroups:
    options = CgroupOptions(driver=CgroupDriver.SYSTEMD, capacity={"cpu": 4000, "memory": 2**33})
    return PodCgroups(options, SystemdTree(V2Tree(systemd.model, "/cg2"), systemd))


def pod(cpu: str = "500m") -> Pod:
    resources = {"limits": {"cpu": cpu, "memory": "64Mi"}, "requests": {"cpu": "100m"}}
    return make_pod(uid=UID, spec={"containers": [{"resources": resources}]})


def test_a_pods_slice_is_made_in_those_of_its_class_with_its_limits(
    cgroups: PodCgroups, systemd: StandInSystemd
) -> None:
    assert cgroups.ensure(pod()).parent == PLACE
    assert f"/cg2{PLACE}" in systemd.model.cgroups
    accounting = ("CPUAccounting=yes", "MemoryAccounting=yes", "TasksAccounting=yes")
    assert systemd.settings == {
        "kubepods.slice": (*accounting, "CPUWeight=157", f"MemoryMax={2**33}"),
        "kubepods-burstable.slice": (*accounting, "CPUWeight=1"),
        "kubepods-besteffort.slice": (*accounting, "CPUWeight=1"),
        "kubepods-burstable-pod0a_1b.slice": (
            *accounting,
            "CPUWeight=4",
            "CPUQuota=50%",
            "CPUQuotaPeriodSec=100000us",
            f"MemoryMax={64 * 2**20}",
            "TasksMax=infinity",
        ),
    }


def test_systemd_is_told_nothing_twice(cgroups: PodCgroups, systemd: StandInSystemd) -> None:
    cgroups.ensure(pod())
    count = len(systemd.commands)
    cgroups.ensure(pod())
    assert len(systemd.commands) == count
    assert not cgroups.update(pod(cpu="1"))
    assert [each[0] for each in systemd.commands[count:]] == ["set-property"]


def test_after_its_sandbox_the_slice_is_stopped_and_its_settings_are_forgotten(
    cgroups: PodCgroups, systemd: StandInSystemd
) -> None:
    cgroups.ensure(pod())
    systemd.model.enter(f"/cg2{PLACE}", 7)
    assert cgroups.orphans({UID}).uids == frozenset()
    assert cgroups.orphans([]).uids == {"0a_1b"}
    assert cgroups.remove("0a_1b")
    assert [each[0] for each in systemd.commands[-2:]] == ["stop", "revert"]
    assert f"/cg2{PLACE}" not in systemd.model.cgroups
    assert "kubepods-burstable-pod0a_1b.slice" not in systemd.settings
    assert cgroups.ensure(pod()).parent == PLACE


def test_while_systemd_does_not_answer_the_runtime_has_the_choice(
    cgroups: PodCgroups, systemd: StandInSystemd
) -> None:
    systemd.is_away = True
    place = cgroups.ensure(pod())
    assert place.parent == ""
    assert place.trouble.endswith("kubepods.slice: Failed to connect to bus")
    systemd.is_away = False
    assert cgroups.ensure(pod()).parent == PLACE


def test_a_quota_is_rounded_up_to_a_hundredth_of_a_cpu() -> None:
    limits = CgroupLimits(cpu_quota=50_001, cpu_period=100_000)
    assert "CPUQuota=51%" in properties_of(limits, is_unified=True)
    assert "CPUQuota=" in properties_of(CgroupLimits(cpu_quota=-1), is_unified=True)


def test_under_v1_settings_have_the_names_of_v1() -> None:
    settings = properties_of(CgroupLimits(cpu_shares=512, memory=5, pids=7), is_unified=False)
    assert settings[3:] == ("CPUShares=512", "MemoryLimit=5", "TasksMax=7")


def script(folder: Path, text: str) -> str:
    file = folder / "systemctl"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_what_systemd_refuses_is_an_error_with_its_words(tmp_path: Path) -> None:
    program = script(tmp_path, 'echo "Unit $4 is bad." >&2; exit 1')
    with pytest.raises(OSError, match=r"Unit x\.slice is bad"):
        run_systemctl("start", "x.slice", program=program)
    with pytest.raises(OSError, match="No such file"):
        run_systemctl("start", "x.slice", program=str(tmp_path / "none"))


def test_a_command_that_succeeds_says_nothing(tmp_path: Path) -> None:
    told = tmp_path / "told"
    run_systemctl("start", "x.slice", program=script(tmp_path, f'echo "$@" > {told}'))
    assert told.read_text() == "--quiet --no-ask-password start x.slice\n"
