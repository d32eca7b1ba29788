"""Makes the settings of the node's resources: flags over the configuration over defaults."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Final

from manifests.names import qualified_name
from manifests.quantities import amount, is_quantity
from manifests.requests import CPU, MEMORY, PODS, STORAGE, Amounts, is_extended, units
from manifests.thresholds import DEFAULT_THRESHOLDS, PIDS_FREE, Thresholds, parse_threshold
from messages.pods import JsonObject
from settings import defaults
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError
from settings.flags.command_line import CommandLine
from settings.resources import NO_LIMIT_OF_PODS, ResourceSettings

SERVED_OF_RESOURCES: Final = frozenset({
    "maxPods",
    "podsPerCore",
    "systemReserved",
    "kubeReserved",
    "evictionHard",
    "mergeDefaultEvictionSettings",
    "podCIDR",
})  # fmt: skip
SERVED_OF_HOLLOW_PODS: Final = frozenset({"podCIDR"})
"""Of these, fields that have an effect on hollow pods alone."""
_RESERVABLE: Final = frozenset({CPU, MEMORY, STORAGE, "pid"})
_SIGNALS: Final = frozenset({
    *defaults.EVICTION_HARD,
    PIDS_FREE,
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
})  # fmt: skip
"""Those of a kubelet. What is said of other filesystems has no effect: there is one."""


def resources_of(
    line: CommandLine, configuration: KubeletConfiguration, *, is_machine: bool
) -> ResourceSettings:
    """Return what the node has for pods. Raises ``UsageError``.

    ``is_machine`` says whether that is limited by what the machine has.
    """
    return ResourceSettings(
        max_pods=max_pods_of(configuration, is_machine=is_machine),
        pods_per_core=configuration.podsPerCore,
        reserved=_reserved(configuration),
        thresholds=_thresholds(_eviction_hard(configuration)),
        hollow_capacity=_hollow_capacity(line.hollow_capacity),
        is_machine=is_machine,
    )


def fields_of_resources(
    configuration: KubeletConfiguration, resources: ResourceSettings
) -> JsonObject:
    """Return the fields of ``SERVED_OF_RESOURCES`` as they are in effect."""
    return {
        "maxPods": resources.max_pods,
        "podsPerCore": configuration.podsPerCore,
        "systemReserved": configuration.systemReserved,
        "kubeReserved": configuration.kubeReserved,
        "evictionHard": dict(_eviction_hard(configuration)),
        "mergeDefaultEvictionSettings": configuration.mergeDefaultEvictionSettings,
        "podCIDR": configuration.podCIDR,
    }


def max_pods_of(configuration: KubeletConfiguration, *, is_machine: bool) -> int:
    """Return how many pods the node takes. Where nothing else is limited, only a number that was given is."""
    given = configuration.maxPods if "maxPods" in configuration.model_fields_set else 0
    return given or (defaults.MAX_PODS if is_machine else NO_LIMIT_OF_PODS)


def pod_networks_of(configuration: KubeletConfiguration) -> tuple[str, ...]:
    """Return where pods have their addresses: one network, or one of each family. Raises ``UsageError``."""
    try:
        networks = [
            ip_network(text.strip(), strict=False) for text in _listed(configuration.podCIDR)
        ]
    except ValueError:
        raise UsageError(
            "podCIDR should be a network, such as 10.244.0.0/16", at="podCIDR"
        ) from None
    if len({network.version for network in networks}) < len(networks):
        raise UsageError("podCIDR should be one network, or one of each family", at="podCIDR")
    return tuple(map(str, networks))


def _listed(text: str) -> list[str]:
    return text.split(",") if text else []


def _reserved(configuration: KubeletConfiguration) -> Amounts:
    total: dict[str, int] = {}
    for field in ("systemReserved", "kubeReserved"):
        for name, text in getattr(configuration, field).items():
            if name not in _RESERVABLE:
                known = ", ".join(sorted(_RESERVABLE))
                raise UsageError(
                    f"{field} has {name[:64]!r}; what can be reserved is {known}", at=field
                )
            total[name] = total.get(name, 0) + _amount(field, name, text)
    return total


def _eviction_hard(configuration: KubeletConfiguration) -> Mapping[str, str]:
    given = configuration.evictionHard
    if given and not configuration.mergeDefaultEvictionSettings:
        return given  # a kubelet's rule: whoever sets one threshold sets all of them
    return {**defaults.EVICTION_HARD, **given}


def _thresholds(given: Mapping[str, str]) -> Thresholds:
    found = {PIDS_FREE: DEFAULT_THRESHOLDS[PIDS_FREE]}
    for signal, text in given.items():
        if signal not in _SIGNALS:
            raise UsageError(
                f"evictionHard has {signal[:64]!r}, which no kubelet looks at", at="evictionHard"
            )
        try:
            found[signal] = parse_threshold(text)
        except ValueError as error:
            raise UsageError(
                f"evictionHard has {text[:64]!r} for {signal}, which {error}", at="evictionHard"
            ) from None
    return found


def _hollow_capacity(given: Mapping[str, str]) -> Amounts:
    for name in given:
        if not _can_be_had(name):
            raise UsageError(
                f"--hollow-capacity has {name[:64]!r}; a hollow node has cpu, memory, ephemeral-storage, "
                "pods, hugepages-SIZE, and resources with a domain such as example.com/gpu",
                at="--hollow-capacity",
            )
        if name not in {CPU, MEMORY, STORAGE} and _is_part(given[name]):
            raise UsageError(
                f"--hollow-capacity has {given[name][:64]!r} for {name}, which should be a whole number",
                at="--hollow-capacity",
            )
    return {name: _amount("--hollow-capacity", name, text) for name, text in given.items()}


def _can_be_had(name: str) -> bool:
    known = name in {CPU, MEMORY, STORAGE, PODS} or name.startswith("hugepages-")
    return not qualified_name(name) and (known or is_extended(name))


def _is_part(text: str) -> bool:
    return is_quantity(text) and amount(text).denominator != 1


def _amount(what: str, name: str, text: str) -> int:
    if not is_quantity(text) or amount(text) < 0:
        raise UsageError(
            f"{what} has {text[:64]!r} for {name}, which should be an amount such as 500m or 2Gi",
            at=what,
        )
    return units(name, amount(text))
