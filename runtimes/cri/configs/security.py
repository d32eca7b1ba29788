"""The security context of one container, from the pod's and its own. Pure."""

from __future__ import annotations

from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import all_containers, effective, security_of, spec_of
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.profiles import apparmor_profile, old_apparmor_name, seccomp_profile
from runtimes.cri.configs.refusals import never_possible
from runtimes.cri.configs.selinux import selinux_options
from runtimes.cri.configs.users import ImageUser, pod_groups, set_group_policy, set_user
from runtimes.cri.wire import cri_pb2 as cri

MASKED_PATHS: Final = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
"""What containers cannot read of the node, unless ``procMount`` is Unmasked."""
READONLY_PATHS: Final = (
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
)
UNMASKED: Final = "Unmasked"
_PREFIX: Final = "CAP_"


def container_security(
    pod: Pod,
    container: JsonObject,
    user: ImageUser,
    node: CriNode,
    namespaces: cri.NamespaceOption,
) -> cri.LinuxContainerSecurityContext:
    """Return the security context of a container."""
    own = security_of(container)
    is_masked = own.get("procMount") != UNMASKED
    context = cri.LinuxContainerSecurityContext(
        capabilities=_capabilities(own.get("capabilities") or {}),
        privileged=bool(own.get("privileged")),
        namespace_options=namespaces,
        selinux_options=selinux_options(effective(pod, container, "seLinuxOptions")),
        readonly_rootfs=bool(own.get("readOnlyRootFilesystem")),
        supplemental_groups=pod_groups(pod),
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        masked_paths=MASKED_PATHS if is_masked else (),
        readonly_paths=READONLY_PATHS if is_masked else (),
        seccomp=seccomp_profile(pod, container, node),
    )
    set_user(context, pod, container, user)
    set_group_policy(context, pod, node)
    if (profile := apparmor_profile(pod, container)) is not None:
        context.apparmor.CopyFrom(profile)
        context.apparmor_profile = old_apparmor_name(profile)
    return context


def demand_linux(pod: Pod) -> None:
    """Refuse, for good, a pod with security options of Windows."""
    spec = spec_of(pod)
    for holder in (spec, *all_containers(spec)):
        if security_of(holder).get("windowsOptions"):
            text = "securityContext.windowsOptions cannot be obeyed: this node runs Linux"
            raise never_possible(text, "PodOSNotSupported")


def _capabilities(given: JsonObject) -> cri.Capability | None:
    if not given.get("add") and not given.get("drop"):
        return None
    return cri.Capability(
        add_capabilities=[_capability(name) for name in given.get("add") or ()],
        drop_capabilities=[_capability(name) for name in given.get("drop") or ()],
    )


def _capability(name: str) -> str:
    """Return a capability as every runtime knows it: containerd puts the prefix before each name."""
    return name.upper().removeprefix(_PREFIX)
