"""What the agent was told to do, in one value, made of flags, configuration files and defaults.

A field is called as in the KubeletConfiguration where there is one. ``settings.load`` makes this value;
everybody else only reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from manifests.names import check_taints
from messages.pods import JsonObject
from messages.units import Seconds
from settings.addresses import is_loopback, masked_headers, masked_url, web_url
from settings.checks import between, check_labels, checked_node_name
from settings.cluster import ClusterSettings
from settings.errors import UsageError
from settings.kinds import (
    ADDRESS,
    DURATION,
    FORMAT,
    FREQUENCY,
    HEADERS,
    HOSTS,
    LABELS,
    LEVEL,
    PATH,
    PORT,
    SWITCH,
    TAINTS,
    TEXT,
)
from settings.resources import ResourceSettings
from settings.rows import Section, ToldValues, row
from settings.runtime import HOLLOW_TAINT, LABEL_VALUES, RUNTIME_LABEL, RuntimeSettings
from settings.server import ServerSettings
from settings.situation import RuntimeKind, Where

SHUTDOWN_DEADLINE: Final = Seconds(10.0)
"""systemd waits 90 s for a process to stop, and Kubernetes 30 s."""
LOOPBACK: Final = "127.0.0.1"
"""A kubelet's read-only port listens on 0.0.0.0. But it has no authentication."""


def _node_name(told: ToldValues) -> str:
    return checked_node_name(told["--hostname-override"] or told.hostname)


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _node_labels(told: ToldValues) -> dict[str, str]:
    """Return the labels of the node that are not those of every node."""
    labels = told["--node-labels"]
    check_labels(labels, is_restricted=told.situation.is_joined)
    value = LABEL_VALUES.get(told.situation.runtime or RuntimeKind.CRI)
    return {**labels, **({RUNTIME_LABEL: value} if value else {})}


def _taints(told: ToldValues) -> tuple[JsonObject, ...] | None:
    """Return the taints of a Node that is created; None if a class says them."""
    if "registerWithTaints" not in told.given:
        if told.situation.runtime is RuntimeKind.HOLLOW:
            return (HOLLOW_TAINT,)
        if told.situation.runtime is RuntimeKind.PROVIDER:
            return None
    taints = tuple(
        {name: taint[name] for name in ("key", "value", "effect") if taint[name] or name != "value"}
        for taint in told["registerWithTaints"]
    )
    check_taints(taints)
    return taints


def _networks(text: str) -> tuple[str, ...]:
    """Return where pods have their addresses: one network, or one of each family."""
    try:
        parts = text.split(",") if text else []
        networks = [ip_network(each.strip(), strict=False) for each in parts]
    except ValueError:
        raise ValueError("should be a network, such as 10.244.0.0/16") from None
    if len({network.version for network in networks}) < len(networks):
        raise ValueError("should be one network, or one of each family")
    return tuple(map(str, networks))


def read_only_address(told: ToldValues) -> str:
    """Return the read-only port's address.

    ``address`` is that of the TLS port, as in a kubelet. The read-only port asks for no password, so it is
    there, too, only if nobody else reaches it, or ``--allow-non-loopback`` insists.
    """
    address = str(told["address"] or LOOPBACK)
    return address if is_loopback(address) or told["--allow-non-loopback"] else LOOPBACK


def _healthz_address(told: ToldValues) -> str:
    address: str = told["healthzBindAddress"]
    if told["healthzPort"] and not is_loopback(address) and not told["--allow-non-loopback"]:
        raise UsageError(_reachable("healthzPort", address), at="healthzBindAddress")
    return address


def _reachable(port: str, address: str) -> str:
    return (
        f"{port} on {address} would answer anybody who can reach this machine: take a loopback "
        f"address, set {port} to 0, or insist with --allow-non-loopback"
    )


def _hosts(told: ToldValues) -> frozenset[str]:
    """Return the names and addresses by which requests may ask for this machine, beside loopback."""
    addresses = {*told["--node-ip"], read_only_address(told), _healthz_address(told)}
    no_machine = {"0.0.0.0", "::"}  # noqa: S104
    names = {_node_name(told), told.hostname.lower()}
    return frozenset(names | {*told["--allow-host"]} | addresses - no_machine)


def _chaos(told: ToldValues) -> bool:
    if told["--enable-chaos"] and not is_loopback(read_only_address(told)):
        raise UsageError(
            f"--enable-chaos works on a loopback address only, not on {read_only_address(told)}",
            at="--enable-chaos",
        )
    return bool(told["--enable-chaos"])


_of_sources = partial(row, section=Section.SOURCES)
_of_node = partial(row, section=Section.NODE)
_of_endpoints = partial(row, section=Section.ENDPOINTS)
_of_logs = partial(row, section=Section.LOGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this agent runs. The ``repr`` shows no URL and no header, since both may hold secrets."""

    root_dir: Path = row(
        PATH,
        default=Path("/var/lib/actorlet"),
        flag="--root-dir",
        says="Where the agent keeps its files",
        section=Section.CONFIGURATION,
    )
    """Where the agent keeps its own files, for one agent only. Made with mode 0750 if it is missing."""
    node_name: str = row(
        TEXT,
        flag="--hostname-override",
        says="Name of this node",
        default_says="the host's name in lower case",
        section=Section.CONFIGURATION,
        derive=_node_name,
    )
    """Every static pod's name ends with it, so a change renames, and restarts, all of them."""
    cluster: ClusterSettings | None
    """The cluster to join. ``None``, for a standalone agent, if nobody named one: a kubelet's rule."""
    runtime: RuntimeSettings
    """What runs the pods."""
    resources: ResourceSettings
    """What the node has for pods."""
    server: ServerSettings
    """How the TLS port is served."""

    static_pod_path: Path | None = _of_sources(
        TEXT,
        "staticPodPath",
        flag="--pod-manifest-path",
        says="Directory of static pods, or one file",
        settle=_path,
    )
    """``None`` for no file source. It may appear later."""
    file_check_frequency: Seconds = _of_sources(
        FREQUENCY,
        "fileCheckFrequency",
        2.0,
        flag="--file-check-frequency",
        says="Time between two scans; changes are seen at once besides",
        more="runtime-semantics.md#files",
        zero_is_default=True,
    )
    """Of ``static_pod_path`` and ``local_objects_dir``. A kubelet takes 20 s. Changes are noticed at once.
    The scan finds what no notification tells of, such as a change of the target of a link."""
    local_objects_dir: Path | None = _of_sources(
        PATH,
        flag="--local-objects-dir",
        says="Directory of Secrets and ConfigMaps for static pods, one in each file",
        more="secrets-and-configmaps.md#secrets-without-a-control-plane",
    )
    """It may appear later. ``None`` for none: static pods may reference nothing then."""
    strict_manifests: bool = _of_sources(
        SWITCH, flag="--strict-manifests", says="Refuse manifests with unknown fields"
    )
    """Off, because a kubelet accepts it; a warning tells of it."""
    clear_on_missing_path: bool = _of_sources(
        SWITCH, flag="--clear-on-missing-path", says="Stop its pods when the directory vanishes"
    )
    """A kubelet does. Off: what runs must not stop because a mount comes late or goes."""
    static_pod_url: str = _of_sources(
        TEXT,
        "staticPodURL",
        flag="--manifest-url",
        says="Where to ask for static pods",
        settle=web_url,
        mask=masked_url,
    )
    """Empty for nowhere."""
    static_pod_url_header: Mapping[str, tuple[str, ...]] = _of_sources(
        HEADERS,
        "staticPodURLHeader",
        flag="--manifest-url-header",
        says="Headers of that request; may repeat",
        needs="staticPodURL",
        mask=masked_headers,
    )
    """Often a token."""
    static_pod_url_ca_file: Path | None = _of_sources(
        PATH, flag="--manifest-url-ca-file", says="Whose certificates that server may have (PEM)"
    )
    """``None`` for those that the system trusts."""
    http_check_frequency: Seconds = _of_sources(
        FREQUENCY,
        "httpCheckFrequency",
        20.0,
        flag="--http-check-frequency",
        says="Time between two such requests",
        needs="staticPodURL",
        zero_is_default=True,
    )
    """Between their beginnings. They load a server of somebody else."""

    sync_frequency: Seconds = row(
        FREQUENCY,
        "syncFrequency",
        60.0,
        flag="--sync-frequency",
        says="What nobody read for five times this is watched no longer",
        section=Section.CLUSTER,
        where=Where.CLUSTER,
        zero_is_default=True,
    )
    """Longest time between two looks at a running pod. A Secret or ConfigMap that nobody reads for five
    times as long, and a minute at least, is not watched any more until it is read."""
    pod_networks: tuple[str, ...] = row(
        TEXT,
        "podCIDR",
        flag="--pod-cidr",
        says="Addresses of hollow pods",
        more="hollow-nodes.md#addresses",
        section=Section.RUNTIME,
        where=Where.HOLLOW,
        settle=_networks,
    )
    """Empty for a network of the agent's choice."""
    node_labels: Mapping[str, str] = _of_node(
        LABELS, flag="--node-labels", says="Labels of the node", derive=_node_labels
    )
    """Labels of the node in addition to those that every node has."""
    taints: tuple[JsonObject, ...] | None = _of_node(
        TAINTS,
        "registerWithTaints",
        flag="--register-with-taints",
        says="Taints of the node; of a Node when it is created",
        derive=_taints,
    )
    """Later the cluster may change them. None: the Python class says them that runs the pods."""
    longest_restart_pause: Seconds = row(
        DURATION,
        "crashLoopBackOff.maxContainerRestartPeriod",
        300.0,
        says="The longest wait of a container that ends again and again, from 1s to 5m",
        settle=between(
            1.0, 300.0, "should be from 1s to 5m"
        ),  # a kubelet takes no other ones either
    )

    address: str = LOOPBACK
    """Where the read-only port listens."""
    read_only_port: int = _of_endpoints(
        PORT,
        "readOnlyPort",
        10255,
        flag="--read-only-port",
        says="/pods, /sourcez, ...; 0 is off",
        more="endpoints.md",
    )
    """A kubelet takes 0. But this port is how the agent shows what it does."""
    healthz_bind_address: str = _of_endpoints(
        ADDRESS,
        "healthzBindAddress",
        LOOPBACK,
        flag="--healthz-bind-address",
        says="Where the healthz port listens",
        zero_is_default=True,
        derive=_healthz_address,
    )
    healthz_port: int = _of_endpoints(
        PORT, "healthzPort", 10248, flag="--healthz-port", says="/healthz; 0 is off"
    )
    allow_non_loopback: bool = _of_endpoints(
        SWITCH,
        flag="--allow-non-loopback",
        says="Let others reach these ports, without authentication",
    )
    hosts: frozenset[str] = _of_endpoints(
        HOSTS,
        flag="--allow-host",
        says="Answer requests for this name, too. May be repeated",
        more="endpoints.md#endpoints",
        derive=_hosts,
    )
    """Names and addresses of this machine beside those of loopback. Both ports answer requests for these
    only, so that no web page reads them by a name of its own."""
    enable_server: bool = _of_endpoints(
        SWITCH,
        "enableServer",
        default=True,
        flag="--enable-server",
        says="Serve the TLS port",
    )
    """It does not concern the other two ports, as in a kubelet: their port numbers switch them off."""
    enable_chaos: bool = _of_endpoints(
        SWITCH,
        flag="--enable-chaos",
        says="Let POST /debug/actors/NAME/crash crash an actor",
        derive=_chaos,
    )
    """Only ever true when ``address`` is loopback."""

    logging_format: str = _of_logs(
        FORMAT,
        "logging.format",
        "text",
        flag="--logging-format",
        says="How log lines look",
        zero_is_default=True,
    )
    verbosity: int = _of_logs(
        LEVEL,
        "logging.verbosity",
        flag="-v, --v",
        says="The higher, the more is logged",
        default_says="0",
    )
    shutdown_deadline: Seconds = SHUTDOWN_DEADLINE
    """How long an orderly stop may take in all, before the process ends anyway."""

    configuration: JsonObject = field(repr=False)
    """The KubeletConfiguration in its own JSON: what is obeyed as it is in effect, with masked secrets, all
    else as it was given. What only a node of a cluster obeys is there anyway."""
    warnings: tuple[str, ...] = ()
    """What the agent's owner should read once at start: sentences without a full stop."""


def effective_configuration(settings: Settings) -> JsonObject:
    """Return what ``/configz`` answers: the KubeletConfiguration, and the root directory."""
    return {
        "kubeletconfig": settings.configuration,
        "rootDir": str(settings.root_dir.absolute()),
    }
