"""What flags take: numbers, durations, addresses, labels and the like, read as a kubelet reads them.

No complaint shows the value of a flag: a header may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from settings.values.addresses import host_name, ip_address
from settings.values.durations import checked_frequency, format_duration, parse_duration
from settings.values.hollow_times import hollow_times


class Kind(click.ParamType[Any]):
    """The type of a flag's value. A function reads the text; its ``ValueError`` is the complaint."""

    def __init__(self, name: str, read: Callable[[str], Any], **attributes: Any) -> None:
        self.name = name
        self.attributes = attributes
        self._read = read

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _path(text: str) -> Path | None:
    return Path(text) if text else None  # an empty flag is no flag, to a kubelet as well


def _place(text: str) -> Path:
    if not text:
        raise ValueError("should be a path")
    return Path(text)


def _frequency(text: str) -> str:
    return format_duration(checked_frequency(parse_duration(text)))


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


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _duration(text: str) -> str:
    return format_duration(parse_duration(text))


def _port(text: str) -> int:
    if _number(text) > 65535:
        raise ValueError("should be a port from 0 to 65535; 0 is off")
    return int(text)


def _format(text: str) -> str:
    if text not in {"text", "json"}:
        raise ValueError("should be text or json")
    return text


def _labels(text: str) -> dict[str, str]:
    return _mapping(_pairs(text, "=", "should be name=value,name=value"))


def _mapping(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the pairs by their names. Raises ``ValueError`` if a name has two values."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise ValueError(f"has two values for {name[:64]!r}")
    return values


def _pairs(text: str, separator: str, complaint: str) -> list[tuple[str, str]]:
    pairs = [pair.partition(separator) for pair in text.split(",") if pair.strip()]
    if not all(name.strip() and found for name, found, _ in pairs):
        raise ValueError(complaint)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _amounts(text: str) -> dict[str, str]:
    return _mapping(_pairs(text, "=", "should be name=amount,name=amount"))


def _thresholds(text: str) -> dict[str, str]:
    return _mapping(_pairs(text, "<", "should be signal<amount,signal<share%"))


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(ip_address(each.strip()) for each in text.split(",") if each.strip())


def _taints(text: str) -> list[dict[str, str]]:
    """Read ``key=value:Effect,key:Effect``."""
    return [_taint(each.strip()) for each in text.split(",") if each.strip()]


def _taint(text: str) -> dict[str, str]:
    what, colon, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    if not colon or not key:
        raise ValueError("should be key=value:Effect,key:Effect")
    return {"key": key, "value": value, "effect": effect}


def _headers(text: str) -> list[tuple[str, str]]:
    return _pairs(text, ":", "should be name:value,name:value")


def _gathered(_: click.Context, __: click.Parameter, given: Sequence[Any]) -> Any:
    """Return the headers of all uses of a flag: all values of each name, in the order of typing."""
    headers: dict[str, list[str]] = {}
    for name, value in (pair for pairs in given for pair in pairs):
        headers.setdefault(name, []).append(value)
    return headers or None


def _all_given(_: click.Context, __: click.Parameter, given: Sequence[Any]) -> Any:
    """Return the values of all uses of a flag, in the order of typing."""
    return tuple(given) or None


PATH = Kind("path", _path)
PLACE = Kind("path", _place)
TEXT = Kind("text", str)
FREQUENCY = Kind("duration", _frequency)
DURATION = Kind("duration", _duration)
ADDRESS = Kind("ip", ip_address)
NUMBER = Kind("number", _number)
INTEGER = Kind("integer", _integer, metavar="NUMBER")
LIST = Kind("list", _list, metavar="NAME,...")
PORT = Kind("port", _port)
FORMAT = Kind("format", _format, metavar="text|json")
LABELS = Kind("labels", _labels, metavar="NAME=VALUE,...")
AMOUNTS = Kind("amounts", _amounts, metavar="NAME=AMOUNT,...")
THRESHOLDS = Kind("thresholds", _thresholds, metavar="SIGNAL<AMOUNT,...")
ADDRESSES = Kind("ips", _addresses, metavar="IP[,IP]")
TAINTS = Kind("taints", _taints, metavar="KEY=VALUE:EFFECT,...")
TIMES = Kind("times", hollow_times, metavar="NAME=DURATION,...")
HOSTS = Kind("host", host_name, metavar="NAME", multiple=True, callback=_all_given)
HEADERS = Kind("headers", _headers, metavar="NAME:VALUE,...", multiple=True, callback=_gathered)
# "--flag", "--flag=true" and "--flag=false", as with Go's flags.
SWITCH = Kind("", _switch, is_flag=False, flag_value="true", metavar="")
