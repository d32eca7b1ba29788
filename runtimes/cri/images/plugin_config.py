"""Which credential plugins there are: the form of a ``CredentialProviderConfig``. Pure.

https://kubernetes.io/docs/tasks/administer-cluster/kubelet-credential-provider/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from manifests.durations import parse_duration
from manifests.reading.decoding import read_document
from manifests.reading.document import DocumentError
from messages.units import Seconds

API_VERSION: Final = "credentialprovider.kubelet.k8s.io/v1"
"""What plugins are spoken to with."""
_CONFIG_VERSIONS: Final = tuple(
    f"kubelet.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")
)
_FIELDS: Final = frozenset(
    {"name", "matchImages", "defaultCacheDuration", "apiVersion", "args", "env", "tokenAttributes"}
)


class PluginConfigError(ValueError):
    """The configuration cannot be used. The text is one sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialPlugin:
    """One plugin, and when it is asked."""

    name: str
    """Of its program, in the directory of plugins."""
    match_images: tuple[str, ...]
    """Locations whose images it is asked about."""
    default_cache: Seconds
    """How long an answer is used that does not say so itself."""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)


def read_plugin_config(data: bytes) -> tuple[CredentialPlugin, ...]:
    """Return the plugins of one document. Raises ``PluginConfigError``."""
    try:
        document = read_document(data).value
    except DocumentError as error:
        raise PluginConfigError(str(error)) from None
    if not isinstance(document, dict) or document.get("kind") != "CredentialProviderConfig":
        raise PluginConfigError("should be of kind CredentialProviderConfig")
    if document.get("apiVersion") not in _CONFIG_VERSIONS:
        raise PluginConfigError("apiVersion: should be kubelet.config.k8s.io/v1")
    providers = document.get("providers")
    if not isinstance(providers, list) or not providers:
        raise PluginConfigError("providers: should list at least one plugin")
    plugins = tuple(_plugin(f"providers[{at}]", each) for at, each in enumerate(providers))
    check_names(plugins)
    return plugins


def check_names(plugins: Iterable[CredentialPlugin]) -> None:
    """Raise ``PluginConfigError`` if two plugins have one name."""
    seen: set[str] = set()
    for plugin in plugins:
        if plugin.name in seen:
            raise PluginConfigError(f"providers: more than one is called {plugin.name}")
        seen.add(plugin.name)


def _plugin(where: str, provider: object) -> CredentialPlugin:
    if not isinstance(provider, dict):
        raise PluginConfigError(f"{where}: should be an object")
    for unknown in sorted(map(str, provider.keys() - _FIELDS)):
        raise PluginConfigError(f"{where}.{unknown}: is no field of a plugin")
    if provider.get("tokenAttributes") is not None:
        raise PluginConfigError(
            f"{where}.tokenAttributes: tokens of service accounts are not given to plugins"
        )
    if provider.get("apiVersion") != API_VERSION:
        raise PluginConfigError(f"{where}.apiVersion: should be {API_VERSION}")
    patterns = _texts(where, "matchImages", provider.get("matchImages"))
    if not patterns or not all(patterns):
        raise PluginConfigError(f"{where}.matchImages: should list at least one image")
    return CredentialPlugin(
        name=_name(where, provider.get("name")),
        match_images=patterns,
        default_cache=_span(f"{where}.defaultCacheDuration", provider.get("defaultCacheDuration")),
        args=_texts(where, "args", provider.get("args")),
        env=_env(f"{where}.env", provider.get("env")),
    )


def _name(where: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise PluginConfigError(f"{where}.name: is required")
    if "/" in name or name in {".", ".."} or not name.isprintable() or " " in name:
        raise PluginConfigError(f"{where}.name: should be the name of a file")
    return name


def _texts(where: str, name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PluginConfigError(f"{where}.{name}: should be a list of texts")
    return tuple(value)


def _span(where: str, value: object) -> Seconds:
    try:
        span = parse_duration(value) if isinstance(value, str) else None
    except ValueError as error:
        raise PluginConfigError(f"{where}: {error}") from None
    if span is None or span < 0.0:
        raise PluginConfigError(f"{where}: should be a duration such as 12h")
    return span


def _env(where: str, value: Any) -> dict[str, str]:
    variables: dict[str, str] = {}
    for each in value if isinstance(value, list) else () if value is None else (None,):
        name = each.get("name") if isinstance(each, dict) else None
        text = each.get("value", "") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise PluginConfigError(f"{where}: should be a list of names and values")
        variables[name] = text
    return variables
