"""Rows: everything that there is to say of one setting, in one place.

A row is the default of an attribute of a dataclass, by which the agent reads the value: ``max_pods: int =
row(...)``. From the rows follow the flags and their help, the fields of the configuration file with their
types and defaults, what of them is checked, what ``/configz`` and ``explain-node`` say, and the pages of the
reference. ``settings.table`` lists the dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any, Final, ParamSpec

from manifests.times import format_duration
from messages.units import Seconds
from settings.kinds import Kind
from settings.situation import Situation, Where

_ROW: Final = "row"


class Section(StrEnum):
    """The parts of the help, in their order."""

    CONFIGURATION = "Configuration"
    SOURCES = "Where pods come from"
    CLUSTER = "Joining a cluster"
    RUNTIME = "What runs pods"
    CONTAINERS = "Real containers (--runtime cri)"
    NODE = "The node"
    LOOKING = "Looking only"
    ENDPOINTS = "Endpoints"
    SERVER = "The TLS port"
    LOGS = "Logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldValues:
    """What was told in flags and files, by the names of rows.

    Zero and empty are defaults already, where they ask for them.
    """

    values: Mapping[str, Any] = dataclasses.field(repr=False)
    """The value of every row; the default where nobody has set one."""
    given: AbstractSet[str]
    """Those that flags or files have set."""
    typed: AbstractSet[str]
    """Those that flags have set."""
    situation: Situation
    hostname: str

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the configuration file."""

    kind: Kind
    field: str = ""
    """The path, such as ``logging.format``; empty for a flag alone."""
    default: Any = None
    """What counts where nobody says anything, as in the file; None for what is empty. Durations are in
    seconds."""

    @property
    def initial(self) -> Any:
        """The default, as in the file."""
        return self.kind.empty if self.default is None else self.default


@dataclass(frozen=True, slots=True)
class Row(Field):
    """A setting: a field of the configuration file that has an effect, a flag, or both."""

    _: KW_ONLY
    flag: str = ""
    """Names with dashes, separated by commas; empty for a field alone."""
    says: str
    """What it is, in the help and in the reference, without a full stop."""
    default_says: str | None = None
    """The default in the help, if that is not just the value."""
    more: str = ""
    """The page of the documents that says more."""
    section: Section | None = None
    """The part of the help in which the flag stands."""
    where: Where = Where.ANYWHERE
    needs: str = ""
    """The field without which it has no effect."""
    zero_is_default: bool = False
    """Zero and empty ask for the default. That is a kubelet's rule, with exceptions."""
    none_if_unset: bool = False
    """The agent's value is None where nobody says anything."""
    derive: Callable[[ToldValues], Any] | None = None
    """Returns the value in effect, if that depends on other settings too. May raise as ``settle``."""
    settle: Callable[[Any], Any] | None = None
    """Returns the value as the agent has it. Raises ``ValueError`` with the end of a sentence that begins
    with the name. None for that of the kind."""
    mask: Callable[[Any], Any] | None = None
    """Returns what people may see of a value that may be secret. No ``repr`` shows that."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of the flag; the last one is the usual one."""
        return tuple(self.flag.split(", ")) if self.flag else ()

    @property
    def name(self) -> str:
        """What complaints call it: the path of the field or, if there is none, the flag."""
        return self.field or self.flags[-1]

    @property
    def shown_default(self) -> str:
        """The default as the help shows it; empty for none."""
        return _shown(self.initial) if self.default_says is None else self.default_says

    def settled(self, value: Any) -> Any:
        """Return ``value`` as the agent has it. Raises ``ValueError`` with the end of a sentence."""
        return (self.settle or self.kind.settle)(value)

    def settled_default(self) -> Any:
        """Return the agent's value where nobody says anything and nothing else counts."""
        return None if self.none_if_unset else self.settled(self.initial)

    def shown(self, value: Any) -> Any:
        """Return a value as everybody may see it, as JSON."""
        return (self.mask or self.kind.shown)(value)


_Words = ParamSpec("_Words")


def _as_default(make: Callable[_Words, Row]) -> Callable[_Words, Any]:
    def row(*args: _Words.args, **words: _Words.kwargs) -> Any:
        made = make(*args, **words)
        return dataclasses.field(
            default_factory=made.settled_default, repr=made.mask is None, metadata={_ROW: made}
        )

    return row


row: Final = _as_default(Row)
"""Returns a row as the default of an attribute of a dataclass; takes what a ``Row`` takes."""


def rows_of(group: Any) -> Iterator[tuple[str, Row]]:
    """Yield the name of each attribute of a dataclass that is a row, and that row."""
    for each in dataclasses.fields(group):
        if _ROW in each.metadata:
            yield each.name, each.metadata[_ROW]


def _shown(default: Any) -> str:
    """Return a default as people write it on a command line; what is empty needs no word."""
    match default:
        case bool():
            return "true" if default else ""
        case float():
            return format_duration(Seconds(default)).replace("m0s", "m") if default else ""
        case list():
            return ",".join(default)
        case _:
            return str(default or "")
