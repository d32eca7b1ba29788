"""What is said of flags and of fields of configuration files."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from settings.effects import Situation


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
    """Every other field that the agent knows, in the order of the schema."""
    refusals: tuple[str, ...]
    """Each sentence with which the agent would not start; it says the first of them."""
    warnings: tuple[str, ...]
    """What the agent says at its start. Empty if it does not start."""
