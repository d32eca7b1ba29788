"""The configuration of one instance of a container. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from manifests.texts import as_bytes
from messages.pod_runtime import UsedObject
from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import ConfigRefusedError, refusing_impossible_values
from runtimes.cri.configs.labels import container_annotations, container_labels
from runtimes.cri.configs.namespaces import container_namespaces
from runtimes.cri.configs.node import CriNode, log_path
from runtimes.cri.configs.security import ROOT_USER, ImageUser, container_security
from runtimes.cri.wire import cri_pb2 as cri


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerCreation:
    """All that the configuration of an instance follows from."""

    pod: Pod
    container: JsonObject = field(repr=False)
    """The container of the pod's specification."""
    attempt: int
    spec_hash: str
    image_ref: str
    """The image as the runtime knows it."""
    image_user: ImageUser = ROOT_USER
    sandbox: cri.PodSandboxConfig = field(repr=False)
    """What its sandbox was made from."""
    node: CriNode
    command: tuple[str, ...] = field(default=(), repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By name, in order."""
    variables_from: tuple[UsedObject, ...] = ()
    """The objects that it was made from."""
    mounts: tuple[cri.Mount, ...] = field(default=(), repr=False)
    resources: cri.LinuxContainerResources | None = None
    target_id: str = ""
    """The running container that an ephemeral container was made for."""


def container_config(situation: ContainerCreation) -> cri.ContainerConfig:
    """Return what an instance is made from. Raises ``ConfigRefusedError``.

    Never log the result: it carries the environment.
    """
    container = situation.container
    name = container.get("name") or ""
    with refusing_impossible_values(f"container {name}"):
        return cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name, attempt=situation.attempt),
            image=cri.ImageSpec(
                image=situation.image_ref, user_specified_image=container.get("image") or ""
            ),
            command=situation.command,
            args=situation.args,
            working_dir=container.get("workingDir") or "",
            envs=[
                cri.KeyValue(key=key, value=as_bytes(value))
                for key, value in situation.environment.items()
            ],
            mounts=_mapped(situation),
            labels=container_labels(situation.pod, container),
            annotations=container_annotations(
                situation.pod,
                container,
                situation.attempt,
                situation.spec_hash,
                [mount.image.image for mount in situation.mounts if mount.HasField("image")],
                situation.variables_from,
            ),
            log_path=log_path(name, situation.attempt),
            stdin=bool(container.get("stdin")),
            stdin_once=bool(container.get("stdinOnce")),
            tty=bool(container.get("tty")),
            stop_signal=stop_signal(container),
            linux=_linux(situation),
        )


def _linux(situation: ContainerCreation) -> cri.LinuxContainerConfig:
    namespaces = container_namespaces(situation.sandbox, situation.container, situation.target_id)
    return cri.LinuxContainerConfig(
        resources=situation.resources,
        security_context=container_security(
            situation.pod,
            situation.container,
            situation.image_user,
            situation.node,
            namespaces,
        ),
    )


def _mapped(situation: ContainerCreation) -> tuple[cri.Mount, ...]:
    """Return the mounts. A pod with users of its own sees files as owned by whom they are on the node."""
    users = situation.sandbox.linux.security_context.namespace_options.userns_options
    if users.mode != cri.POD or not users.uids:
        return situation.mounts
    return tuple(_with_users(mount, users) for mount in situation.mounts)


def _with_users(mount: cri.Mount, users: cri.UserNamespace) -> cri.Mount:
    mapped = cri.Mount(uidMappings=users.uids, gidMappings=users.gids)
    mapped.MergeFrom(mount)
    return mapped


def stop_signal(container: JsonObject) -> str:
    """Return the name of the signal. Without ``lifecycle.stopSignal`` image and runtime decide."""
    name = (container.get("lifecycle") or {}).get("stopSignal")
    if not name:
        return "SIGNAL_RUNTIME_DEFAULT"
    word = str(name).replace("+", "PLUS").replace("-", "MINUS")
    if not word.startswith("SIG") or word not in cri.Signal.keys():  # noqa: SIM118
        raise ConfigRefusedError(f"lifecycle.stopSignal {str(name)[:20]!r} is not known")
    return word
