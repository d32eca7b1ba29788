"""What the agent was told to do, in one value, made of flags, configuration files and defaults.

A field is called as in the KubeletConfiguration where there is one. ``settings.load`` makes this value;
everybody else only reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from messages.pods import JsonObject
from messages.units import Seconds
from settings import defaults
from settings.cluster import ClusterSettings
from settings.resources import ResourceSettings
from settings.runtime import RuntimeSettings
from settings.values.durations import format_duration
from settings.values.urls import MASKED, masked_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this agent runs. The ``repr`` shows no URL and no header, since both may hold secrets."""

    node_name: str
    """Name of this node: a DNS name in lower case. The host's name unless ``--hostname-override`` says
    another. Every static pod's name ends with it, so a change renames, and restarts, all of them."""
    root_dir: Path
    """Where the agent keeps its own files, for one agent only. Made with mode 0750 if it is missing."""
    cluster: ClusterSettings | None
    """The cluster to join. ``None``, for a standalone agent, if nobody named one: a kubelet's rule."""

    static_pod_path: Path | None
    """Directory of manifests, or one manifest. ``None`` for no file source. It may appear later."""
    file_check_frequency: Seconds
    """Time between two scans of ``static_pod_path`` and ``local_objects_dir``."""
    local_objects_dir: Path | None
    """Directory of Secrets and ConfigMaps that static pods may reference, or one file of them. It may appear
    later. ``None`` for none: static pods may reference nothing then."""
    strict_manifests: bool
    """Refuse a manifest with unknown fields. Off, because a kubelet accepts it; a warning tells of it."""
    clear_on_missing_path: bool
    """Stop the pods when ``static_pod_path`` vanishes, as a kubelet does. Off: what runs must not stop
    because a mount comes late or goes."""
    static_pod_url: str = field(repr=False)
    """Where static pods are asked for; empty for nowhere."""
    static_pod_url_header: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Headers of that request. Often a token."""
    static_pod_url_ca_file: Path | None
    """PEM of the authorities that may have signed that server's certificate; ``None`` for the system's."""
    http_check_frequency: Seconds
    """Time between the beginnings of two such requests."""

    sync_frequency: Seconds
    """Longest time between two looks at a running pod. A Secret or ConfigMap that nobody reads for five
    times as long, and a minute at least, is not watched any more until it is read."""
    runtime: RuntimeSettings | None
    """What runs the pods. ``None``: nothing does, they are only shown."""
    node_labels: Mapping[str, str]
    """Labels of the node in addition to those that every node has."""
    taints: tuple[JsonObject, ...] | None
    """Taints of the node; of a Node when this agent creates it. Later the cluster may change them. None: the
    Python class says them that runs the pods."""
    longest_restart_pause: Seconds
    """How long a container that ends again and again waits at most until it is started again."""
    resources: ResourceSettings
    """What the node has for pods."""
    pod_networks: tuple[str, ...]
    """``podCIDR``: where hollow pods have their addresses. Empty for a network of the agent's choice."""

    address: str
    """IP address of the read-only port. Others than loopback need ``--allow-non-loopback``."""
    read_only_port: int
    """Port of /pods, /sourcez and the rest; 0 is off."""
    healthz_bind_address: str
    """IP address of the healthz port. Others than loopback need ``--allow-non-loopback``."""
    healthz_port: int
    """Port of /healthz; 0 is off."""
    hosts: frozenset[str]
    """Names and addresses of this machine beside those of loopback. Both ports answer requests for these
    only, so that no web page reads them by a name of its own."""
    enable_server: bool
    """Whether to serve the authenticated TLS port. There is none yet, so ``False`` is obeyed already. It
    does not concern the other two ports, as in a kubelet: their port numbers switch them off."""
    enable_chaos: bool
    """Accept ``POST /debug/actors/NAME/crash``. Only ever true when ``address`` is loopback."""

    logging_format: str
    """``text`` or ``json``."""
    verbosity: int
    """How much is logged, from 0 on, as ``--v`` of a kubelet."""
    shutdown_deadline: Seconds = defaults.SHUTDOWN_DEADLINE
    """How long an orderly stop may take in all, before the process ends anyway."""

    configuration: JsonObject = field(repr=False)
    """The KubeletConfiguration in its own JSON, as files and flags give it. Fields of a cluster are there
    anyway, as they are in effect."""
    warnings: tuple[str, ...] = ()
    """What the agent's owner should read once at start: sentences without a full stop."""


def effective_configuration(settings: Settings) -> JsonObject:
    """Return what ``/configz`` answers: the KubeletConfiguration with masked secrets, and the root directory.

    Every field that is obeyed is there as it is in effect, whether anybody set it or not. So are those that
    only a node of a cluster obeys, for an agent without one. Other fields are shown as they were given.
    """
    return {
        "kubeletconfig": {**settings.configuration, **_in_effect(settings)},
        "rootDir": str(settings.root_dir.absolute()),
    }


def _in_effect(settings: Settings) -> JsonObject:
    """Return the fields that any agent obeys."""
    logging = settings.configuration.get("logging", {})
    headers = settings.static_pod_url_header
    return {
        "enableServer": settings.enable_server,
        "staticPodPath": str(settings.static_pod_path or ""),
        "staticPodURL": settings.static_pod_url and masked_url(settings.static_pod_url),
        "staticPodURLHeader": {name: [MASKED] * len(headers[name]) for name in headers},
        "fileCheckFrequency": format_duration(settings.file_check_frequency),
        "httpCheckFrequency": format_duration(settings.http_check_frequency),
        "address": settings.address,
        "readOnlyPort": settings.read_only_port,
        "healthzPort": settings.healthz_port,
        "healthzBindAddress": settings.healthz_bind_address,
        "registerWithTaints": list(settings.taints or ()),
        "crashLoopBackOff": {
            "maxContainerRestartPeriod": format_duration(settings.longest_restart_pause)
        },
        "logging": {
            **logging,
            "format": settings.logging_format,
            "verbosity": settings.verbosity,
        },
    }
