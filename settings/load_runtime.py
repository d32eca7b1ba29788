"""Makes the settings of the runtime of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from messages.pods import JsonObject
from messages.units import Seconds
from settings.configuration.schema import KubeletConfiguration
from settings.containers import ContainerSettings
from settings.errors import UsageError
from settings.flags.command_line import CommandLine
from settings.load_containers import containers_of
from settings.runtime import (
    HOLLOW_LABEL,
    HOLLOW_LABEL_VALUE,
    HOLLOW_TAINT,
    HollowSettings,
    RuntimeKind,
    RuntimeSettings,
)
from settings.values.node_labels import check_labels, check_taints

SHORTEST_RESTART_PAUSE: Final = 1.0
LONGEST_RESTART_PAUSE: Final = 300.0
"""A kubelet takes no other ones either."""


def runtime_of(
    line: CommandLine, configuration: KubeletConfiguration, *, is_joined: bool
) -> RuntimeSettings | None:
    """Return what runs the pods; None if a node of a cluster was told nothing. Raises ``UsageError``.

    A node of a cluster never pretends unless it was told to: others rely on what it says. Who only looks at
    manifests needs no runtime.
    """
    chosen = _chosen(line.runtime, configuration, is_joined=is_joined)
    if chosen is None and line.validate is None:
        raise UsageError(
            "a node of a cluster needs a runtime: --runtime cri for a container runtime of this machine, "
            "--runtime hollow, which only pretends to run pods, or --runtime MODULE:CLASS"
        )
    is_hollow = chosen is not None and chosen.kind is RuntimeKind.HOLLOW
    flags = {
        "--hollow-capacity": line.hollow_capacity,
        "--hollow-times": line.hollow_times,
        "--hollow-seed": line.hollow_seed,
        "--hollow-records": line.hollow_records,
        "--force-hollow": line.force_hollow,
    }
    for flag, value in flags.items():
        if value and not is_hollow:
            raise UsageError(f"{flag} has an effect only with --runtime hollow")
    if chosen is not None and chosen.containers is not None:
        return replace(chosen, containers=_with_plugins(chosen.containers, line))
    if not is_hollow:
        return chosen
    return RuntimeSettings(
        kind=RuntimeKind.HOLLOW,
        is_forced=line.force_hollow,
        hollow=HollowSettings(
            times=line.hollow_times, seed=line.hollow_seed, keeps_records=line.hollow_records
        ),
    )


def restart_pause_of(configuration: KubeletConfiguration) -> Seconds:
    """Return how long containers wait at most to be started again. Raises ``UsageError``."""
    pause = configuration.crashLoopBackOff.maxContainerRestartPeriod
    if not SHORTEST_RESTART_PAUSE <= pause <= LONGEST_RESTART_PAUSE:
        raise UsageError("crashLoopBackOff.maxContainerRestartPeriod should be from 1s to 5m")
    return Seconds(pause)


def node_labels_of(
    line: CommandLine, runtime: RuntimeSettings | None, *, is_joined: bool
) -> Mapping[str, str]:
    """Return the labels of the node that are not those of every node. Raises ``UsageError``."""
    try:
        check_labels(line.node_labels, is_restricted=is_joined)
    except ValueError as error:
        raise UsageError(f"--node-labels {error}") from None
    hollow = {HOLLOW_LABEL: HOLLOW_LABEL_VALUE} if _is_hollow(runtime) else {}
    return {**line.node_labels, **hollow}


def taints_of(
    configuration: KubeletConfiguration, runtime: RuntimeSettings | None
) -> tuple[JsonObject, ...]:
    """Return the taints of a Node that is created. Raises ``UsageError``."""
    taints = tuple(
        {name: taint[name] for name in ("key", "value", "effect") if taint[name] or name != "value"}
        for taint in (each.model_dump() for each in configuration.registerWithTaints)
    )
    if _is_hollow(runtime) and "registerWithTaints" not in configuration.model_fields_set:
        return (HOLLOW_TAINT,)
    try:
        check_taints(taints)
    except ValueError as error:
        raise UsageError(f"registerWithTaints {error}") from None
    return taints


def _with_plugins(containers: ContainerSettings, line: CommandLine) -> ContainerSettings:
    config, programs = line.image_credential_provider_config, line.image_credential_provider_bin_dir
    if (config is None) != (programs is None):
        raise UsageError(
            "--image-credential-provider-config and --image-credential-provider-bin-dir "
            "need each other"
        )
    return replace(
        containers,
        image_credential_provider_config=config,
        image_credential_provider_bin_dir=programs,
    )


def _chosen(
    told: str, configuration: KubeletConfiguration, *, is_joined: bool
) -> RuntimeSettings | None:
    fields, endpoint = configuration.model_fields_set, configuration.containerRuntimeEndpoint
    is_named = bool(endpoint) and "containerRuntimeEndpoint" in fields
    if told == RuntimeKind.CRI or (not told and is_named):
        return RuntimeSettings(kind=RuntimeKind.CRI, containers=containers_of(configuration))
    if told == RuntimeKind.HOLLOW or (not told and not is_joined):
        return RuntimeSettings(kind=RuntimeKind.HOLLOW)
    if not told:
        return None
    place, _, name = told.rpartition(":")
    if not place or not name.isidentifier():
        raise UsageError(f"--runtime {told[:64]!r} should be hollow, cri or MODULE:CLASS")
    return RuntimeSettings(kind=RuntimeKind.PROVIDER, provider=told)


def _is_hollow(runtime: RuntimeSettings | None) -> bool:
    return runtime is not None and runtime.kind is RuntimeKind.HOLLOW
