"""Values of fields as everybody may see them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from messages.pods import JsonObject
from settings.agent import Settings, effective_configuration
from settings.configuration.schema import KubeletConfiguration
from settings.values.urls import MASKED, masked_url


def masked(name: str, value: Any) -> Any:
    """Return the value of a field as everybody may see it."""
    if name == "staticPodURL":
        return masked_url(value) if value else value
    if name == "staticPodURLHeader":
        return dict.fromkeys(value, MASKED) if isinstance(value, Mapping) else MASKED
    return value


def in_effect(name: str, settings: Settings | None) -> Any:
    """Return what is in effect of a field, as ``/configz`` shows it; None if it does not."""
    if settings is None:
        return None
    return at(effective_configuration(settings)["kubeletconfig"], tuple(name.split(".")))


def defaults_of_fields() -> dict[str, Any]:
    """Return the default of each field that a configuration file may have, as JSON, by its path."""
    document = KubeletConfiguration().model_dump(mode="json", by_alias=True)
    paths = [path for path, _ in KubeletConfiguration.known_fields()]
    return {".".join(path): at(document, path) for path in paths}


def at(document: JsonObject, path: Sequence[str]) -> Any:
    """Return what stands at ``path``; None if nothing does."""
    found: Any = document
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def has(document: JsonObject, path: Sequence[str]) -> bool:
    """Return whether anything stands at ``path``."""
    above = at(document, path[:-1])
    return isinstance(above, Mapping) and path[-1] in above
