"""Facts of the machine: from a made-up system, and from the one that the tests run on."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import replace
from pathlib import Path

import pytest

from actors.node.conditions import (
    Availability,
    PressureSignals,
    current_conditions,
    pressures,
    with_troubles,
)
from actors.node.machine import (
    ARCHITECTURES,
    DescribedMachine,
    LinuxMachine,
    MachineFacts,
    default_addresses,
)
from actors.node.rules import NodeResources, capacity
from messages.pod_runtime import RuntimeNode
from tests.support.node.node_stage import FACTS, MadeUpMachine

MEMINFO = """\
MemTotal:       16326428 kB
MemFree:          300000 kB
MemAvailable:    8000000 kB
HugePages_Total:       4
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    files = {
        "proc/meminfo": MEMINFO,
        "proc/loadavg": "0.00 0.01 0.05 1/100 4711\n",
        "proc/sys/kernel/pid_max": "32768\n",
        "proc/sys/kernel/threads-max": "1000\n",
        "proc/sys/kernel/random/boot_id": "b00t\n",
        "sys/class/dmi/id/product_uuid": "UUID-1\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "4\n",
        "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
        "etc/machine-id": "1234\n",
        "etc/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(system: Path, *node_ips: str) -> MachineFacts:
    return LinuxMachine(root_dir=system, node_ips=node_ips, system=system).read()


def test_the_facts_are_where_linux_shows_them(system: Path) -> None:
    facts = read(system, "10.0.0.7", "fd00::7")
    assert facts.memory == 16326428 * 1024
    assert facts.hugepages == {2 * 2**20: 8 * 2**20, 2**30: 0}
    assert facts.addresses == ("10.0.0.7", "fd00::7")
    assert (facts.machine_id, facts.system_uuid, facts.boot_id) == ("1234", "UUID-1", "b00t")
    assert facts.os_image == "Debian GNU/Linux 12 (bookworm)"
    assert facts.signals.memory_free == 8000000 * 1024
    assert facts.signals.pids == Availability(free=900, total=1000)


def test_disk_and_processors_are_the_machine_s(system: Path) -> None:
    facts, disk = read(system), os.statvfs(system)
    assert facts.storage == disk.f_blocks * disk.f_frsize
    assert facts.cpus == os.cpu_count()
    assert facts.signals.storage.total == disk.f_blocks
    assert facts.kernel == os.uname().release


def test_nothing_of_a_machine_that_shows_nothing_is_an_error(tmp_path: Path) -> None:
    facts = read(tmp_path)
    assert (facts.memory, facts.hugepages) == (0, {})
    assert (facts.machine_id, facts.system_uuid, facts.boot_id, facts.os_image) == ("", "", "", "")
    assert facts.signals.memory_free is None
    assert facts.signals.pids == Availability()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("proc/meminfo", "MemTotal: lots\n"),
        ("proc/meminfo", ""),
        ("proc/loadavg", "0.00 0.01"),
        ("proc/loadavg", "0.00 0.01 0.05 many 4711"),
        ("proc/sys/kernel/pid_max", "\udcff"),
        ("etc/os-release", "PRETTY_NAME"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "x"),
    ],
)
def test_garbage_is_as_good_as_nothing(system: Path, path: str, text: str) -> None:
    (system / path).write_text(text, errors="surrogateescape")
    assert read(system).machine_id == "1234"


def test_huge_pages_of_no_size_are_none(system: Path) -> None:
    (system / "sys/kernel/mm/hugepages/hugepages-bigkB").mkdir()
    assert set(read(system).hugepages) == {2 * 2**20, 2**30}


def test_a_threads_limit_alone_is_a_limit(system: Path) -> None:
    (system / "proc/sys/kernel/pid_max").unlink()
    assert read(system).signals.pids == Availability(free=900, total=1000)


def test_more_threads_than_the_limit_leave_none(system: Path) -> None:
    (system / "proc/loadavg").write_text("0.00 0.01 0.05 1/5000 4711\n")
    assert read(system).signals.pids == Availability(free=0, total=1000)


def test_the_machine_id_may_be_where_dbus_has_it(system: Path) -> None:
    (system / "etc/machine-id").unlink()
    (system / "var/lib/dbus").mkdir(parents=True)
    (system / "var/lib/dbus/machine-id").write_text("5678\n")
    assert read(system).machine_id == "5678"


def test_a_root_directory_that_is_not_made_yet_has_the_disk_of_its_parent(tmp_path: Path) -> None:
    machine = LinuxMachine(root_dir=tmp_path / "not" / "yet")
    disk = os.statvfs(tmp_path)
    assert machine.read().storage == disk.f_blocks * disk.f_frsize


def test_the_default_route_gives_an_address_of_this_machine_or_none() -> None:
    assert [str(ipaddress.ip_address(each)) for each in default_addresses()] == list(
        default_addresses()
    )
    assert len(default_addresses()) <= 1


def test_this_machine_can_be_read() -> None:
    facts = LinuxMachine(root_dir=Path("/")).read()
    assert facts.memory > 0
    assert facts.architecture in {*ARCHITECTURES.values(), os.uname().machine}
    assert facts.signals != PressureSignals()


# --- a machine that the runtime of pods describes ---------------------------------------------------


def described(told: RuntimeNode | None) -> MachineFacts:
    """Return the facts of a machine of which a runtime tells this."""
    return DescribedMachine(machine=MadeUpMachine(), told=lambda: told).read()


def addresses_of(told: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses of a machine of which a runtime tells these."""
    node = RuntimeNode(addresses=told)
    return DescribedMachine(machine=MadeUpMachine(), told=lambda: node).addresses()


def test_a_runtime_that_says_nothing_leaves_the_machine_as_it_is() -> None:
    assert addresses_of(()) == FACTS.addresses
    assert described(None) == FACTS
    assert described(RuntimeNode()) == FACTS


def test_what_a_runtime_says_counts_in_place_of_the_machine_s() -> None:
    facts = described(
        RuntimeNode(
            capacity={"cpu": "64", "pods": "500", "example.com/gpu": "2"},
            addresses=("10.0.0.9",),
            labels={"zone": "b"},
            troubles={"Ready": "no answer"},
        )
    )
    assert facts.addresses == ("10.0.0.9",)
    assert addresses_of(("10.0.0.9",)) == ("10.0.0.9",)
    found = capacity(NodeResources(), facts)
    assert (found["cpu"], found["pods"], found["example.com/gpu"]) == (64_000, 500, 2)
    assert found["memory"] == FACTS.memory
    assert (facts.labels, facts.troubles) == ({"zone": "b"}, {"Ready": "no answer"})


def test_storage_and_huge_pages_of_this_machine_are_not_those_of_a_node_that_runs_its_pods_elsewhere() -> (
    None
):
    told = RuntimeNode(has_own_machines=True, taints=({"key": "gpu", "effect": "NoSchedule"},))
    facts = described(told)
    assert set(capacity(NodeResources(), facts)) == {"cpu", "memory", "pods"}
    assert facts.taints == told.taints
    stated = replace(told, capacity={"ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi"})
    found = capacity(NodeResources(), described(stated))
    assert (found["ephemeral-storage"], found["hugepages-2Mi"]) == (2**30, 4 * 2**20)


def test_conditions_are_bad_that_a_runtime_says_are_bad() -> None:
    fine = current_conditions(pressures(PressureSignals()), ())
    troubles = {"Ready": "no answer", "DiskPressure": "the store is full"}
    found = with_troubles(fine, troubles, "ClassSays")
    told = {each.type.value: (each.status.value, each.reason, each.message) for each in found}
    assert told["Ready"] == ("False", "ClassSays", "no answer")
    assert told["DiskPressure"] == ("True", "ClassSays", "the store is full")
    assert with_troubles(fine, {}, "ClassSays") == fine
