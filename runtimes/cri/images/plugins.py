"""Credential plugins: their configuration, their questions, and their answers, which are kept. Pure.

The form is that of a ``CredentialProviderConfig``: https://kubernetes.io/docs/tasks/administer-
cluster/kubelet-credential-provider/
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from manifests.reading.decoding import read_document
from manifests.reading.document import DocumentError
from manifests.times import parse_duration
from messages.units import Seconds
from runtimes.cri.images.keyring import LocatedAuth, covers, read_auth

API_VERSION: Final = "credentialprovider.kubelet.k8s.io/v1"
"""What plugins are spoken to with."""
_CONFIG_VERSIONS: Final = tuple(
    f"kubelet.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")
)
_FIELDS: Final = frozenset(
    {"name", "matchImages", "defaultCacheDuration", "apiVersion", "args", "env", "tokenAttributes"}
)

MOST_CACHED: Final = 1000
"""Answers that are kept of each plugin. The oldest one is dropped first."""
_GLOBAL: Final = ""


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
        default_cache=_configured_span(
            f"{where}.defaultCacheDuration", provider.get("defaultCacheDuration")
        ),
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


def _configured_span(where: str, value: object) -> Seconds:
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


class PluginAnswerError(ValueError):
    """A plugin gave no credentials. The text never contains what it wrote."""


class CacheKeyType(StrEnum):
    """What an answer is good for, in the API's words."""

    IMAGE = "Image"
    REGISTRY = "Registry"
    GLOBAL = "Global"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginAnswer:
    """The credentials of one answer."""

    entries: tuple[LocatedAuth, ...] = field(repr=False)
    key_type: CacheKeyType
    cached_for: Seconds


def question(repository: str) -> bytes:
    """Return what a plugin is told about a repository."""
    request = {"kind": "CredentialProviderRequest", "apiVersion": API_VERSION, "image": repository}
    return json.dumps(request).encode()


def read_answer(plugin: CredentialPlugin, output: bytes) -> PluginAnswer:
    """Return what a plugin says. Raises ``PluginAnswerError``."""
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        raise PluginAnswerError("printed something that is not JSON") from None
    if not isinstance(document, dict) or document.get("kind") != "CredentialProviderResponse":
        raise PluginAnswerError("printed no CredentialProviderResponse")
    if document.get("apiVersion") != API_VERSION:
        raise PluginAnswerError("answered with another apiVersion than it was asked with")
    key_type = document.get("cacheKeyType")
    if key_type not in list(CacheKeyType):
        raise PluginAnswerError("gave no cacheKeyType of Image, Registry or Global")
    return PluginAnswer(
        entries=_entries(document.get("auth")),
        key_type=CacheKeyType(key_type),
        cached_for=_span(document.get("cacheDuration"), plugin.default_cache),
    )


class PluginCache:
    """The answers that can be used without asking again. It shows none of them."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, CacheKeyType, str], tuple[PluginAnswer, Seconds]] = {}

    def find(self, plugin: str, repository: str, now: Seconds) -> PluginAnswer | None:
        """Return an answer of a plugin that is good for a repository."""
        for key_type in CacheKeyType:
            key = (plugin, key_type, _key(key_type, repository))
            known = self._answers.get(key)
            if known is not None and now < known[1]:
                return known[0]
            self._answers.pop(key, None)
        return None

    def keep(self, plugin: str, repository: str, answer: PluginAnswer, now: Seconds) -> None:
        """Keep an answer for as long as it says."""
        if answer.cached_for <= 0.0:
            return
        key = (plugin, answer.key_type, _key(answer.key_type, repository))
        self._answers.pop(key, None)
        self._answers[key] = (answer, Seconds(now + answer.cached_for))
        while len(self._answers) > MOST_CACHED:
            del self._answers[next(iter(self._answers))]


def asked_about(
    plugins: Sequence[CredentialPlugin], repository: str
) -> tuple[CredentialPlugin, ...]:
    """Return the plugins that are asked about a repository."""
    return tuple(
        plugin
        for plugin in plugins
        if any(covers(pattern, repository) for pattern in plugin.match_images)
    )


def _key(key_type: CacheKeyType, repository: str) -> str:
    match key_type:
        case CacheKeyType.IMAGE:
            return repository
        case CacheKeyType.REGISTRY:
            return repository.partition("/")[0]
        case CacheKeyType.GLOBAL:
            return _GLOBAL


def _entries(auths: object) -> tuple[LocatedAuth, ...]:
    if auths is None:
        return ()
    if not isinstance(auths, dict):
        raise PluginAnswerError("gave an auth that is not an object")
    try:
        found = [LocatedAuth(location, read_auth(entry)) for location, entry in auths.items()]
    except ValueError as error:
        raise PluginAnswerError(f"gave an auth that {error}") from None
    return tuple(each for each in found if not each.auth.is_empty)


def _span(value: object, default: Seconds) -> Seconds:
    if value is None:
        return default
    try:
        span = parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        span = None
    if span is None:
        raise PluginAnswerError("gave a cacheDuration that is no duration")
    return span
