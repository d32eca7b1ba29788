"""Explains flags and configuration files: what of them is obeyed, ignored or refused, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from manifests.findings import shown
from settings.agent import Settings
from settings.configuration.file import WrongField
from settings.configuration.schema import KubeletConfiguration
from settings.effects import Situation
from settings.errors import UsageError
from settings.explaining.asking import (
    Outcome,
    Source,
    ask_loader,
    field_of,
    readable_sources,
    situation_of,
)
from settings.explaining.explanation import ExplainedSetting, Explanation, SettingFate
from settings.explaining.values import at, defaults_of_fields, has, in_effect, masked
from settings.flags.arguments import TypedFlag
from settings.flags.command_line import CommandLine, given_flags, parse, typed_flags_of
from settings.flags.definitions import FLAGS
from settings.flags.flag import Flag
from settings.load import configuration_files
from settings.without_effect import told

_NEEDED: Final = {"staticPodURLHeader": "staticPodURL", "httpCheckFrequency": "staticPodURL"}
"""Fields that are about another one."""


def explained(arguments: Sequence[str]) -> Explanation:
    """Return what becomes of the flags ``arguments``, and of the files that they name, on this machine.

    Raises ``StartError`` if a file cannot be read.
    """
    typed = typed_flags_of(arguments)
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
        others=tuple(_others({each.name for each in fields}, outcome.settings, situation)),
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
    for name, default in defaults_of_fields().items():
        if name not in given:
            why = situation.why_ignored(name)
            yield ExplainedSetting(
                name=name,
                fate=SettingFate.IGNORED if why else SettingFate.OBEYED,
                why=why,
                in_effect=None if why else in_effect(name, settings) or default,
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
    for path in KubeletConfiguration.model_validate(given).set_paths():
        name, value = ".".join(path), at(given, path)
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
                value=None if refused else masked(name, value),
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
    if name in line.fields:
        flag = next(flag.opts[-1] for flag in FLAGS if flag.field == name)
        return f"{flag} wins over it"
    for each in reversed(list(later)):
        path = tuple(name.split("."))
        if has(each.configuration.given, path) and not isinstance(value, Mapping):
            return f"{each.path} wins over it"
    return ""


def _idle(name: str, value: object, settings: Settings | None, situation: Situation) -> str:
    """Return why a field that is not refused has no effect here; empty if it has one."""
    if why := situation.why_ignored(name):
        return why
    if name == "enableServer" and value is True:
        return "there is no TLS server yet, only the read-only port"
    if settings is None:
        return ""
    if name in _NEEDED and not settings.static_pod_url:
        return f"{_NEEDED[name]} is not set"
    if name == "address" and value and value != settings.address:
        return f"the read-only port listens on {settings.address}: --allow-non-loopback insists"
    return ""


def _flag(
    typed: TypedFlag, wrong: Mapping[TypedFlag, str], outcome: Outcome, situation: Situation
) -> ExplainedSetting:
    if typed in wrong:
        return ExplainedSetting(name=typed.name, fate=SettingFate.REFUSED, why=wrong[typed])
    if not typed.has_effect:
        why = told([typed.name]).partition(" (")[2].removesuffix(")") or "not served"
        return ExplainedSetting(name=typed.name, fate=SettingFate.IGNORED, why=why)
    for flag, value in given_flags(typed.arguments):
        return _own_flag(flag, typed.value, value, outcome, situation)
    return ExplainedSetting(name=typed.name, fate=SettingFate.IGNORED, why="its value is empty")


def _own_flag(
    flag: Flag, typed: str, value: object, outcome: Outcome, situation: Situation
) -> ExplainedSetting:
    name, path = flag.opts[-1], flag.field
    refused = outcome.refused.get(name, "") or outcome.refused.get(path, "")
    why = refused or _idle(path or name, value, outcome.settings, situation)
    return ExplainedSetting(
        name=name,
        fate=SettingFate.REFUSED if refused else SettingFate.IGNORED if why else SettingFate.OBEYED,
        why=why,
        value=None if refused else masked(path, typed),
        in_effect=in_effect(path, outcome.settings) if path and not why else None,
        field=path,
    )
