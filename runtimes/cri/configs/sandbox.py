"""The configuration of a pod's sandbox. Pure."""

from __future__ import annotations

from messages.pods import Pod
from runtimes.cri.cgroups.container_limits import sandbox_resources
from runtimes.cri.configs import names
from runtimes.cri.configs.dns import pod_dns
from runtimes.cri.configs.documents import security_of, spec_of
from runtimes.cri.configs.hostname import kernel_hostname
from runtimes.cri.configs.labels import sandbox_annotations, sandbox_labels
from runtimes.cri.configs.layout import log_directory
from runtimes.cri.configs.namespaces import has_privileged_container, pod_namespaces
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.ports import port_mappings
from runtimes.cri.configs.profiles import demand_apparmor
from runtimes.cri.configs.refusals import ConfigNotice, not_now, refusing_impossible_values
from runtimes.cri.configs.resources import linux_resources
from runtimes.cri.configs.runtime_classes import runtime_handler
from runtimes.cri.configs.security import demand_linux
from runtimes.cri.configs.selinux import selinux_options
from runtimes.cri.configs.sysctls import pod_sysctls
from runtimes.cri.configs.user_namespaces import (
    UserIds,
    demand_user_namespaces,
    has_own_users,
    user_namespace,
)
from runtimes.cri.configs.users import plain_id, pod_groups, set_group_policy
from runtimes.cri.wire import cri_pb2 as cri


def sandbox_config(
    pod: Pod,
    attempt: int,
    node: CriNode,
    *,
    cgroup_parent: str = "",
    user_ids: UserIds | None = None,
) -> cri.PodSandboxConfig:
    """Return what ``pod``'s sandbox is made from. Raises ``ConfigRefusedError``.

    ``cgroup_parent`` is where its containers' cgroups are; empty for the runtime's own choice. ``user_ids``
    are those of a pod that has users of its own.
    """
    with refusing_impossible_values(f"pod {pod.display_name}"):
        _demand_possible(pod, node)
        dns, _ = pod_dns(pod, node)
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(
                name=pod.name, uid=pod.uid, namespace=pod.namespace, attempt=attempt
            ),
            hostname=kernel_hostname(pod, node.dns.cluster_domain),
            log_directory=log_directory(node.pod_logs_dir, pod),
            dns_config=cri.DNSConfig(
                servers=dns.servers, searches=dns.searches, options=dns.options
            ),
            port_mappings=port_mappings(pod),
            labels=sandbox_labels(pod),
            annotations=sandbox_annotations(pod),
            linux=_linux(pod, node, cgroup_parent),
        )
        _set_users(config, pod, user_ids)
        return config


def sandbox_notices(pod: Pod, node: CriNode) -> tuple[ConfigNotice, ...]:
    """Return what people should know when a sandbox of ``pod`` is made. Raises ``ConfigRefusedError``."""
    with refusing_impossible_values(f"pod {pod.display_name}"):
        return pod_dns(pod, node)[1]


def _demand_possible(pod: Pod, node: CriNode) -> None:
    demand_linux(pod)
    demand_apparmor(pod, node)
    if has_own_users(pod):
        demand_user_namespaces(pod, node, runtime_handler(pod, node))


def _linux(pod: Pod, node: CriNode, cgroup_parent: str) -> cri.LinuxPodSandboxConfig:
    resources, overhead = sandbox_resources(pod, node.cgroups)
    return cri.LinuxPodSandboxConfig(
        cgroup_parent=cgroup_parent,
        security_context=_security(pod, node),
        sysctls=pod_sysctls(pod, node),
        resources=linux_resources(resources),
        overhead=linux_resources(overhead),
    )


def _set_users(config: cri.PodSandboxConfig, pod: Pod, ids: UserIds | None) -> None:
    """Tell the ids twice: to the runtime, and to whoever reads the annotations later."""
    config.annotations.pop(names.USER_NAMESPACE, None)
    if not has_own_users(pod):
        return
    if ids is None:
        raise not_now("no user ids were given to a pod that has users of its own")
    options = config.linux.security_context.namespace_options
    options.userns_options.CopyFrom(user_namespace(ids))
    config.annotations[names.USER_NAMESPACE] = ids.text


def _security(pod: Pod, node: CriNode) -> cri.LinuxSandboxSecurityContext:
    spec = spec_of(pod)
    given = security_of(spec)
    context = cri.LinuxSandboxSecurityContext(
        namespace_options=pod_namespaces(pod),
        selinux_options=selinux_options(given.get("seLinuxOptions")),
        supplemental_groups=pod_groups(pod),
        privileged=has_privileged_container(spec),
        # What keeps the namespaces alive needs nothing that the profile forbids.
        seccomp=cri.SecurityProfile(profile_type=cri.RuntimeDefault),
    )
    set_group_policy(context, pod, node)
    if (user := given.get("runAsUser")) is not None:
        context.run_as_user.value = plain_id(user, "runAsUser")
        # Runtimes refuse a group without a user.
        if (group := given.get("runAsGroup")) is not None:
            context.run_as_group.value = plain_id(group, "runAsGroup")
    return context
