"""The command ``actorlet``: finds the subcommand that was typed, and makes a sentence of what goes wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click
from typing_extensions import override

from command.failures import INTERRUPTED, OK, OWN_FAULT, WRONG_USAGE, NoAnswerError
from command.options import CONTEXT, colour_option
from command.server_names import DEFAULT_SERVER
from command.wording import plain

SUBCOMMANDS: Final = {
    "run": "run",
    "status": "status",
    "pods": "pods",
    "pod": "pod",
    "objects": "objects",
    "sources": "sources",
    "actors": "actors",
    "events": "events",
    "streams": "streams",
    "top": "top",
    "logs": "logs",
    "exec": "run_in_container",
    "validate": "validate",
    "explain-node": "explain_node",
}
"""The module of each subcommand, in the order of the help."""

KUBECTL: Final = {
    "get pods": "pods",
    "get pod": "pods, and pod NAME",
    "get events": "events",
    "get nodes": "status",
    "get secrets": "objects",
    "get configmaps": "objects",
    "get": "pods, objects, sources or events",
    "describe node": "status",
    "describe": "pod NAME",
    "log": "logs POD",
    "watch": "top, or actorlet events -f",
    "attach": "logs POD -f",
    "apply": "validate DIR, and a manifest goes into the agent's directory: actorlet sources names it",
    "delete": "sources: a static pod goes with its manifest, which it names",
}
"""What those type who know kubectl, and what they find here."""

COMPLETING: Final = "_ACTORLET_COMPLETE"
"""The variable by which a shell asks what may stand at a place of the command line."""


class Subcommands(click.Group):
    """The subcommands, each imported when it is wanted."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = SUBCOMMANDS.get(cmd_name)
        if module is None:
            return None
        found = import_module(f"command.subcommands.{module}").command
        return found if isinstance(found, click.Command) else None

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        match args:
            case ["help"] if not ctx.resilient_parsing:
                click.echo(ctx.get_help())
                ctx.exit()
            case ["help", *names]:
                args = [*names, "--help"]
            case ["version"] if not ctx.resilient_parsing:
                _version(ctx, click.Option(["--version"]), asked=True)
            case [name, *rest] if name not in SUBCOMMANDS:
                word = KUBECTL.get(" ".join([name, *rest[:1]])) or KUBECTL.get(name)
                if word:
                    raise click.UsageError(f"there is no {name} here: actorlet {word}")
        return super().resolve_command(ctx, args)


def _version(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if asked:
        from settings.version import version  # noqa: PLC0415 - the agent's own, read from its file

        click.echo(f"actorlet {version()}")
        context.exit()


@click.group(
    cls=Subcommands,
    context_settings=CONTEXT,
    epilog="Exit codes: 0 answered, 1 not well (status: the agent; with --strict also its pods and "
    "manifests), 2 wrong usage, 3 nothing by that name, 4 the agent cannot be asked, 5 an answer that "
    "cannot be used.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="ACTORLET_SERVER",
    default=DEFAULT_SERVER,
    show_default=True,
    help="Where the agent answers, for any subcommand that asks it.",
)
@colour_option
@click.pass_context
def actorlet(context: click.Context, server: str) -> None:
    """Run the node agent, and see what it does."""
    context.default_map = {name: {"api": server} for name in SUBCOMMANDS}


def main(arguments: Sequence[str]) -> int:
    """Run what ``arguments`` say; return the exit code. Says one sentence, and never shows a traceback."""
    try:
        return _answered(arguments)
    except click.ClickException as error:
        hint = "" if not isinstance(error, click.UsageError) else " (--help says more)"
        return _failed(f"{error.format_message().rstrip('.')}{hint}", WRONG_USAGE)
    except NoAnswerError as error:
        return _failed(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        _write_no_more()
        return OK
    except OSError as error:
        _write_no_more()
        return _failed(f"cannot write the answer: {error.strerror or error}", OWN_FAULT)
    except Exception as error:
        if os.environ.get("ACTORLET_DEBUG"):
            raise
        said = f"{type(error).__name__}: {error}"[:300]
        return _failed(
            f"the command itself failed: {said} (ACTORLET_DEBUG=1 shows where)", OWN_FAULT
        )


def _answered(arguments: Sequence[str]) -> int:
    code = OK
    try:
        if COMPLETING in os.environ:
            actorlet.main(list(arguments), prog_name="actorlet", standalone_mode=False)
        # Not by the method main: that makes an exit code of a reader who has read enough.
        with actorlet.make_context("actorlet", list(arguments)) as context:
            actorlet.invoke(context)
    except click.exceptions.NoArgsIsHelpError as nothing:
        click.echo(nothing.format_message())
    except click.exceptions.Exit as done:
        code = done.exit_code
    sys.stdout.flush()
    return code


def _write_no_more() -> None:
    """Throw away what is left. The interpreter would try to write it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(sentence: str, code: int) -> int:
    click.echo(f"actorlet: {plain(sentence)}", err=True)
    return code
