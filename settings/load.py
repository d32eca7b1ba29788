"""Makes the settings: flags over drop-ins over the configuration file over defaults.

What is wrong with any of them is a ``UsageError`` with one sentence. What is not served, or served otherwise
than its owner may think, is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from socket import gethostname
from typing import Any

from messages.pods import JsonObject
from settings import defaults
from settings.agent import Settings
from settings.checks import (
    check_apart,
    check_contradictions,
    check_path,
    checked_node_name,
    checked_url,
)
from settings.configuration.file import (
    ConfigurationFile,
    drop_ins,
    merged,
    read_configuration,
)
from settings.configuration.schema import API_VERSION, KIND, KubeletConfiguration
from settings.effects import Effect, Situation
from settings.errors import UsageError
from settings.flags.command_line import CommandLine
from settings.load_cluster import (
    FLAGS_OF_A_CLUSTER,
    cluster_settings_of,
    fields_of_a_cluster,
)
from settings.load_containers import (
    fields_of_containers,
)
from settings.load_resources import (
    fields_of_resources,
    pod_networks_of,
    resources_of,
)
from settings.load_runtime import (
    endpoint_warning,
    node_labels_of,
    restart_pause_of,
    runtime_of,
    taints_of,
)
from settings.values.addresses import is_loopback
from settings.without_effect import told


def load_settings(line: CommandLine) -> Settings:
    """Return the settings of ``line`` and of the configuration files that it names.

    Reads these files, and looks whether manifests can be read from the manifest path. Does not read the
    kubeconfig: static pods run without it. Raises ``UsageError``, and ``StartError`` when a configuration
    file cannot be read.
    """
    check_contradictions(line)
    files = [read_configuration(each) for each in configuration_files(line)]
    return checked_settings(line, files)


def configuration_files(line: CommandLine) -> list[Path]:
    """Return the configuration files that ``line`` names, in the order in which they are merged.

    Raises ``StartError``.
    """
    files = [line.config] if line.config else []
    return [*files, *(drop_ins(line.config_dir) if line.config_dir else ())]


def checked_settings(line: CommandLine, files: Iterable[ConfigurationFile]) -> Settings:
    """Return the settings of ``line`` over ``files`` on this machine. Raises ``UsageError``."""
    check_contradictions(line)
    settings = settings_of(line, files, hostname=gethostname())
    if settings.static_pod_path:
        check_path("the manifest path", settings.static_pod_path, at="staticPodPath")
    if settings.local_objects_dir:
        check_path("--local-objects-dir", settings.local_objects_dir, at="--local-objects-dir")
        check_apart(settings.local_objects_dir, settings.static_pod_path)
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
    value = configuration.value_of
    address = _checked_address(configuration, line)
    cluster = cluster_settings_of(line, configuration)
    runtime = runtime_of(line, configuration)
    containers = runtime.containers
    is_real = containers is not None
    resources = resources_of(line, configuration, is_machine=cluster is not None or is_real)
    node_name = checked_node_name(line.hostname_override or hostname)
    situation = Situation(is_joined=cluster is not None, runtime=runtime.kind)
    unserved = _unserved(configuration, situation)
    idle = _idle(configuration, line, situation)
    return Settings(
        node_name=node_name,
        root_dir=line.root_dir,
        cluster=cluster,
        static_pod_path=Path(configuration.staticPodPath) if configuration.staticPodPath else None,
        file_check_frequency=value("fileCheckFrequency"),
        local_objects_dir=line.local_objects_dir,
        strict_manifests=line.strict_manifests,
        clear_on_missing_path=line.clear_on_missing_path,
        static_pod_url=checked_url(configuration.staticPodURL),
        static_pod_url_header={k: tuple(v) for k, v in configuration.staticPodURLHeader.items()},
        static_pod_url_ca_file=line.manifest_url_ca_file,
        http_check_frequency=value("httpCheckFrequency"),
        sync_frequency=value("syncFrequency"),
        runtime=runtime,
        node_labels=node_labels_of(line, runtime, is_joined=cluster is not None),
        taints=taints_of(configuration, runtime),
        longest_restart_pause=restart_pause_of(configuration),
        resources=resources,
        pod_networks=pod_networks_of(configuration),
        address=address,
        read_only_port=configuration.readOnlyPort,
        healthz_bind_address=value("healthzBindAddress"),
        healthz_port=configuration.healthzPort,
        hosts=_hosts(line, node_name, hostname, (address, value("healthzBindAddress"))),
        enable_server=configuration.enableServer,
        enable_chaos=line.enable_chaos,
        logging_format=configuration.logging.value_of("format"),
        verbosity=configuration.logging.verbosity,
        configuration={
            **configuration.given(),
            **fields_of_a_cluster(configuration),
            **fields_of_resources(configuration, resources),
            **(fields_of_containers(configuration, containers) if containers is not None else {}),
        },
        warnings=(
            *notes,
            *_warnings(configuration, address, unserved),
            *_flags_without_effect(line),
            *filter(None, (endpoint_warning(line, configuration, runtime),)),
            *(_standalone_warnings(configuration, idle) if cluster is None else ()),
        ),
    )


def _hosts(
    line: CommandLine, node_name: str, hostname: str, listening: Iterable[str]
) -> frozenset[str]:
    """Return the names and addresses by which requests may ask for this machine, beside loopback."""
    addresses = {*line.node_ip, *listening} - {"0.0.0.0", "::"}  # noqa: S104  # these name no machine
    return frozenset({node_name, hostname.lower(), *line.allow_host, *addresses})


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


def _unserved(configuration: KubeletConfiguration, situation: Situation) -> tuple[str, ...]:
    """Return what was set and has no effect; without the endpoint, which has a warning of its own."""
    idle = {Effect.OBEYED, Effect.IDLE_WITHOUT_CLUSTER}
    fields = sorted(path for path in configuration.changed() if situation.effect(path) not in idle)
    return tuple(path for path in fields if path != "containerRuntimeEndpoint")


def _idle(
    configuration: KubeletConfiguration, line: CommandLine, situation: Situation
) -> tuple[str, ...]:
    """Return what was set and has an effect only in a cluster; nothing if the agent joins one."""
    given = dict.fromkeys(FLAGS_OF_A_CLUSTER, line.node_ip)
    names = (*sorted(configuration.changed()), *(name for name in given if given[name]))
    idle = Effect.IDLE_WITHOUT_CLUSTER
    return tuple(name for name in names if situation.effect(name) is idle)


def _checked_address(configuration: KubeletConfiguration, line: CommandLine) -> str:
    """Return the read-only port's address. Raises ``UsageError`` if others could reach a port.

    In a kubelet's file, ``address`` is meant for the TLS port, and the read-only port is off unless the
    file says otherwise. So such a file gets the read-only port on loopback. A file that also names this
    port, and an address that is given as a flag, need ``--allow-non-loopback``.
    """
    address: str = configuration.value_of("address")
    healthz: str = configuration.value_of("healthzBindAddress")
    if configuration.healthzPort and not is_loopback(healthz) and not line.allow_non_loopback:
        raise UsageError(_reachable("healthzPort", healthz), at="healthzBindAddress")
    if configuration.readOnlyPort and not is_loopback(address) and not line.allow_non_loopback:
        if "readOnlyPort" in configuration.model_fields_set or "address" in line.fields:
            raise UsageError(_reachable("readOnlyPort", address), at="address")
        address = defaults.ADDRESS
    if line.enable_chaos and not is_loopback(address):
        raise UsageError(
            f"--enable-chaos works on a loopback address only, not on {address}",
            at="--enable-chaos",
        )
    return address


def _reachable(port: str, address: str) -> str:
    return (
        f"{port} on {address} would answer anybody who can reach this machine: take a loopback "
        f"address, set {port} to 0, or insist with --allow-non-loopback"
    )


def _warnings(
    configuration: KubeletConfiguration, address: str, unserved: tuple[str, ...]
) -> Iterator[str]:
    if configuration.readOnlyPort and address != configuration.value_of("address"):
        yield (
            f"The read-only port listens on {address} and not on {configuration.address}, which the "
            "configuration names for the TLS port; --allow-non-loopback changes that"
        )
    if unserved:
        yield f"Not served yet, so without effect: {', '.join(unserved)}"


def _flags_without_effect(line: CommandLine) -> Iterator[str]:
    if line.without_effect:
        yield f"Flags of a kubelet, without effect here: {told(line.without_effect)}"


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
