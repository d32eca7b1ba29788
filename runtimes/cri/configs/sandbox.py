"""The configuration of a pod's sandbox: ports, class of runtime, users and resources. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.container_limits import LinuxResources, sandbox_resources
from runtimes.cri.configs import labels
from runtimes.cri.configs.dns import kernel_hostname, pod_dns
from runtimes.cri.configs.documents import (
    ConfigNotice,
    lasting_containers,
    never_possible,
    not_now,
    refusing_impossible_values,
    security_of,
    spec_of,
)
from runtimes.cri.configs.labels import sandbox_annotations, sandbox_labels
from runtimes.cri.configs.namespaces import (
    UserIds,
    demand_user_namespaces,
    has_own_users,
    has_privileged_container,
    is_on_host_network,
    pod_namespaces,
    pod_sysctls,
    user_namespace,
)
from runtimes.cri.configs.node import CriNode, log_directory
from runtimes.cri.configs.security import (
    demand_apparmor,
    demand_linux,
    plain_id,
    pod_groups,
    selinux_options,
    set_group_policy,
)
from runtimes.cri.wire import cri_pb2 as cri

MAX_PORT: Final = 65535
_PROTOCOLS: Final[Mapping[str, cri.Protocol]] = {"TCP": cri.TCP, "UDP": cri.UDP, "SCTP": cri.SCTP}


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
    """Write the ids twice: for the runtime, and as an annotation for our next life."""
    config.annotations.pop(labels.USER_NAMESPACE, None)
    if not has_own_users(pod):
        return
    if ids is None:
        raise not_now("no user ids were given to a pod that has users of its own")
    options = config.linux.security_context.namespace_options
    options.userns_options.CopyFrom(user_namespace(ids))
    config.annotations[labels.USER_NAMESPACE] = ids.text


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


def port_mappings(pod: Pod) -> tuple[cri.PortMapping, ...]:
    """Return the mappings of all containers that last. On the node's network there is nothing to map."""
    spec = spec_of(pod)
    return () if is_on_host_network(spec) else tuple(_mappings(spec))


def _mappings(spec: JsonObject) -> Iterator[cri.PortMapping]:
    for container in lasting_containers(spec):
        for port in container.get("ports") or ():
            number, on_host = port.get("containerPort") or 0, port.get("hostPort") or 0
            protocol = _PROTOCOLS.get(port.get("protocol") or "TCP")
            if protocol is None or not (0 < number <= MAX_PORT and 0 <= on_host <= MAX_PORT):
                raise never_possible(
                    f"container {container.get('name')} has a port that there cannot be: "
                    f"{port.get('protocol')} {number}, on the node {on_host}",
                    "InvalidPort",
                )
            yield cri.PortMapping(
                protocol=protocol,
                container_port=number,
                host_port=on_host,
                host_ip=port.get("hostIP") or "",
            )


def runtime_handler(pod: Pod, node: CriNode) -> str:
    """Return the handler that runs ``pod``; empty for the runtime's default one."""
    name = spec_of(pod).get("runtimeClassName")
    if not name:
        return ""
    if node.runtime_classes is None:
        raise not_now(f'RuntimeClass "{name}" is not known: the RuntimeClasses are not listed yet')
    handler = node.runtime_classes.get(str(name))
    if handler is None:
        raise not_now(f'RuntimeClass "{name}" not found')
    return handler


def linux_resources(resources: LinuxResources) -> cri.LinuxContainerResources:
    """Return what a runtime is told of ``resources``."""
    return cri.LinuxContainerResources(
        cpu_shares=resources.cpu_shares,
        cpu_quota=resources.cpu_quota,
        cpu_period=resources.cpu_period,
        memory_limit_in_bytes=resources.memory_limit,
        memory_swap_limit_in_bytes=resources.memory_swap_limit,
        oom_score_adj=resources.oom_score_adj,
        hugepage_limits=[
            cri.HugepageLimit(page_size=size, limit=limit) for size, limit in resources.huge_pages
        ],
        unified=resources.unified,
    )
