"""Makes the settings of the runtime of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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


def runtime_of(line: CommandLine, configuration: KubeletConfiguration) -> RuntimeSettings:
    """Return what runs the pods: containers, unless somebody says otherwise. Raises ``UsageError``.

    The agent never pretends unless it was told to: its users rely on what it says.
    """
    chosen = replace(
        _chosen(line.runtime or RuntimeKind.CRI, configuration), may_change=line.change_runtime
    )
    is_hollow = chosen.kind is RuntimeKind.HOLLOW
    for flag in _hollow_flags(line):
        if not is_hollow:
            raise UsageError(f"{flag} has an effect only with --runtime hollow", at=flag)
    if chosen.containers is not None:
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
    return replace(
        chosen,
        is_forced=line.force_hollow,
        hollow=HollowSettings(
            times=line.hollow_times,
            seed=line.hollow_seed,
            keeps_records=line.hollow_records,
            has_volumes=line.hollow_volumes,
        ),
    )


def endpoint_warning(
    line: CommandLine, configuration: KubeletConfiguration, runtime: RuntimeSettings
) -> str:
    """Return what is to be said of the socket of a container runtime; empty for nothing."""
    if runtime.containers is not None or not names_endpoint(configuration):
        return ""
    return f"containerRuntimeEndpoint has no effect with --runtime {line.runtime}"


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
    line: CommandLine, runtime: RuntimeSettings, *, is_joined: bool
) -> Mapping[str, str]:
    """Return the labels of the node that are not those of every node. Raises ``UsageError``."""
    try:
        check_labels(line.node_labels, is_restricted=is_joined)
    except ValueError as error:
        raise UsageError(f"--node-labels {error}", at="--node-labels") from None
    value = _LABEL_VALUES.get(runtime.kind)
    return {**line.node_labels, **({RUNTIME_LABEL: value} if value else {})}


def taints_of(
    configuration: KubeletConfiguration, runtime: RuntimeSettings
) -> tuple[JsonObject, ...] | None:
    """Return the taints of a Node that is created; None if a class says them. Raises ``UsageError``."""
    taints = tuple(
        {name: taint[name] for name in ("key", "value", "effect") if taint[name] or name != "value"}
        for taint in (each.model_dump() for each in configuration.registerWithTaints)
    )
    is_told = "registerWithTaints" in configuration.model_fields_set
    if runtime.kind is RuntimeKind.HOLLOW and not is_told:
        return (HOLLOW_TAINT,)
    if runtime.kind is RuntimeKind.PROVIDER and not is_told:
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


def _chosen(told: str, configuration: KubeletConfiguration) -> RuntimeSettings:
    if told == RuntimeKind.CRI:
        return RuntimeSettings(kind=RuntimeKind.CRI, containers=containers_of(configuration))
    if told == RuntimeKind.HOLLOW:
        return RuntimeSettings(kind=RuntimeKind.HOLLOW)
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
