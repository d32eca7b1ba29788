"""The namespaces of a pod: shared with its node or its own, its users, its kernel parameters. Pure.

A pod with users of its own has a range of user and group ids that no other pod has: as many as ids of 16
bits, above those of the node's users. An annotation of the sandbox keeps the range, so that the agent knows
it after a restart. A kubelet can be given other ids by ``/etc/subuid``; this agent cannot: the ids above the
node's own must be free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Final, NamedTuple

from messages.pods import JsonObject, Pod, PodUid
from runtimes.cri.configs import labels
from runtimes.cri.configs.documents import (
    ConfigRefusedError,
    all_containers,
    never_possible,
    not_now,
    security_of,
    spec_of,
)
from runtimes.cri.configs.node import CriNode
from runtimes.cri.wire import cri_pb2 as cri

IDS_OF_POD: Final = 65536
MOST_OF_POD: Final = 2**20
MOST_IDS: Final = 2**32 - 1
_WRITTEN: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")

SAFE: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
"""What has a namespace, and cannot harm others on the node."""
LONGEST_SYSCTL: Final = 253
_SYSCTL: Final = re.compile(r"[a-z0-9][-_./a-zA-Z0-9]*\*?")
_OF_NETWORK: Final = ("net.",)
_OF_IPC: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_SEMAPHORES: Final = "kernel.sem"


def pod_namespaces(pod: Pod) -> cri.NamespaceOption:
    """Return the namespaces of a pod, but for those of its users."""
    spec = spec_of(pod)
    shared = cri.POD if spec.get("shareProcessNamespace") else cri.CONTAINER
    return cri.NamespaceOption(
        network=cri.NODE if is_on_host_network(spec) else cri.POD,
        pid=cri.NODE if spec.get("hostPID") else shared,
        ipc=cri.NODE if spec.get("hostIPC") else cri.POD,
    )


def container_namespaces(
    sandbox: cri.PodSandboxConfig, container: JsonObject, target_id: str
) -> cri.NamespaceOption:
    """Return the namespaces of a container in ``sandbox``.

    ``target_id`` is the running container whose processes an ephemeral container sees; empty if it does not
    run. Raises ``ConfigRefusedError`` then.
    """
    options = cri.NamespaceOption()
    options.CopyFrom(sandbox.linux.security_context.namespace_options)
    if target := container.get("targetContainerName"):
        if not target_id:
            raise ConfigRefusedError(f"unable to find target container {target}")
        options.pid = cri.TARGET
        options.target_id = target_id
    return options


def is_on_host_network(spec: JsonObject) -> bool:
    """Return whether a pod has the node's network."""
    return bool(spec.get("hostNetwork"))


def has_privileged_container(spec: JsonObject) -> bool:
    """Return whether any container of a pod is privileged: the sandbox has to allow it."""
    return any(security_of(container).get("privileged") for container in all_containers(spec))


class UserIds(NamedTuple):
    """A range of user and group ids of the node."""

    first: int
    length: int

    @property
    def text(self) -> str:
        """As it is written down."""
        return f"{self.first}:{self.length}"

    def overlaps(self, other: UserIds) -> bool:
        """Return whether any id is in both."""
        return self.first < other.first + other.length and other.first < self.first + self.length


def has_own_users(pod: Pod) -> bool:
    """Return whether a pod has a namespace of its own for its users."""
    return spec_of(pod).get("hostUsers") is False


def demand_user_namespaces(pod: Pod, node: CriNode, handler: str) -> None:
    """Refuse a pod, which has users of its own, where the runtime does not say that it can do that."""
    if not node.runtime.of_handler(handler).user_namespaces:
        raise not_now(f'RuntimeClass handler "{handler}" does not support user namespaces')
    if is_on_host_network(spec_of(pod)) and not node.runtime.user_namespaces_host_network:
        raise not_now("the container runtime has no user namespaces on the network of the node")


def user_namespace(ids: UserIds) -> cri.UserNamespace:
    """Return what a runtime is told: the pod's root is the first of ``ids``, and so on."""
    mapping = cri.IDMapping(host_id=ids.first, container_id=0, length=ids.length)
    return cri.UserNamespace(mode=cri.POD, uids=[mapping], gids=[mapping])


def ids_of_sandbox(status: cri.PodSandboxStatus) -> UserIds | None:
    """Return the ids that a sandbox has, as its runtime tells or else its annotation; None if it has none."""
    told = status.linux.namespaces.options.userns_options.uids
    if told:
        return UserIds(told[0].host_id, told[0].length)
    found = _WRITTEN.fullmatch(status.annotations.get(labels.USER_NAMESPACE, ""))
    ids = UserIds(int(found[1]), int(found[2])) if found is not None else UserIds(0, 0)
    return ids if 0 < ids.length <= MOST_OF_POD else None


class UserIdRanges:
    """Which pod has which ids. Note all sandboxes before you ask for new ids."""

    def __init__(self, size: int = IDS_OF_POD) -> None:
        self._size = size
        self._of_pods: dict[PodUid, UserIds] = {}

    def note(self, uid: PodUid, status: cri.PodSandboxStatus) -> None:
        """Remember the ids of a pod's sandbox."""
        if (ids := ids_of_sandbox(status)) is not None:
            self._of_pods[uid] = ids

    def of(self, uid: PodUid) -> UserIds:
        """Return the ids of a pod. A pod that has none gets the lowest that are free."""
        if uid not in self._of_pods:
            self._of_pods[uid] = self._free()
        return self._of_pods[uid]

    def pods(self) -> frozenset[PodUid]:
        """Return the pods that have ids."""
        return frozenset(self._of_pods)

    def release(self, uid: PodUid) -> None:
        """Free the ids of a pod that has ended."""
        self._of_pods.pop(uid, None)

    def _free(self) -> UserIds:
        for number in count(1):
            ids = UserIds(number * self._size, self._size)
            if ids.first + ids.length > MOST_IDS:
                break
            if not any(ids.overlaps(taken) for taken in self._of_pods.values()):
                return ids
        raise not_now("no user ids are left for another pod with users of its own")


def pod_sysctls(pod: Pod, node: CriNode) -> dict[str, str]:
    """Return the kernel parameters that ``pod`` sets, or refuse the pod for good."""
    found: dict[str, str] = {}
    for each in security_of(spec_of(pod)).get("sysctls") or ():
        name = dotted(each.get("name") or "")
        _demand_allowed(name, pod, node.allowed_unsafe_sysctls)
        found[name] = each.get("value") or ""
    return found


def sysctl_trouble(pattern: str) -> str:
    """Return why no sysctl can be allowed by ``pattern``, for people; empty if some can."""
    name = dotted(pattern.removesuffix("*"))
    if len(pattern) > LONGEST_SYSCTL or not _SYSCTL.fullmatch(pattern):
        return "should be the name of a sysctl, or the beginning of one and *"
    if not name.startswith((*_OF_NETWORK, *_OF_IPC)) and name != _SEMAPHORES:
        return "has no namespace of its own in a pod"
    return ""


def dotted(name: str) -> str:
    """Return the name with dots between its parts, where it may have slashes.

    In a name that has a slash first, a dot is a character of a part, as in the names of interfaces.
    """
    slash, dot = name.find("/"), name.find(".")
    if slash == -1 or -1 < dot < slash:
        return name
    return name.translate(str.maketrans("./", "/."))


def _demand_allowed(name: str, pod: Pod, allowed: Iterable[str]) -> None:
    spec = spec_of(pod)
    if name not in SAFE and not any(_matches(pattern, name) for pattern in allowed):
        raise _forbidden(f'"{name}" not allowlisted')
    if name.startswith(_OF_NETWORK):
        if is_on_host_network(spec):
            raise _forbidden(f'"{name}" not allowed with host net enabled')
    elif name.startswith(_OF_IPC) or name == _SEMAPHORES:
        if spec.get("hostIPC"):
            raise _forbidden(f'"{name}" not allowed with host ipc enabled')
    else:
        # It is allowed, but belongs to the node as a whole.
        raise _forbidden(f'"{name}" has no namespace of its own in a pod')


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(dotted(pattern[:-1]))
    return name == dotted(pattern)


def _forbidden(why: str) -> ConfigRefusedError:
    return never_possible(f"forbidden sysctl: {why}", "SysctlForbidden")
