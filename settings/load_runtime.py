"""Makes the settings of the runtime of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from manifests.taints import check_taints
from messages.pods import JsonObject
from messages.units import Seconds
from settings.configuration.schema import KubeletConfiguration
from settings.containers import ContainerSettings
from settings.errors import UsageError
from settings.flags.command_line import CommandLine
from settings.load_containers import containers_of, names_endpoint
from settings.runtime import (
    HOLLOW_LABEL_VALUE,
    HOLLOW_TAINT,
    RUNTIME_LABEL,
    VIRTUAL_LABEL_VALUE,
    HollowSettings,
    RuntimeKind,
    RuntimeSettings,
)
from settings.values.node_labels import check_labels

_LABEL_VALUES: Final = {
    RuntimeKind.HOLLOW: HOLLOW_LABEL_VALUE,
    RuntimeKind.PROVIDER: VIRTUAL_LABEL_VALUE,
}
SHORTEST_RESTART_PAUSE: Final = 1.0
LONGEST_RESTART_PAUSE: Final = 300.0
"""A kubelet takes no other ones either."""


def runtime_of(
    line: CommandLine,
    configuration: KubeletConfiguration,
    *,
    is_joined: bool,
    socket: Path | None = None,
) -> RuntimeSettings | None:
    """Return what runs the pods; None if a node of a cluster was told nothing. Raises ``UsageError``.

    ``socket`` is where a container runtime was found. A node of a cluster never pretends unless it was told
    to: others rely on what it says. Who only looks at manifests needs no runtime.
    """
    told = line.runtime or (RuntimeKind.HOLLOW if not is_joined and _asks_for_hollow(line) else "")
    chosen = _chosen(told, configuration, is_joined=is_joined, socket=socket)
    if chosen is None and line.validate is None:
        raise UsageError(
            "a node of a cluster needs a runtime: --runtime cri for a container runtime of this machine, "
            "--runtime hollow, which only pretends to run pods, or --runtime MODULE:CLASS"
        )
    is_hollow = chosen is not None and chosen.kind is RuntimeKind.HOLLOW
    for flag in _hollow_flags(line):
        if not is_hollow:
            raise UsageError(f"{flag} has an effect only with --runtime hollow", at=flag)
    if chosen is not None and chosen.containers is not None:
        return replace(
            chosen,
            containers=_with_plugins(chosen.containers, line),
            adopts_static_pods=line.adopt_static_pods,
        )
    if line.adopt_static_pods or line.explain_takeover:
        flag = "--adopt-static-pods" if line.adopt_static_pods else "--explain-takeover"
        raise UsageError(f"{flag} has an effect only with --runtime cri", at=flag)
    if not is_hollow:
        return chosen
    return RuntimeSettings(
        kind=RuntimeKind.HOLLOW,
        is_forced=line.force_hollow,
        hollow=HollowSettings(
            times=line.hollow_times,
            seed=line.hollow_seed,
            keeps_records=line.hollow_records,
            has_volumes=line.hollow_volumes,
        ),
    )


def endpoint_warning(
    line: CommandLine, configuration: KubeletConfiguration, runtime: RuntimeSettings | None
) -> str:
    """Return what is to be said of the socket of a container runtime; empty for nothing."""
    if runtime is None:
        return ""
    if runtime.containers is None:
        kind = f"--runtime {line.runtime or runtime.kind}"
        named = names_endpoint(configuration)
        return f"containerRuntimeEndpoint has no effect with {kind}" if named else ""
    if line.runtime or names_endpoint(configuration):
        return ""
    where = runtime.containers.container_runtime_endpoint
    return f"Pods run in containers of {where}, which is there; --runtime hollow only pretends"


def restart_pause_of(configuration: KubeletConfiguration) -> Seconds:
    """Return how long containers wait at most to be started again. Raises ``UsageError``."""
    pause = configuration.crashLoopBackOff.maxContainerRestartPeriod
    if not SHORTEST_RESTART_PAUSE <= pause <= LONGEST_RESTART_PAUSE:
        raise UsageError(
            "crashLoopBackOff.maxContainerRestartPeriod should be from 1s to 5m",
            at="crashLoopBackOff.maxContainerRestartPeriod",
        )
    return Seconds(pause)


def node_labels_of(
    line: CommandLine, runtime: RuntimeSettings | None, *, is_joined: bool
) -> Mapping[str, str]:
    """Return the labels of the node that are not those of every node. Raises ``UsageError``."""
    try:
        check_labels(line.node_labels, is_restricted=is_joined)
    except ValueError as error:
        raise UsageError(f"--node-labels {error}", at="--node-labels") from None
    value = _LABEL_VALUES.get(runtime.kind) if runtime is not None else None
    return {**line.node_labels, **({RUNTIME_LABEL: value} if value else {})}


def taints_of(
    configuration: KubeletConfiguration, runtime: RuntimeSettings | None
) -> tuple[JsonObject, ...] | None:
    """Return the taints of a Node that is created; None if a class says them. Raises ``UsageError``."""
    taints = tuple(
        {name: taint[name] for name in ("key", "value", "effect") if taint[name] or name != "value"}
        for taint in (each.model_dump() for each in configuration.registerWithTaints)
    )
    is_told = "registerWithTaints" in configuration.model_fields_set
    if _is_hollow(runtime) and not is_told:
        return (HOLLOW_TAINT,)
    if runtime is not None and runtime.kind is RuntimeKind.PROVIDER and not is_told:
        return None
    try:
        check_taints(taints)
    except ValueError as error:
        raise UsageError(f"registerWithTaints {error}", at="registerWithTaints") from None
    return taints


def _with_plugins(containers: ContainerSettings, line: CommandLine) -> ContainerSettings:
    config, programs = line.image_credential_provider_config, line.image_credential_provider_bin_dir
    if (config is None) != (programs is None):
        raise UsageError(
            "--image-credential-provider-config and --image-credential-provider-bin-dir "
            "need each other",
            at="--image-credential-provider-config"
            if config
            else "--image-credential-provider-bin-dir",
        )
    return replace(
        containers,
        image_credential_provider_config=config,
        image_credential_provider_bin_dir=programs,
    )


def _chosen(
    told: str, configuration: KubeletConfiguration, *, is_joined: bool, socket: Path | None
) -> RuntimeSettings | None:
    is_there = names_endpoint(configuration) or socket is not None
    if told == RuntimeKind.CRI or (not told and is_there):
        return RuntimeSettings(
            kind=RuntimeKind.CRI, containers=containers_of(configuration, socket)
        )
    if told == RuntimeKind.HOLLOW or (not told and not is_joined):
        return RuntimeSettings(kind=RuntimeKind.HOLLOW)
    if not told:
        return None
    place, _, name = told.rpartition(":")
    if not place or not name.isidentifier():
        raise UsageError(
            f"--runtime {told[:64]!r} should be hollow, cri or MODULE:CLASS", at="--runtime"
        )
    return RuntimeSettings(kind=RuntimeKind.PROVIDER, provider=told)


def _hollow_flags(line: CommandLine) -> list[str]:
    """Return the flags of hollow nodes that were given."""
    flags = {
        "--hollow-capacity": line.hollow_capacity,
        "--hollow-times": line.hollow_times,
        "--hollow-seed": line.hollow_seed,
        "--hollow-records": line.hollow_records,
        "--hollow-volumes": line.hollow_volumes,
        "--force-hollow": line.force_hollow,
    }
    return [flag for flag, value in flags.items() if value]


def _asks_for_hollow(line: CommandLine) -> bool:
    return bool(_hollow_flags(line))


def _is_hollow(runtime: RuntimeSettings | None) -> bool:
    return runtime is not None and runtime.kind is RuntimeKind.HOLLOW
