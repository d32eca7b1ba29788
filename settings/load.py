"""Makes the settings: flags over drop-ins over the configuration file over defaults.

What is wrong with any of them is a ``UsageError`` with one sentence. What is not served, or served otherwise
than its owner may think, is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar

from messages.pods import JsonObject
from settings.agent import Settings, read_only_address
from settings.checks import check_apart, check_path
from settings.cluster import ClusterSettings
from settings.configuration_file import ConfigurationFile, drop_ins, merged, read_configuration
from settings.containers import ContainerSettings, check_containers
from settings.errors import UsageError
from settings.line import CommandLine, check_contradictions
from settings.resources import ResourceSettings, limits_by_machine
from settings.rows import Row, ToldValues, rows_of
from settings.runtime import HollowSettings, RuntimeSettings, runtime_kind
from settings.schema import KubeletConfiguration
from settings.server import ServerSettings
from settings.situation import RuntimeKind, Situation, Where
from settings.table import API_VERSION, FIELDS, KIND, ROWS, why_ignored
from settings.without_effect import told as told_together

T = TypeVar("T")


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
    for name, value in line.others.items():
        given = _with(given, name, value) if name in FIELDS else given
    configuration = KubeletConfiguration.model_validate(given)
    fields = dict(configuration.told())
    told = _told(line, fields, hostname)
    settler = _Settler(told, configuration.given())
    cluster = settler.made(ClusterSettings, kubeconfig=line.kubeconfig)
    settings = settler.made(
        Settings,
        address=read_only_address(told),
        cluster=cluster if told.situation.is_joined else None,
        runtime=_runtime(line, told, settler),
        resources=settler.made(ResourceSettings, is_machine=limits_by_machine(told)),
        server=settler.made(ServerSettings),
        configuration={},
    )
    return replace(
        settings,
        configuration=settler.shown,
        warnings=(*notes, *_warnings(line, told, settings, _changed(fields))),
    )


class _Settler:
    """Makes dataclasses of rows, and keeps how their fields are shown."""

    def __init__(self, told: ToldValues, given: JsonObject) -> None:
        self.shown = given
        """What ``/configz`` shows: fields that were given and, over them, those in effect."""
        self._told = told

    def made(self, group: Callable[..., T], **others: Any) -> T:
        """Return a ``group`` with the values of all its rows. Raises ``UsageError``."""
        return group(**{name: self._settled(row) for name, row in rows_of(group)}, **others)

    def _settled(self, row: Row) -> Any:
        is_none = row.none_if_unset and row.name not in self._told.given
        try:
            value = row.derive(self._told) if row.derive else self._told[row.name]
            settled = None if is_none else row.settled(value)
        except ValueError as error:
            raise UsageError(f"{row.name} {error}", at=row.name) from None
        if row.field:
            self.shown = _with(self.shown, row.field, row.shown(value))
        return settled


def _told(line: CommandLine, fields: Mapping[str, Any], hostname: str) -> ToldValues:
    given = {**line.typed, **fields}

    def value(row: Row) -> Any:
        said = given.get(row.name, row.initial)
        return said or row.initial if row.zero_is_default else said

    return ToldValues(
        values={name: value(row) for name, row in ROWS.items()},
        given=given.keys(),
        typed=line.typed.keys(),
        situation=Situation(is_joined=line.is_joining, runtime=runtime_kind(line.runtime)),
        hostname=hostname,
    )


def _with(document: JsonObject, path: str, value: Any) -> JsonObject:
    """Return ``document`` with ``value`` at ``path``."""
    first, _, below = path.partition(".")
    return {**document, first: _with(document.get(first, {}), below, value) if below else value}


def _runtime(line: CommandLine, told: ToldValues, settler: _Settler) -> RuntimeSettings:
    """Return what runs the pods. Raises ``UsageError``."""
    kind = told.situation.runtime or RuntimeKind.CRI
    _refuse_flags_of_others(told)
    containers = settler.made(ContainerSettings) if kind is RuntimeKind.CRI else None
    if containers is not None:
        check_containers(told, containers)
    return settler.made(
        RuntimeSettings,
        kind=kind,
        containers=containers,
        provider=line.runtime if kind is RuntimeKind.PROVIDER else "",
        hollow=settler.made(HollowSettings),
    )


def _refuse_flags_of_others(told: ToldValues) -> None:
    """Raise ``UsageError`` for a flag of another runtime, where its owner would count on it."""
    hollow = [row.name for row in ROWS.values() if row.where is Where.HOLLOW and not row.field]
    real = ("--adopt-static-pods", "--explain-takeover")
    for where, names, runtime in (
        (Where.HOLLOW, hollow, RuntimeKind.HOLLOW),
        (Where.CONTAINERS, real, RuntimeKind.CRI),
    ):
        for flag in names:
            if flag in told.typed and not told.situation.is_in(where):
                raise UsageError(f"{flag} has an effect only with --runtime {runtime}", at=flag)


def _changed(fields: Mapping[str, Any]) -> list[str]:
    """Return the path of every field whose value differs from its default.

    Zero durations and empty values mean the default to a kubelet, and kubeadm writes many of them.
    """
    return sorted(
        path
        for path, value in fields.items()
        if value != FIELDS[path].initial
        and value not in ("", [], {})
        and not (isinstance(value, float) and value == 0.0)
    )


def _warnings(
    line: CommandLine, told: ToldValues, settings: Settings, changed: Sequence[str]
) -> Iterator[str]:
    situation = told.situation
    if told["readOnlyPort"] and settings.address != (told["address"] or settings.address):
        yield (
            f"The read-only port listens on {settings.address} and not on {told['address']}, which is for "
            "the TLS port; --allow-non-loopback changes that"
        )
    endpoint = "containerRuntimeEndpoint"
    ignored = {path: why for path in changed if (why := why_ignored(path, situation))}
    idle = [path for path in changed if ignored.get(path) == Where.CLUSTER]
    if unserved := [path for path in ignored if path not in {endpoint, *idle}]:
        yield f"Not served yet, so without effect: {', '.join(unserved)}"
    if line.without_effect:
        yield f"Flags of a kubelet, without effect here: {told_together(line.without_effect)}"
    if told[endpoint] and settings.runtime.containers is None:
        yield f"{endpoint} has no effect with --runtime {line.runtime}"
    if not situation.is_joined:
        flags = [name for name in line.others if name not in FIELDS]
        idle += [name for name in flags if why_ignored(name, situation) == Where.CLUSTER]
        yield from _standalone_warnings(told, idle)


def _standalone_warnings(told: ToldValues, idle: Sequence[str]) -> Iterator[str]:
    if idle:
        yield f"Without effect on a standalone agent: {', '.join(idle)}"
    if not told["staticPodPath"] and not told["staticPodURL"]:
        yield (
            "No source of pods is configured: set staticPodPath or --pod-manifest-path, staticPodURL "
            "or --manifest-url, or join a cluster with --kubeconfig"
        )
