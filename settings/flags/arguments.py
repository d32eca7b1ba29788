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

from settings.flags.kubelet_flags import SWITCHES, VALUED

_END_OF_FLAGS = "--"
_VERSION = "--version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a command line, in the order in which they were typed."""

    own: list[str] = field(default_factory=list)
    """Flags with an effect, and what is no flag of anybody."""
    without_effect: list[str] = field(default_factory=list)
    """Names of flags that only a kubelet has, with their dashes. An empty value is no flag."""


def taken_apart(
    arguments: Sequence[str], *, switches: Collection[str], valued: Collection[str]
) -> Arguments:
    """Return ``arguments`` taken apart. ``switches`` and ``valued`` are the agent's own flags.

    A switch has its value behind ``=`` or is ``true``. Any other flag has its value behind ``=``, or it is
    the next argument, whatever that looks like. Raises ``click.BadOptionUsage`` if there is none.
    """
    taken = Arguments()
    rest = iter(arguments)
    for argument in rest:
        typed, equals, behind = argument.partition("=")
        # A kubelet reads --read_only_port as well.
        name = typed.replace("_", "-") if typed.startswith("--") else typed
        if argument == _END_OF_FLAGS:
            taken.own.extend((argument, *rest))
        elif name in SWITCHES:
            taken.without_effect.append(name)
        elif name in VALUED:
            value = behind if equals else _next(rest, name)
            taken.without_effect.extend([name] if value else [])
        elif name in switches and not equals:
            taken.own.append(f"{name}=true")
        elif name == _VERSION:
            taken.own.append(name)
        else:
            taken.own.append(argument)
            is_complete = equals or name not in valued
            taken.own.extend(islice(rest, 0 if is_complete else 1))
    return taken


def _next(rest: Iterator[str], name: str) -> str:
    """Return the next of ``rest``, the value of the flag ``name``."""
    value = next(rest, None)
    if value is None:
        raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
    return value
