"""All that the loader refuses: what it complains of is taken away, and it is asked again.

So what is refused keeps an agent from starting, and nothing else in the settings does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from manifests.findings import Path as FieldPath
from settings.agent import Settings
from settings.command_line import without
from settings.configuration_file import (
    ConfigurationFile,
    ReadDocument,
    given_by,
    read_fields,
    wrong_fields,
)
from settings.errors import UsageError
from settings.line import CommandLine
from settings.load import checked_settings
from settings.runtime import runtime_kind
from settings.situation import Situation
from settings.table import FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file as far as it can be read."""

    path: Path
    document: ReadDocument
    configuration: ConfigurationFile
    """Without the fields that are wrong."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What the loader says once everything is away that it complains of."""

    refused: dict[str, str] = field(default_factory=dict)
    """The complaint about each flag or field."""
    general: list[str] = field(default_factory=list)
    """Complaints about nothing in particular."""
    settings: Settings | None = None


def readable_sources(paths: Iterable[Path], outcome: Outcome) -> Iterator[Source]:
    """Yield the files that are configurations, and note what is wrong with those that are none."""
    for path in paths:
        try:
            document = read_fields(path)
        except UsageError as error:
            outcome.general.append(str(error))
            continue
        value = _mended(document)
        yield Source(
            path=path, document=document, configuration=given_by(value, path, document.warnings)
        )


def _mended(document: ReadDocument) -> dict[str, Any]:
    """Return what the document sets, without the fields that are wrong."""
    value = document.value
    wrong = document.wrong
    while wrong:
        for each in wrong:
            value = _without(value, field_of(each.path))
        wrong = wrong_fields(value)
    return value


def field_of(path: FieldPath) -> FieldPath:
    """Return the path of the field that ``path`` leads into."""
    return next(
        (path[:at] for at in range(1, len(path)) if ".".join(map(str, path[:at])) in FIELDS), path
    )


def _without(value: Mapping[Any, Any], path: FieldPath) -> dict[str, Any]:
    first, *rest = path
    kept = {key: item for key, item in value.items() if str(key) != first}
    below = value.get(first)
    if rest and isinstance(below, Mapping):
        kept[str(first)] = _without(below, tuple(rest))
    return kept


def ask_loader(line: CommandLine, sources: Sequence[Source], outcome: Outcome) -> None:
    """Ask the loader until it has nothing more to complain of, and note what it says."""
    files = [source.configuration for source in sources]
    while True:
        try:
            outcome.settings = checked_settings(line, files)
        except UsageError as error:
            if not error.at or error.at in outcome.refused:
                outcome.general.append(str(error))
                return
            outcome.refused[error.at] = str(error)
            line, files = without(line, error.at), [_less_of(each, error.at) for each in files]
        else:
            return


def _less_of(file: ConfigurationFile, name: str) -> ConfigurationFile:
    return replace(file, given=_without(file.given, tuple(name.split("."))))


def situation_of(line: CommandLine, settings: Settings | None) -> Situation:
    """Return what kind of a node it is; what it would be, if it cannot start."""
    if settings is not None:
        return Situation(is_joined=settings.cluster is not None, runtime=settings.runtime.kind)
    runtime = None
    with suppress(UsageError):
        runtime = runtime_kind(line.runtime)
    return Situation(is_joined=line.is_joining, runtime=runtime)
