"""What a container sees of what its pod asks for, on a real runtime."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.cri.configs.documents import ConfigRefusedError
from tests.support.agent.process import eventually
from tests.support.builders import make_pod
from tests.support.containers.configured import ConfiguredPods, script_pod
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX, NAMED_USER, NUMERIC_USER
from tests.support.patience import PATIENCE


@pytest.fixture
def pods(containerd: Containerd, tmp_path: Path) -> Iterator[ConfiguredPods]:
    configured = ConfiguredPods(containerd, tmp_path)
    yield configured
    configured.close()


@pytest.fixture
def networked(containerd: Containerd, pods: ConfiguredPods) -> ConfiguredPods:
    containerd.add_network()
    return pods


def test_a_pod_has_its_name_its_hosts_and_its_servers(networked: ConfiguredPods) -> None:
    pod = script_pod(
        "hostname; tail -n 4 /etc/hosts; cat /etc/resolv.conf",
        hostNetwork=False,
        hostname="db",
        subdomain="sub",
        hostAliases=[{"ip": "192.0.2.9", "hostnames": ["far", "away"]}],
        dnsConfig={"options": [{"name": "ndots", "value": "2"}]},
    )
    sandbox = networked.sandbox(pod)
    (ip,) = networked.ips(sandbox)
    assert networked.said(pod, sandbox) == [
        "db",
        f"{ip}\tdb.sub.default.svc.cluster.local\tdb",
        "",
        "# From the pod's hostAliases.",
        "192.0.2.9\tfar\taway",
        "search default.svc.cluster.local svc.cluster.local cluster.local",
        "nameserver 10.96.0.10",
        "options ndots:2",
    ]


def test_a_full_name_is_what_the_kernel_knows(networked: ConfiguredPods) -> None:
    pod = script_pod("hostname", hostNetwork=False, subdomain="sub", setHostnameAsFQDN=True)
    assert networked.said(pod) == ["web.sub.default.svc.cluster.local"]


def test_on_the_nodes_network_a_pod_has_the_nodes_name_and_hosts(pods: ConfiguredPods) -> None:
    pod = script_pod(
        "hostname; cat /etc/hosts",
        hostname="ignored",
        hostAliases=[{"ip": "192.0.2.9", "hostnames": ["far"]}],
    )
    lines = pods.said(pod)
    nodes = Path("/etc/hosts").read_text().splitlines()
    assert lines == [
        socket.gethostname(),
        *nodes,
        "",
        "# From the pod's hostAliases.",
        "192.0.2.9\tfar",
    ]


def test_kernel_parameters_are_set(networked: ConfiguredPods) -> None:
    sysctls = [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "77"}]
    pod = script_pod(
        "cat /proc/sys/net/ipv4/ip_unprivileged_port_start",
        hostNetwork=False,
        securityContext={"sysctls": sysctls},
    )
    assert networked.said(pod) == ["77"]


def test_users_and_groups_are_those_of_the_pod(pods: ConfiguredPods) -> None:
    pod = script_pod(
        "id -u; id -g; id -G",
        securityContext={
            "runAsUser": 5,
            "runAsGroup": 6,
            "fsGroup": 7,
            "supplementalGroups": [8],
            "runAsNonRoot": True,
        },
    )
    assert pods.said(pod) == ["5", "6", "6 7 8"]


@pytest.mark.parametrize("group", [{}, {"runAsGroup": 6}])
def test_a_group_alone_is_no_reason_to_fail(pods: ConfiguredPods, group: dict[str, int]) -> None:
    pod = script_pod("id -u; id -g", securityContext=group)
    assert pods.said(pod) == ["0", str(group.get("runAsGroup", 0))]


@pytest.mark.parametrize(("image", "uid"), [(NUMERIC_USER, "1234"), (NAMED_USER, "1234")])
def test_without_a_user_the_images_own_runs(pods: ConfiguredPods, image: str, uid: str) -> None:
    assert pods.said(script_pod("id -u", {"image": image})) == [uid]


@pytest.mark.parametrize(
    ("image", "why"), [(BUSYBOX, "will run as root"), (NAMED_USER, "non-numeric user (app)")]
)
def test_root_is_refused_by_what_the_image_says(pods: ConfiguredPods, image: str, why: str) -> None:
    pod = script_pod("id", {"image": image}, securityContext={"runAsNonRoot": True})
    with pytest.raises(ConfigRefusedError) as raised:
        pods.said(pod)
    assert why in raised.value.message


CAPABILITIES = "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t '"


@pytest.mark.parametrize(
    ("context", "effective"),
    [
        ({"capabilities": {"drop": ["ALL"]}}, 0),
        ({"capabilities": {"drop": ["ALL"], "add": ["CAP_NET_ADMIN", "sys_time"]}}, 0x2001000),
    ],
)
def test_capabilities_are_what_the_pod_says(
    pods: ConfiguredPods, context: dict[str, Any], effective: int
) -> None:
    lines = pods.said(script_pod(CAPABILITIES, {"securityContext": context}))
    assert lines[0] == f"CapEff:{effective:016x}"


@pytest.mark.parametrize(
    ("context", "flags"),
    [
        ({}, ("0", "0")),
        ({"allowPrivilegeEscalation": False}, ("1", "0")),
        ({"seccompProfile": {"type": "RuntimeDefault"}}, ("0", "2")),
        ({"seccompProfile": {"type": "Unconfined"}}, ("0", "0")),
    ],
)
def test_privileges_and_system_calls_are_bounded_as_the_pod_says(
    pods: ConfiguredPods, context: dict[str, Any], flags: tuple[str, str]
) -> None:
    lines = pods.said(script_pod(CAPABILITIES, {"securityContext": context}))
    assert lines[1:] == [f"NoNewPrivs:{flags[0]}", f"Seccomp:{flags[1]}"]


def test_a_profile_of_the_node_is_loaded(pods: ConfiguredPods) -> None:
    folder = Path(pods.node.root_dir, "seccomp")
    folder.mkdir(parents=True)
    folder.joinpath("mine.json").write_text(
        '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":'
        '[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}'
    )
    profile = {"type": "Localhost", "localhostProfile": "mine.json"}
    pod = script_pod("mkdir /x || echo no", {"securityContext": {"seccompProfile": profile}})
    assert pods.said(pod)[-1] == "no"


def test_the_root_is_read_only_and_paths_of_the_node_are_hidden(pods: ConfiguredPods) -> None:
    pod = script_pod(
        "touch /x; wc -c < /proc/keys; echo 60 > /proc/sys/vm/swappiness",
        {"securityContext": {"readOnlyRootFilesystem": True}},
    )
    root, keys, parameter = pods.said(pod)
    assert root.endswith("/x: Read-only file system")
    assert keys == "0"
    assert parameter.endswith("swappiness: Read-only file system")


def test_a_privileged_container_has_the_devices_of_the_node(pods: ConfiguredPods) -> None:
    count = "ls /dev | wc -l"
    plain = pods.said(script_pod(count))
    mighty = make_pod(
        "mighty",
        spec=script_pod(count, {"securityContext": {"privileged": True}}).document["spec"],
    )
    assert int(pods.said(mighty)[0]) > int(plain[0])


def test_processes_are_shared_as_the_pod_says(pods: ConfiguredPods) -> None:
    script = "ps | grep -c '[s]leep infinity'"
    assert pods.said(script_pod(script)) == ["0"]
    sharing = script_pod(script, shareProcessNamespace=True)
    assert pods.said(make_pod("sharing", spec=sharing.document["spec"])) == ["1"]


def test_an_ephemeral_container_sees_the_processes_of_its_target(pods: ConfiguredPods) -> None:
    pod = make_pod(
        spec={
            "hostNetwork": True,
            "containers": [
                {"name": "main", "image": BUSYBOX, "command": ["sleep", "1234"]},
                {
                    "name": "debug",
                    "image": BUSYBOX,
                    "targetContainerName": "main",
                    "command": ["sh", "-c", "ps | grep -c '[s]leep 1234'"],
                },
            ],
        }
    )
    sandbox = pods.sandbox(pod)
    main = pods.create(pod, sandbox)
    pods.start(main)
    debug = pods.create(pod, sandbox, 1, target=main)
    pods.start(debug)
    assert pods.ended(debug).exit_code == 0


def test_volumes_are_mounted_as_the_pod_says(pods: ConfiguredPods, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.joinpath("hello").write_text("from the node\n")
    pod = script_pod(
        "cat /node/hello; touch /node/x 2>&1 | grep -o Read-only; touch /mine/x && echo written;"
        " stat -c %a:%g /mine",
        {
            "volumeMounts": [
                {"name": "node", "mountPath": "/node", "readOnly": True},
                {"name": "mine", "mountPath": "mine"},
            ],
            "securityContext": {"runAsUser": 5},
        },
        volumes=[
            {"name": "node", "hostPath": {"path": str(shared), "type": "Directory"}},
            {"name": "mine", "emptyDir": {}},
        ],
        securityContext={"fsGroup": 77},
    )
    assert pods.said(pod) == ["from the node", "Read-only", "written", "2777:77"]


def test_what_a_container_says_at_last_is_in_a_file_that_any_user_can_write(
    pods: ConfiguredPods,
) -> None:
    pod = script_pod(
        "printf farewell > /dev/termination-log",
        {
            "terminationMessagePath": "/dev/termination-log",
            "securityContext": {"runAsUser": 5},
        },
    )
    container = pods.create(pod, pods.sandbox(pod))
    pods.start(container)
    status = pods.ended(container)
    (mount,) = [each for each in status.mounts if each.container_path == "/dev/termination-log"]
    assert Path(mount.host_path).read_text() == "farewell"


def test_the_runtime_keeps_labels_and_annotations(pods: ConfiguredPods) -> None:
    pod = script_pod("true")
    sandbox = pods.sandbox(pod)
    container = pods.client.container(pods.create(pod, sandbox))
    assert container.labels["io.kubernetes.pod.uid"] == pod.uid
    assert container.annotations["io.kubernetes.container.hash"] == "0"
    (listed,) = [each for each in pods.client.sandboxes() if each.id == sandbox]
    assert listed.annotations["kubernetes.io/config.source"] == "file"


def test_a_port_of_the_node_leads_to_the_pod(networked: ConfiguredPods) -> None:
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    ports = [{"containerPort": 80, "hostPort": port, "protocol": "TCP"}]
    pod = script_pod("echo hello | nc -l -p 80", {"ports": ports}, hostNetwork=False)
    sandbox = networked.sandbox(pod)
    networked.start(networked.create(pod, sandbox))
    gateway = networked.ips(sandbox)[0].rpartition(".")[0] + ".1"

    def heard() -> bytes:
        # Who listens there takes one connection, and no other after it.
        with socket.create_connection((gateway, port), PATIENCE) as connection:
            return connection.recv(100)

    assert eventually(heard) == b"hello\n"
