"""What credential plugins are asked and answer, and how long their answers are used. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from manifests.durations import parse_duration
from messages.units import Seconds
from runtimes.cri.images.auths import LocatedAuth, read_auth
from runtimes.cri.images.locations import covers
from runtimes.cri.images.plugin_config import API_VERSION, CredentialPlugin

MOST_CACHED: Final = 1000
"""Answers that are kept of each plugin. The oldest one is dropped first."""
_GLOBAL: Final = ""


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
