"""Options that several subcommands have, with one name and one meaning each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from command.failures import NoAnswerError, WrongUsageError
from command.reading import text
from command.server_names import DEFAULT_SERVER, PATIENCE, ROOT_DIR, is_loopback, server_name
from command.wording import moment
from command.written import JSON, NAME, TABLE, WIDE, YAML

if TYPE_CHECKING:
    from command.agent_api import AgentApi
    from command.control_api import ControlPlace

F = TypeVar("F", bound=Callable[..., Any])

_ALL = "command.options.all_namespaces"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def _api(_context: click.Context, _parameter: click.Parameter, said: str) -> AgentApi:
    from command.agent_api import AgentApi  # noqa: PLC0415 - it takes 30 ms, and not all ask

    return AgentApi(server_name(said), PATIENCE)


def server_option(function: F) -> F:
    """Give a subcommand the agent that it asks, as ``api``."""
    return click.option(
        "--server",
        "api",
        metavar="HOST:PORT",
        default=DEFAULT_SERVER,
        show_default=True,
        callback=_api,
        help="Where the agent answers: its read-only port. $ACTORLET_SERVER sets it too.",
    )(function)


def control_options(function: F) -> F:
    """Give a subcommand what says whose socket it uses: ``api`` and ``root_dir``."""
    return click.option(
        "--root-dir",
        type=click.Path(path_type=Path, readable=False),  # whether it may be used is asked later
        envvar="ACTORLET_ROOT_DIR",
        help="The agent's own --root-dir, where its socket is. $ACTORLET_ROOT_DIR sets it too.  "
        f"[default: {ROOT_DIR}, or what the agent at --server tells]",
    )(server_option(function))


def control_place(root_dir: Path | None, api: AgentApi) -> ControlPlace:
    """Return where the socket is: below ``root_dir``, or where an agent of this machine says.

    Such an agent is asked if ``api`` is not the usual one, or if no agent listens at the usual place.
    """
    from command.control_api import ControlPlace  # noqa: PLC0415 - not all ask

    usual = ControlPlace(root_dir or Path(ROOT_DIR))
    is_usual = api.name == DEFAULT_SERVER and usual.is_there()
    if root_dir is not None or is_usual or not is_loopback(api.name):
        return usual
    try:
        told = text(api.optional("/configz") or {}, "rootDir")
    except NoAnswerError:
        return usual
    return ControlPlace(Path(told), is_told=True) if told else usual


def _colour(_context: click.Context, _parameter: click.Parameter, wanted: bool | None) -> None:  # noqa: FBT001
    """Say it in the variables that all that draws looks at."""
    if wanted is not None:
        os.environ.pop("NO_COLOR" if wanted else "FORCE_COLOR", None)
        os.environ["FORCE_COLOR" if wanted else "NO_COLOR"] = "1"


def colour_option(function: F) -> F:
    """Let people choose whether a subcommand has colours."""
    return click.option(
        "--color/--no-color",
        default=None,
        is_eager=True,
        expose_value=False,
        callback=_colour,
        help="Colours also in a pipe, or none. $NO_COLOR and $FORCE_COLOR say the same.",
    )(function)


def _all(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    context.meta[_ALL] = asked


def _namespace(context: click.Context, _parameter: click.Parameter, said: str) -> str:
    return "" if context.meta.get(_ALL) else said


def all_namespaces_option(function: F) -> F:
    """Let a subcommand that shows all namespaces be asked for that, as kubectl has to be."""
    return click.option(
        "-A",
        "--all-namespaces",
        is_flag=True,
        is_eager=True,
        hidden=True,
        expose_value=False,
        callback=_all,
    )(function)


def namespace_option(says: str) -> Callable[[F], F]:
    """Return what gives a subcommand a ``namespace``, empty for all. ``-A`` wins over it."""
    one = click.option("-n", "--namespace", default="", callback=_namespace, help=says)
    return lambda function: one(all_namespaces_option(function))


def foreign_option(*names: str, says: str) -> Callable[[F], F]:
    """Return what makes an option that kubectl has a sentence: what a subcommand has in its place."""

    def refuse(_context: click.Context, _parameter: click.Parameter, asked: bool) -> None:  # noqa: FBT001
        if asked:
            raise click.UsageError(says)

    return click.option(
        *names, is_flag=True, is_eager=True, hidden=True, expose_value=False, callback=refuse
    )


def output_option(*, only: tuple[str, ...] = (WIDE, JSON, YAML, NAME)) -> Callable[[F], F]:
    """Return what gives a subcommand the form of its answer, as ``output``, and its colours."""
    form = click.option(
        "-o",
        "--output",
        type=click.Choice([TABLE, *only]),
        default=TABLE,
        help="The form of the answer: a table for people, or one for scripts.",
    )
    return lambda function: form(colour_option(function))


def beginning(said: str, now: float) -> float:
    """Return the seconds since 1970 that ``10s``, ``1h30m`` or a time as in RFC 3339 stands for.

    Raises ``WrongUsageError``.
    """
    if _WHOLE.fullmatch(said):
        span = sum(float(many) * _SECONDS[unit] for many, unit in _PART.findall(said))
        return max(0.0, now - span)
    at = moment(said)
    if at is None or at < 0:
        raise WrongUsageError(
            f"--since has to be a span such as 1h30m, or a time such as 2026-11-22T14:00:00Z, not {said}"
        )
    return at
