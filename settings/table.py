"""All settings, and what becomes of each on a node of some kind. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from settings.agent import Settings
from settings.cluster import ClusterSettings
from settings.containers import ContainerSettings
from settings.kinds import TEXT
from settings.line import CommandLine
from settings.resources import ResourceSettings
from settings.rows import Field, Row, Section, rows_of
from settings.runtime import HollowSettings, RuntimeSettings
from settings.server import ServerSettings
from settings.situation import Situation
from settings.without_effect import REASONS, TABLE

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"
GROUPS: Final = (
    CommandLine,
    ClusterSettings,
    RuntimeSettings,
    HollowSettings,
    ContainerSettings,
    Settings,
    ServerSettings,
    ResourceSettings,
)
"""The dataclasses that have rows, in the order of the help."""
ROWS: Final[dict[str, Row]] = {row.name: row for group in GROUPS for _, row in rows_of(group)}
"""All settings by their names."""
SECTIONS: Final = {
    section: tuple(row for row in ROWS.values() if row.flag and row.section is section)
    for section in Section
}
"""The settings that have a flag, by the parts of the help."""
FIELDS: Final[dict[str, Field]] = {
    each.field: each
    for each in (
        Field(TEXT, "apiVersion", API_VERSION),
        Field(TEXT, "kind", KIND),
        *(row for row in ROWS.values() if row.field),
        *(each for row in TABLE for each in row.fields),
    )
}
"""Every field that a configuration file may have, by its path."""


def why_ignored(name: str, situation: Situation) -> str:
    """Return why the field or flag of that name has no effect, in words; empty if it has one."""
    if name in REASONS:
        return REASONS[name]
    row = ROWS.get(name) or of_flag(name)
    return "" if row is None or situation.is_in(row.where) else row.where.value


def of_flag(name: str) -> Row | None:
    """Return the setting that has the flag of that name."""
    return next((row for row in ROWS.values() if name in row.flags), None)


def defaults_of_fields() -> Iterator[tuple[str, Any]]:
    """Yield the path of each field, with its default as JSON."""
    for path, each in FIELDS.items():
        yield path, each.kind.shown(each.initial)
