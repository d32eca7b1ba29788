"""Reads the command line: takes it apart as a kubelet does, and lets click read the flags of the table.

A kubelet reads flags with the Go library pflag, click reads them otherwise in one point: a switch of click
may take the next argument for its value. So each switch gets its value first. Flags without effect are sorted
out on the way, with their values. This module imports little, so that ``--help`` and mistakes are answered at
once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import click
from typing_extensions import override

from settings import without_effect
from settings.errors import UsageError
from settings.kinds import SWITCH, Kind
from settings.line import CommandLine
from settings.rows import Row, rows_of
from settings.table import SECTIONS
from settings.version import version


class _Type(click.ParamType[Any]):
    """The type of a flag's value. The ``ValueError`` of its kind is the complaint."""

    def __init__(self, kind: Kind) -> None:
        self.name = kind.name
        self._read = kind.read

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Flag(click.Option):
    """The flag of a setting."""

    def __init__(self, row: Row) -> None:
        kind, attributes = row.kind, dict[str, Any]()
        if kind is SWITCH:
            # "--flag", "--flag=true" and "--flag=false", as with Go's flags.
            attributes.update(is_flag=False, flag_value="true")
        super().__init__(
            row.flags,
            type=_Type(kind),
            help=f"{row.says} [{row.shown_default}]." if row.shown_default else f"{row.says}.",
            metavar=kind.metavar,
            multiple=kind.gather is not None,
            callback=self._gathered if kind.gather else None,
            **attributes,
        )
        self.row: Final = row
        self.key: Final = self.name or ""

    def _gathered(self, _: click.Context, __: click.Parameter, given: Sequence[Any]) -> Any:
        gather = self.row.kind.gather
        return gather(given) if gather and given else None


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - called by click
    if asked:
        click.echo(f"actorlet {version()}")
        context.exit()


FLAGS: Final = {section: tuple(map(Flag, rows)) for section, rows in SECTIONS.items()}
ALL_FLAGS: Final = tuple(flag for flags in FLAGS.values() for flag in flags)
SWITCHES: Final = frozenset(
    name for flag in ALL_FLAGS if flag.row.kind is SWITCH for name in flag.opts
)
VALUED: Final = frozenset(name for flag in ALL_FLAGS for name in flag.opts) - SWITCHES

_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)


class Command(click.Command):
    """Prints its flags in sections."""

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = [option for option in self.get_params(ctx) if not isinstance(option, Flag)]
        for section, options in [*FLAGS.items(), ("Other", others)]:
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(section):
                formatter.write_dl([record for record in records if record], col_max=36)


COMMAND = Command(
    "run.py",
    params=[*ALL_FLAGS, _VERSION],
    help="Decides which pods this node should run, and carries them through their lives: in containers, "
    "by a Python class of yours, or so that they seem to run. A Kubernetes node agent made of actors.",
    epilog="Any other flag of a kubelet is taken too, and a warning says that it has no effect. "
    "Docs: README.md and docs/. Wrong usage exits with 2, what the machine refuses with 1.",
    options_metavar="[FLAGS]",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # A kubelet reads --read_only_port as well.
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)

PROGRAM: Final = "run.py"
"""What help calls the agent, unless it was started by another name."""
_OWN: Final = {row.name: attribute for attribute, row in rows_of(CommandLine)}
_END_OF_FLAGS: Final = "--"


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


def parse(arguments: Sequence[str], program: str = PROGRAM) -> CommandLine:
    """Return the flags in ``arguments``, which do not include the name of the ``program``.

    Raises ``UsageError`` for a mistake, and ``SystemExit`` after it printed help or version.
    """
    typed = typed_flags(arguments)
    own = [text for each in typed if each.has_effect for text in each.arguments]
    # Where no file says anything, what is empty or false is what no flag says either.
    given = {row.name: value for row, value in given_flags(own, program) if row.field or value}
    # An empty value is no flag.
    idle = [each.name for each in typed if not each.has_effect and each.arguments[-1]]
    return CommandLine(
        **{_OWN[name]: given[name] for name in given if name in _OWN},
        others={name: given[name] for name in given if name not in _OWN},
        without_effect=tuple(dict.fromkeys(idle)),
    )


def without(line: CommandLine, name: str) -> CommandLine:
    """Return ``line`` without the flag of a setting, by the name of its row."""
    others = {other: value for other, value in line.others.items() if other != name}
    if name not in _OWN:
        return dataclasses.replace(line, others=others)
    return dataclasses.replace(line, **{_OWN[name]: getattr(CommandLine(), _OWN[name])})


def typed_flags(arguments: Sequence[str]) -> list[TypedFlag]:
    """Return each flag in ``arguments`` with its value, and each argument that is no flag.

    A switch has its value behind ``=`` or is ``true``. Any other flag has its value behind ``=``, or it is
    the next argument, whatever that looks like. Raises ``UsageError`` if there is none.
    """
    with _complaining():
        return list(_taken_apart(iter(arguments)))


def _taken_apart(rest: Iterator[str]) -> Iterator[TypedFlag]:
    for argument in rest:
        typed, equals, behind = argument.partition("=")
        # A kubelet reads --read_only_port as well.
        name = typed.replace("_", "-") if typed.startswith("--") else typed
        if argument == _END_OF_FLAGS:
            yield TypedFlag(name=name, arguments=(argument, *rest))
        elif name in without_effect.SWITCHES:
            yield TypedFlag(name=name, arguments=(name,), has_effect=False)
        elif name in without_effect.VALUED:
            value = behind if equals else _next(rest, name)
            yield TypedFlag(name=name, arguments=(name, value), has_effect=False)
        elif name in SWITCHES and not equals:
            yield TypedFlag(name=name, arguments=(f"{name}=true",))
        elif name in _VERSION.opts:
            yield TypedFlag(name=name, arguments=(name,))
        else:
            following = islice(rest, 0 if equals or name not in VALUED else 1)
            yield TypedFlag(name=name, arguments=(argument, *following))


def _next(rest: Iterator[str], name: str) -> str:
    """Return the next of ``rest``, the value of the flag ``name``."""
    value = next(rest, None)
    if value is None:
        raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
    return value


def given_flags(arguments: Sequence[str], program: str = PROGRAM) -> list[tuple[Row, Any]]:
    """Return the settings whose flags are in ``arguments``, with their values. Raises as ``parse``."""
    with _complaining():
        values = COMMAND.make_context(program, list(arguments)).params
    return [(flag.row, values[flag.key]) for flag in ALL_FLAGS if values[flag.key] is not None]


@contextmanager
def _complaining() -> Iterator[None]:
    try:
        yield
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None
    except click.ClickException as error:
        raise UsageError(f"{error.format_message().rstrip('.')} (--help lists the flags)") from None
