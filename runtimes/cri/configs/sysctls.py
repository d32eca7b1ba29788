"""Which kernel parameters a pod may set for itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from messages.pods import Pod
from runtimes.cri.configs.documents import security_of, spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigRefusedError, never_possible

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
LONGEST: Final = 253
_PATTERN: Final = re.compile(r"[a-z0-9][-_./a-zA-Z0-9]*\*?")
_OF_NETWORK: Final = ("net.",)
_OF_IPC: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_SEMAPHORES: Final = "kernel.sem"


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
    if len(pattern) > LONGEST or not _PATTERN.fullmatch(pattern):
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
