"""Preparing a container: its configuration, and what has to be on the disk before it is created. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from kernel import Operation
from messages.container_runtime import CreateContainer, RuntimeFailureKind
from messages.pod_runtime import ContainerState
from messages.pods import JsonObject, Pod
from runtimes.cri.cgroups.container_limits import (
    LinuxResources,
    ResourcesRefused,
    container_resources,
)
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.documents import ConfigNotice, ConfigRefusedError, spec_of
from runtimes.cri.configs.mounts import MountSituation, container_mounts
from runtimes.cri.configs.namespaces import has_own_users
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.sandbox import linux_resources, runtime_handler, sandbox_config
from runtimes.cri.configs.security import image_user
from runtimes.cri.disk.pod_files import carry_out
from runtimes.cri.inventory import bare_id
from runtimes.cri.operations.flow import OperationContext, on_cgroups, on_disk
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.environment.assembling import environment_of
from runtimes.environment.objects import Environment, EnvironmentSituation, used_objects


class Prepared(NamedTuple):
    """What the runtime is told to create a container. Never to be logged: it carries the environment."""

    container: cri.ContainerConfig
    sandbox: cri.PodSandboxConfig


def prepared(
    request: CreateContainer, image: cri.Image, context: OperationContext
) -> Operation[Prepared]:
    """Prepare a container. Raises ``ConfigRefusedError``, or ``DiskError``."""
    node, pod = context.node(), request.pod
    environment = _environment(request, node, context)
    handler = runtime_handler(pod, node)
    given = MountSituation(
        ips=request.sandbox.ips or _host_ips(pod, node),
        handler=node.runtime.of_handler(handler),
        volumes=request.volumes,
        images=request.volume_images,
        variables=environment.variables,
    )
    mounts = container_mounts(pod, request.container, request.attempt, node, given)
    turn = f"{pod.uid}/{request.container.get('name')}"
    work = partial(carry_out, mounts.tasks, context.mounts)
    trouble = yield from on_disk(work, turn=turn, waits=False)
    if trouble:
        raise ConfigRefusedError(trouble, kind=RuntimeFailureKind.CONFIG)
    place = yield from on_cgroups(partial(context.cgroups.ensure, pod), pod.uid)
    sandbox = sandbox_config(
        pod,
        request.sandbox.attempt,
        node,
        cgroup_parent=place.parent,
        user_ids=context.user_ids.of(pod.uid) if has_own_users(pod) else None,
    )
    creation = ContainerCreation(
        pod=pod,
        container=request.container,
        attempt=request.attempt,
        spec_hash=request.spec_hash,
        image_ref=request.image_id or image.id,
        image_user=image_user(image),
        sandbox=sandbox,
        node=node,
        command=environment.command,
        args=environment.args,
        environment=environment.variables,
        variables_from=used_objects(pod, request.container, request.objects),
        mounts=mounts.mounts,
        resources=resources_of(pod, request.container, context),
        target_id=_target(request, context),
    )
    _say_notices(request, environment, context)
    return Prepared(container_config(creation), sandbox)


def resources_of(
    pod: Pod, container: JsonObject, context: OperationContext
) -> cri.LinuxContainerResources:
    """Return what the runtime is told of a container's resources. Raises ``ConfigRefusedError``."""
    options, facts = context.cgroup_options, context.cgroup_facts
    match container_resources(pod, container, options, facts):
        case ResourcesRefused(reason=reason):
            raise ConfigRefusedError(reason)
        case LinuxResources() as resources:
            return linux_resources(resources)


def _environment(request: CreateContainer, node: CriNode, context: OperationContext) -> Environment:
    environment = environment_of(
        EnvironmentSituation(
            pod=request.pod,
            container=request.container,
            objects=request.objects,
            services=request.services,
            pod_ips=request.sandbox.ips,
            host_ips=node.ips,
            allocatable=context.allocatable,
        )
    )
    if environment.failure:
        raise ConfigRefusedError(environment.failure)
    return environment


def _host_ips(pod: Pod, node: CriNode) -> tuple[str, ...]:
    return node.ips if spec_of(pod).get("hostNetwork") else ()


def _target(request: CreateContainer, context: OperationContext) -> str:
    """Return the id of the running container that an ephemeral container was made for."""
    name = request.container.get("targetContainerName")
    if not name:
        return ""
    running = [
        one
        for each in context.inventory.contents(request.pod.uid)
        for one in each.containers
        if one.name == name and one.state is ContainerState.RUNNING
    ]
    return bare_id(running[0].id) if running else ""


def _say_notices(
    request: CreateContainer, environment: Environment, context: OperationContext
) -> None:
    skipped: Iterable[ConfigNotice] = (
        ConfigNotice("InvalidEnvironmentVariableNames", each.message)
        for each in environment.skipped
    )
    for notice in skipped:
        context.say(request.pod, notice)
