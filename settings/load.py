"""Settles the settings: flags over drop-ins over the configuration file over defaults.

What is wrong with any of them is a ``UsageError`` with one sentence; what is merely not served, or
served otherwise than its owner may think, is a warning.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from messages.pods import JsonObject
from settings.cluster_settings import ClusterSettings
from settings.configuration.file import (
    ConfigurationFile,
    merged,
    read_configuration,
    read_drop_ins,
)
from settings.configuration.schema import API_VERSION, KIND, KubeletConfiguration
from settings.errors import UsageError
from settings.flags.command_line import CommandLine
from settings.load_cluster import (
    FLAGS_OF_A_CLUSTER,
    SERVED_IN_A_CLUSTER,
    cluster_settings_of,
)
from settings.settings import Settings
from settings.values.addresses import is_loopback

_SERVED = frozenset({
    "staticPodPath",
    "fileCheckFrequency",
    "staticPodURL",
    "staticPodURLHeader",
    "httpCheckFrequency",
    "address",
    "readOnlyPort",
    "healthzBindAddress",
    "healthzPort",
    "enableServer",
    "logging.format",
    "logging.verbosity",
})  # fmt: skip
_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FILE_KINDS = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def load_settings(line: CommandLine) -> Settings:
    """Return the settings that ``line`` and the files that it names amount to.

    Reads the configuration files, and looks whether the manifest path is something to read manifests
    from. The kubeconfig is left to those who use it: static pods run without it. Raises ``UsageError``,
    and ``StartError`` when a configuration file cannot be read.
    """
    _check_contradictions(line)
    files = [read_configuration(line.config)] if line.config else []
    files += read_drop_ins(line.config_dir) if line.config_dir else []
    settings = settings_of(line, files, hostname=socket.gethostname())
    if settings.static_pod_path:
        _check_path("the manifest path", settings.static_pod_path)
    if settings.local_objects_dir:
        _check_path("--local-objects-dir", settings.local_objects_dir)
        _check_apart(settings.local_objects_dir, settings.static_pod_path)
    return settings


def settings_of(
    line: CommandLine, files: Iterable[ConfigurationFile], *, hostname: str
) -> Settings:
    """Return the settings of ``line`` over ``files``, of which later ones win. Raises ``UsageError``."""
    given: JsonObject = {"apiVersion": API_VERSION, "kind": KIND}
    notes: list[str] = []
    for file in files:
        given = merged(given, file.given)
        notes += file.warnings
    configuration = KubeletConfiguration.model_validate(_with_flags(given, line.fields))
    address = _checked_addresses(configuration, line)
    cluster = cluster_settings_of(line, configuration)
    unserved, idle = _unserved(configuration, line), _idle(configuration, line, cluster)
    return Settings(
        node_name=_node_name(line.hostname_override or hostname),
        root_dir=line.root_dir,
        cluster=cluster,
        static_pod_path=Path(configuration.staticPodPath) if configuration.staticPodPath else None,
        file_check_frequency=_value(configuration, "fileCheckFrequency"),
        local_objects_dir=line.local_objects_dir,
        strict_manifests=line.strict_manifests,
        clear_on_missing_path=line.clear_on_missing_path,
        static_pod_url=_checked_url(configuration.staticPodURL),
        static_pod_url_header={k: tuple(v) for k, v in configuration.staticPodURLHeader.items()},
        static_pod_url_ca_file=line.manifest_url_ca_file,
        http_check_frequency=_value(configuration, "httpCheckFrequency"),
        sync_frequency=_value(configuration, "syncFrequency"),
        max_pods=_value(configuration, "maxPods"),
        address=address,
        read_only_port=configuration.readOnlyPort,
        healthz_bind_address=_value(configuration, "healthzBindAddress"),
        healthz_port=configuration.healthzPort,
        enable_server=configuration.enableServer,
        enable_chaos=line.enable_chaos,
        logging_format=configuration.logging.format or "text",
        verbosity=configuration.logging.verbosity,
        configuration=configuration.given(),
        ignored_fields=(*unserved, *idle),
        warnings=(
            *notes,
            *_warnings(configuration, address, unserved),
            *(_standalone_warnings(configuration, idle) if cluster is None else ()),
        ),
    )


def _value(configuration: KubeletConfiguration, name: str) -> Any:
    """Return a field's value; zero and empty ask for the default, as in a kubelet."""
    return getattr(configuration, name) or KubeletConfiguration.model_fields[name].default


def _with_flags(given: JsonObject, flags: Mapping[str, Any]) -> JsonObject:
    """Return ``given`` with each flag's value in place of what stood at its path."""
    result = dict(given)
    for path, value in flags.items():
        *parents, last = path.split(".")
        target = result
        for parent in parents:
            target[parent] = dict(target.get(parent, {}))
            target = target[parent]
        target[last] = value
    return result


def _unserved(configuration: KubeletConfiguration, line: CommandLine) -> tuple[str, ...]:
    served = _SERVED | SERVED_IN_A_CLUSTER
    return (*sorted(path for path in configuration.changed() if path not in served), *line.unserved)


def _idle(
    configuration: KubeletConfiguration, line: CommandLine, cluster: ClusterSettings | None
) -> tuple[str, ...]:
    """Return what was set that only a node of a cluster would have a use for."""
    if cluster is not None:
        return ()
    fields = sorted(path for path in configuration.changed() if path in SERVED_IN_A_CLUSTER)
    given = (line.node_labels, line.node_ip)
    flags = (name for name, value in zip(FLAGS_OF_A_CLUSTER, given, strict=True) if value)
    return (*fields, *flags)


def _checked_addresses(configuration: KubeletConfiguration, line: CommandLine) -> str:
    """Return the read-only port's address; raise ``UsageError`` if strangers would reach a port unasked.

    The ``address`` of a kubelet's file is meant for its TLS port, and the read-only port is off unless
    the file says otherwise. So such a file, unchanged, gets the read-only port on loopback; whoever
    also names the port, or gives the address as a flag, must insist.
    """
    address: str = _value(configuration, "address")
    healthz: str = _value(configuration, "healthzBindAddress")
    if configuration.healthzPort and not is_loopback(healthz) and not line.allow_non_loopback:
        raise UsageError(_reachable("healthzPort", healthz))
    if configuration.readOnlyPort and not is_loopback(address) and not line.allow_non_loopback:
        if "readOnlyPort" in configuration.model_fields_set or "address" in line.fields:
            raise UsageError(_reachable("readOnlyPort", address))
        address = _default_address()
    if line.enable_chaos and not is_loopback(address):
        raise UsageError(f"--enable-chaos works on a loopback address only, not on {address}")
    return address


def _default_address() -> str:
    return str(KubeletConfiguration.model_fields["address"].default)


def _reachable(port: str, address: str) -> str:
    return (
        f"{port} on {address} would answer anybody who can reach this machine: take a loopback "
        f"address, set {port} to 0, or insist with --allow-non-loopback"
    )


def _warnings(
    configuration: KubeletConfiguration, address: str, unserved: tuple[str, ...]
) -> Iterator[str]:
    if configuration.readOnlyPort and address != _value(configuration, "address"):
        yield (
            f"The read-only port listens on {address} and not on {configuration.address}, which the "
            "configuration names for the TLS port; --allow-non-loopback changes that"
        )
    if unserved:
        yield f"Not served yet, so without effect: {', '.join(unserved)}"


def _standalone_warnings(
    configuration: KubeletConfiguration, idle: tuple[str, ...]
) -> Iterator[str]:
    if idle:
        yield f"Without effect on a standalone agent: {', '.join(idle)}"
    if not configuration.staticPodPath and not configuration.staticPodURL:
        yield (
            "No source of pods is configured: set staticPodPath or --pod-manifest-path, staticPodURL "
            "or --manifest-url, or join a cluster with --kubeconfig"
        )


def _checked_url(url: str) -> str:
    """Return ``url``, of http or https with a host. It is not shown if it is refused: it may hold a token."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if url and not good:
        raise UsageError("staticPodURL should be an http or https URL with a host")
    return url


def _node_name(name: str) -> str:
    """Return ``name`` as the name of a node: trimmed and in lower case, as a kubelet takes it."""
    node_name = name.strip().lower()
    if len(node_name) > 253 or not _NODE_NAME.fullmatch(node_name):
        raise UsageError(
            f"{name[:64]!r} cannot be the name of a node: letters, digits, - and . only, beginning and "
            "ending with a letter or digit, up to 253 of them; choose one with --hostname-override"
        )
    return node_name


def _check_contradictions(line: CommandLine) -> None:
    chosen = {
        "--standalone": line.standalone,
        "--kubeconfig": bool(line.kubeconfig),
        "--in-cluster": line.in_cluster,
    }
    names = [name for name, is_chosen in chosen.items() if is_chosen]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} contradict each other")


def _check_path(what: str, path: Path) -> None:
    """Raise ``UsageError`` when nothing but a mistake puts this at ``path``; what is missing may come."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    kind = next((name for is_kind, name in _FILE_KINDS if is_kind(mode)), None)
    if kind:
        raise UsageError(f"{what} {path} is {kind}; it should be a directory or a file")


def _check_apart(local_objects_dir: Path, static_pod_path: Path | None) -> None:
    """Raise ``UsageError`` when Secrets would be read as manifests of pods, or the other way round."""
    if static_pod_path is None:
        return
    # Not ``resolve``, which raises for links that lead in a circle.
    here, there = Path(os.path.realpath(local_objects_dir)), Path(os.path.realpath(static_pod_path))
    if here == there or there in here.parents:
        where = "is" if here == there else "is inside of"
        raise UsageError(
            f"--local-objects-dir {local_objects_dir} {where} the manifest path {static_pod_path}; "
            "keep Secrets and ConfigMaps apart from the manifests of pods"
        )
