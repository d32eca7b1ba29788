"""Explains flags and configuration files: what of them is obeyed, ignored or refused, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from manifests.findings import shown
from messages.pods import JsonObject
from settings.addresses import MASKED
from settings.agent import Settings, effective_configuration
from settings.command_line import TypedFlag, given_flags, parse, typed_flags
from settings.configuration_file import WrongField
from settings.errors import UsageError
from settings.kinds import HEADERS
from settings.line import CommandLine
from settings.load import configuration_files
from settings.refusals import (
    Outcome,
    Source,
    ask_loader,
    field_of,
    readable_sources,
    situation_of,
)
from settings.rows import Row, rows_of
from settings.schema import KubeletConfiguration
from settings.server import AUTHORITIES, ServerSettings
from settings.situation import Situation
from settings.table import ROWS, defaults_of_fields, why_ignored
from settings.without_effect import told

_OF_SERVER: Final = frozenset(
    {"enableServer", *(row.name for _, row in rows_of(ServerSettings))}
) - {"address"}
"""Without a TLS port these have no effect."""


class SettingFate(StrEnum):
    """What becomes of a field or a flag."""

    OBEYED = "obeyed"
    IGNORED = "ignored"
    """It has no effect. The agent starts all the same."""
    REFUSED = "refused"
    """The agent does not start because of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSetting:
    """A field of a file, or a flag, and what becomes of it."""

    name: str
    """The path of a field, such as ``logging.format``, or a flag with its dashes."""
    fate: SettingFate
    why: str = ""
    """Why it is ignored; or the sentence with which it is refused."""
    value: Any = field(default=None, repr=False)
    """What was given, as JSON. None if it is not shown: what is wrong may be a secret."""
    in_effect: Any = field(default=None, repr=False)
    """What is in effect, as ``/configz`` shows it; None if that is not known."""
    file: str = ""
    """The file that it stands in; empty for a flag."""
    line: int = 0
    """The line there; 0 if it is unknown."""
    field: str = ""
    """The field that a flag sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What becomes of flags and configuration files."""

    files: tuple[str, ...]
    situation: Situation
    settings: tuple[ExplainedSetting, ...]
    """Fields in the order of files and lines, then flags as they were typed."""
    others: tuple[ExplainedSetting, ...]
    """Every other field that the agent knows, in the order of the table."""
    refusals: tuple[str, ...]
    """Each sentence with which the agent would not start; it says the first of them."""
    warnings: tuple[str, ...]
    """What the agent says at its start. Empty if it does not start."""


def masked(row: Row | None, value: Any) -> Any:
    """Return the value of a setting, as it was given, as everybody may see it."""
    if row is None or row.mask is None or not value:
        return value
    if row.kind is not HEADERS:
        return row.mask(value)
    return dict.fromkeys(value, MASKED) if isinstance(value, Mapping) else MASKED


def in_effect(name: str, settings: Settings | None) -> Any:
    """Return what is in effect of a field, as ``/configz`` shows it; None if it does not."""
    if settings is None:
        return None
    return at(effective_configuration(settings)["kubeletconfig"], tuple(name.split(".")))


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


def explained(arguments: Sequence[str]) -> Explanation:
    """Return what becomes of the flags ``arguments``, and of the files that they name, on this machine.

    Raises ``StartError`` if a file cannot be read.
    """
    typed = typed_flags(arguments)
    wrong_flags = {each: said for each in typed if (said := _complaint(each))}
    line = parse([text for each in typed if each not in wrong_flags for text in each.arguments])
    outcome = Outcome()
    sources = list(readable_sources(configuration_files(line), outcome))
    ask_loader(line, sources, outcome)
    situation = situation_of(line, outcome.settings)
    fields = [
        each for source in sources for each in _fields(source, sources, line, outcome, situation)
    ]
    flags = [_flag(each, wrong_flags, outcome, situation) for each in typed]
    given = {each.name for each in fields} | {each.field for each in flags}
    told_all = [
        *wrong_flags.values(),
        *_all_wrong(sources),
        *outcome.refused.values(),
        *outcome.general,
    ]
    return Explanation(
        files=tuple(str(source.path) for source in sources),
        situation=situation,
        settings=(*fields, *flags),
        others=tuple(_others(given, outcome.settings, situation)),
        refusals=tuple(told_all),
        warnings=outcome.settings.warnings if outcome.settings and not told_all else (),
    )


def _complaint(typed: TypedFlag) -> str:
    """Return what is wrong with a flag by itself; empty for nothing."""
    if not typed.has_effect:
        return ""
    try:
        given_flags(typed.arguments)
    except UsageError as error:
        return str(error)
    return ""


def _others(
    given: AbstractSet[str], settings: Settings | None, situation: Situation
) -> Iterator[ExplainedSetting]:
    """Yield each known field that is not ``given``, with what is in effect, or its default."""
    for name, default in defaults_of_fields():
        if name not in given:
            why = _useless(name, default, settings, situation)
            found = in_effect(name, settings)
            shown_value = default if found is None else found
            yield ExplainedSetting(
                name=name,
                fate=SettingFate.IGNORED if why else SettingFate.OBEYED,
                why=why,
                in_effect=None if why else shown_value,
            )


def _all_wrong(sources: Iterable[Source]) -> Iterator[str]:
    for source in sources:
        for each in source.document.wrong:
            yield f"{source.path}: {each.sentence()}"


def _fields(
    source: Source,
    sources: Sequence[Source],
    line: CommandLine,
    outcome: Outcome,
    situation: Situation,
) -> list[ExplainedSetting]:
    """Return each field that a file sets, in the order of lines."""
    given = source.configuration.given
    rows = [_wrong_field(source, each) for each in source.document.wrong]
    for name, _ in KubeletConfiguration.model_validate(given).told():
        path = tuple(name.split("."))
        value = at(given, path)
        over = _overriding(name, value, sources[sources.index(source) + 1 :], line)
        refused = outcome.refused.get(name, "") if not over else ""
        why = refused or over or _idle(name, value, outcome.settings, situation)
        is_obeyed = not why
        rows.append(
            ExplainedSetting(
                name=name,
                fate=SettingFate.REFUSED
                if refused
                else SettingFate.OBEYED
                if is_obeyed
                else SettingFate.IGNORED,
                why=why,
                value=None if refused else masked(ROWS.get(name), value),
                in_effect=in_effect(name, outcome.settings) if is_obeyed else None,
                file=str(source.path),
                line=source.document.line(path),
            )
        )
    return sorted(rows, key=lambda each: each.line)


def _wrong_field(source: Source, wrong: WrongField) -> ExplainedSetting:
    return ExplainedSetting(
        name=shown(field_of(wrong.path)),
        fate=SettingFate.REFUSED,
        why=wrong.text,
        file=str(source.path),
        line=wrong.line,
    )


def _overriding(name: str, value: object, later: Iterable[Source], line: CommandLine) -> str:
    """Return why something else counts in place of a field of a file; empty if nothing does."""
    if name in line.others:
        return f"{ROWS[name].flags[-1]} wins over it"
    for each in reversed(list(later)):
        path = tuple(name.split("."))
        if has(each.configuration.given, path) and not isinstance(value, Mapping):
            return f"{each.path} wins over it"
    return ""


def _idle(name: str, value: object, settings: Settings | None, situation: Situation) -> str:
    """Return why a field that is not refused has no effect here; empty if it has one."""
    if why := _useless(name, value, settings, situation):
        return why
    if settings is None:
        return ""
    needed = ROWS[name].needs if name in ROWS else ""
    if needed and not in_effect(needed, settings):
        return f"{needed} is not set"
    if name == "address" and value and value != settings.address and not settings.server.port:
        if not settings.read_only_port:
            return "the TLS port and the read-only port are closed"
        return f"the read-only port listens on {settings.address}: --allow-non-loopback insists"
    return ""


def _useless(name: str, value: object, settings: Settings | None, situation: Situation) -> str:
    """Return why such a node has no use for that value of a field; empty if it has one."""
    if why := why_ignored(name, situation):
        return why
    if settings is None or settings.server.port or name not in _OF_SERVER or not value:
        return ""
    return f"the TLS port is closed: {_why_closed(settings, situation)}"


def _why_closed(settings: Settings, situation: Situation) -> str:
    if not settings.enable_server:
        return "enableServer is false"
    if not situation.is_joined and settings.server.client_authorities is None:
        return f"without a cluster it needs {AUTHORITIES}"
    return "port is 0"


def _flag(
    typed: TypedFlag, wrong: Mapping[TypedFlag, str], outcome: Outcome, situation: Situation
) -> ExplainedSetting:
    if typed in wrong:
        return ExplainedSetting(name=typed.name, fate=SettingFate.REFUSED, why=wrong[typed])
    if not typed.has_effect:
        why = told([typed.name]).partition(" (")[2].removesuffix(")") or "not served"
        return ExplainedSetting(name=typed.name, fate=SettingFate.IGNORED, why=why)
    for row, value in given_flags(typed.arguments):
        return _own_flag(row, typed.value, value, outcome, situation)
    return ExplainedSetting(name=typed.name, fate=SettingFate.IGNORED, why="its value is empty")


def _own_flag(
    row: Row, typed: str, value: object, outcome: Outcome, situation: Situation
) -> ExplainedSetting:
    refused = outcome.refused.get(row.flags[-1], "") or outcome.refused.get(row.field, "")
    why = refused or _idle(row.name, value, outcome.settings, situation)
    return ExplainedSetting(
        name=row.flags[-1],
        fate=SettingFate.REFUSED if refused else SettingFate.IGNORED if why else SettingFate.OBEYED,
        why=why,
        value=None if refused else masked(row, typed),
        in_effect=in_effect(row.field, outcome.settings) if row.field and not why else None,
        field=row.field,
    )
