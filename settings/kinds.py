"""Kinds of values: how each is typed as a flag, stands in the file, is shown, and is called.

Flags are read as a kubelet reads them. No complaint shows the value of a flag: a header may be a secret. What
JSON is right for a kind in the configuration file says ``settings.schema``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from manifests.times import Span, format_duration, parse_duration, parse_span
from messages.units import Seconds
from settings.addresses import endpoint_shown, endpoint_socket, host_name, ip_address

SHORTEST_FREQUENCY: Final = Seconds(0.01)
"""A look every 10 ms is close to a busy loop already."""
HOLLOW_TIMES: Final = (
    "time-to-create-sandbox",
    "time-to-pull",
    "time-to-create",
    "time-to-start",
    "time-to-stop",
    "run-for",
)
"""Durations of the hollow runtime, as the annotations ``hollow.actorlet/NAME`` are called."""


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """What a setting can be."""

    name: str
    """In a word, for a complaint and for the help."""
    words: str = ""
    """In words, for the page of fields."""
    read: Callable[[str], Any] = _same
    """Returns what was typed as it stands in the file. Its ``ValueError`` is the complaint."""
    metavar: str | None = None
    gather: Callable[[Sequence[Any]], Any] | None = None
    """Makes one value of those of all uses of a flag, if it may be given several times."""
    empty: Any = None
    """The value that says nothing."""
    shown: Callable[[Any], Any] = _same
    """Returns a value as JSON."""
    settle: Callable[[Any], Any] = _same
    """Returns the value as the agent has it."""
    choices: tuple[str, ...] = ()
    """The texts that it can be; empty for any."""


def checked_frequency(span: float) -> Seconds:
    """Return ``span``, a time between two looks, or 0. Raises ``ValueError`` if it is too short."""
    if span != 0 and span < SHORTEST_FREQUENCY:
        raise ValueError(f"should be at least {format_duration(SHORTEST_FREQUENCY)}")
    return Seconds(span)


def hollow_times(text: str) -> Mapping[str, Span]:
    """Return the durations in ``time-to-pull=2s-5s,run-for=10s`` by their names. Raises ``ValueError``."""
    times: dict[str, Span] = {}
    for pair in text.split(","):
        name, _, value = (each.strip() for each in pair.partition("="))
        if not pair.strip():
            continue
        if name not in HOLLOW_TIMES:
            known = ", ".join(HOLLOW_TIMES)
            raise ValueError(f"should be NAME=DURATION,... where NAME is one of {known}")
        try:
            span = parse_span(value)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
        if times.setdefault(name, span) != span:
            raise ValueError(f"has two values for {name!r}")
    return times


def _path(text: str) -> Path | None:
    return Path(text) if text else None  # an empty flag is no flag, to a kubelet as well


def _place(text: str) -> Path:
    if not text:
        raise ValueError("should be a path")
    return Path(text)


def _frequency(text: str) -> str:
    return format_duration(checked_frequency(parse_duration(text)))


def _duration(text: str) -> str:
    return format_duration(parse_duration(text))


def _switch(text: str) -> bool:
    # The words of Go's flags.
    if text not in {
        "1",
        "t",
        "T",
        "true",
        "TRUE",
        "True",
        "0",
        "f",
        "F",
        "false",
        "FALSE",
        "False",
    }:
        raise ValueError("should be true or false")
    return text[0] in "1tT"


def _number(text: str) -> int:
    number = text.removeprefix("=")  # Go reads "-v=4" and "-v 4" alike
    if not (number.isascii() and number.isdigit() and int(number) < 2**31):
        raise ValueError("should be a whole number from 0 on")
    return int(number)


def _integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and int(digits) < 2**31):
        raise ValueError("should be a whole number")
    return int(text)


def _port(text: str) -> int:
    if _number(text) > 65535:
        raise ValueError("should be a port from 0 to 65535; 0 is off")
    return int(text)


def _parts(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _pairs(text: str, separator: str, complaint: str) -> list[tuple[str, str]]:
    pairs = [pair.partition(separator) for pair in text.split(",") if pair.strip()]
    if not all(name.strip() and found for name, found, _ in pairs):
        raise ValueError(complaint)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _by_name(separator: str, complaint: str) -> Callable[[str], dict[str, str]]:
    """Return what reads pairs by their names. It raises ``ValueError`` if a name has two values."""

    def read(text: str) -> dict[str, str]:
        values: dict[str, str] = {}
        for name, value in _pairs(text, separator, complaint):
            if values.setdefault(name, value) != value:
                raise ValueError(f"has two values for {name[:64]!r}")
        return values

    return read


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(map(ip_address, _parts(text)))


def _taints(text: str) -> list[dict[str, str]]:
    """Read ``key=value:Effect,key:Effect``."""
    return list(map(_taint, _parts(text)))


def _taint(text: str) -> dict[str, str]:
    what, colon, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    if not colon or not key:
        raise ValueError("should be key=value:Effect,key:Effect")
    return {"key": key, "value": value, "effect": effect}


def _headers(text: str) -> list[tuple[str, str]]:
    return _pairs(text, ":", "should be name:value,name:value")


def _all_headers(given: Iterable[Iterable[tuple[str, str]]]) -> dict[str, list[str]]:
    """Return the headers of all uses of a flag: all values of each name, in the order of typing."""
    headers: dict[str, list[str]] = {}
    for name, value in (pair for pairs in given for pair in pairs):
        headers.setdefault(name, []).append(value)
    return headers


def choice(name: str, *choices: str) -> Kind:
    """Return the kind of a text that is one of ``choices``."""
    words = " or ".join(choices)

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"should be {words}")
        return text

    return Kind(
        name=name, words=words, read=read, metavar="|".join(choices), empty="", choices=choices
    )


def _span(read: Callable[[str], str]) -> Kind:
    return Kind(name="duration", words="duration", read=read, empty=0.0, shown=format_duration)


def _whole() -> Kind:
    return Kind(name="number", words="whole number", read=_number, empty=0)


def _signed() -> Kind:
    name = "integer"
    return Kind(name=name, words="whole number", read=_integer, metavar="NUMBER", empty=0)


def _objects() -> Kind:
    return Kind(name="objects", words="list of object", empty=[])


TEXT: Final = Kind(name="text", words="text", read=str, empty="")
PATH: Final = Kind(name="path", read=_path)
PLACE: Final = Kind(name="path", read=_place)
ENDPOINT: Final = Kind(
    name="text", words="text", empty="", shown=endpoint_shown, settle=endpoint_socket
)
"""The socket of a container runtime: ``unix://`` and a path, or the path alone."""
SWITCH: Final = Kind(name="", words="true or false", read=_switch, metavar="", empty=False)
FREQUENCY: Final = _span(_frequency)
"""A time between two looks."""
DURATION: Final = _span(_duration)
PAUSE: Final = _span(_frequency)
"""The same, which the file takes as short as it is."""
FLUSH_FREQUENCY: Final = _span(_duration)
"""A duration that may also be a number of nanoseconds."""
ADDRESS: Final = Kind(name="ip", words="IP address", read=ip_address, empty="")
NUMBER: Final = _whole()
"""A flag takes no negative one. The file does."""
COUNT: Final = _whole()
LEVEL: Final = _whole()
"""Up to ``2**32``."""
INTEGER: Final = _signed()
LONG: Final = _signed()
"""One of 64 bits in the file."""
PORT: Final = Kind(name="port", words="whole number", read=_port, empty=0)
FRACTION: Final = Kind(name="number", words="number", empty=0.0)
QUANTITY: Final = Kind(name="text", words="text", empty="")
"""An amount that may also be a number."""
FORMAT: Final = choice("format", "text", "json")
LIST: Final = Kind(
    name="list", words="list of text", read=_parts, metavar="NAME,...", empty=[], settle=tuple
)
INTEGERS: Final = Kind(name="list", words="list of whole number", empty=[])
GATES: Final = Kind(name="switches", words="true or false by name", empty={})
LABELS: Final = Kind(
    name="labels",
    read=_by_name("=", "should be name=value,name=value"),
    metavar="NAME=VALUE,...",
    empty={},
)
AMOUNTS: Final = Kind(
    name="amounts",
    words="text by name",
    read=_by_name("=", "should be name=amount,name=amount"),
    metavar="NAME=AMOUNT,...",
    empty={},
)
THRESHOLDS: Final = Kind(
    name="thresholds",
    words="text by name",
    read=_by_name("<", "should be signal<amount,signal<share%"),
    metavar="SIGNAL<AMOUNT,...",
    empty={},
)
ADDRESSES: Final = Kind(name="ips", read=_addresses, metavar="IP[,IP]", empty=())
TAINTS: Final = Kind(
    name="taints",
    words="list of object",
    read=_taints,
    metavar="KEY=VALUE:EFFECT,...",
    empty=[],
    shown=lambda taints: list(taints or ()),
    settle=lambda taints: None if taints is None else tuple(taints),
)
TIMES: Final = Kind(name="times", read=hollow_times, metavar="NAME=DURATION,...", empty={})
HOSTS: Final = Kind(name="host", read=host_name, metavar="NAME", gather=tuple, empty=())
HEADERS: Final = Kind(
    name="headers",
    words="list of text by name",
    read=_headers,
    metavar="NAME:VALUE,...",
    gather=_all_headers,
    empty={},
    settle=lambda headers: {name: tuple(values) for name, values in headers.items()},
)
VERBOSITIES: Final = _objects()
GRACE_PERIODS: Final = _objects()
MEMORY: Final = _objects()
