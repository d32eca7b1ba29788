"""Takes a command line apart as a kubelet does, before it is read.

A kubelet reads flags with the Go library pflag, click reads them otherwise in one point: a switch of click
may take the next argument for its value. So each switch gets its value here. Flags without effect are sorted
out on the way, with their values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import click

from settings.without_effect import SWITCHES, VALUED

_END_OF_FLAGS = "--"
_VERSION = "--version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a command line, in the order in which they were typed."""

    own: list[str] = field(default_factory=list)
    """Flags with an effect, and what is no flag of anybody."""
    without_effect: list[str] = field(default_factory=list)
    """Names of flags that only a kubelet has, with their dashes. An empty value is no flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFlag:
    """One flag as it was typed, with its value, or an argument that is no flag."""

    name: str
    """With its dashes."""
    arguments: tuple[str, ...] = field(repr=False)
    has_effect: bool = True
    """It is no flag that only a kubelet has."""

    @property
    def value(self) -> str:
        """The value as it was typed."""
        _, equals, behind = self.arguments[0].partition("=")
        return behind if equals else "".join(self.arguments[1:])


def taken_apart(
    arguments: Sequence[str], *, switches: Collection[str], valued: Collection[str]
) -> Arguments:
    """Return ``arguments`` taken apart. ``switches`` and ``valued`` are the agent's own flags.

    A switch has its value behind ``=`` or is ``true``. Any other flag has its value behind ``=``, or it is
    the next argument, whatever that looks like. Raises ``click.BadOptionUsage`` if there is none.
    """
    taken = Arguments()
    for each in typed_flags(arguments, switches=switches, valued=valued):
        if each.has_effect:
            taken.own.extend(each.arguments)
        elif each.arguments[-1]:
            taken.without_effect.append(each.name)
    return taken


def typed_flags(
    arguments: Sequence[str], *, switches: Collection[str], valued: Collection[str]
) -> Iterator[TypedFlag]:
    """Yield each flag of ``arguments`` with its value, and each argument that is no flag. Raises as above."""
    rest = iter(arguments)
    for argument in rest:
        typed, equals, behind = argument.partition("=")
        # A kubelet reads --read_only_port as well.
        name = typed.replace("_", "-") if typed.startswith("--") else typed
        if argument == _END_OF_FLAGS:
            yield TypedFlag(name=name, arguments=(argument, *rest))
        elif name in SWITCHES:
            yield TypedFlag(name=name, arguments=(name,), has_effect=False)
        elif name in VALUED:
            value = behind if equals else _next(rest, name)
            yield TypedFlag(name=name, arguments=(name, value), has_effect=False)
        elif name in switches and not equals:
            yield TypedFlag(name=name, arguments=(f"{name}=true",))
        elif name == _VERSION:
            yield TypedFlag(name=name, arguments=(name,))
        else:
            is_complete = equals or name not in valued
            following = islice(rest, 0 if is_complete else 1)
            yield TypedFlag(name=name, arguments=(argument, *following))


def _next(rest: Iterator[str], name: str) -> str:
    """Return the next of ``rest``, the value of the flag ``name``."""
    value = next(rest, None)
    if value is None:
        raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
    return value
