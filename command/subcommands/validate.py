"""``actorlet validate DIR``: what would become of manifests, before they are put in their place."""

from __future__ import annotations

import os
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import click

from command.failures import NOT_WELL, OK, NoAnswerError, NothingFoundError, WrongUsageError
from command.options import output_option
from command.reading import Document, text
from command.subcommands.sources import draw_manifests
from command.wording import counted, tally
from command.written import ShownAnswer, show

if TYPE_CHECKING:
    from command.drawing import Drawing


@click.command(
    "validate",
    short_help="What would become of manifests, without an agent",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@output_option()
@click.pass_context
def command(context: click.Context, directory: Path, flags: tuple[str, ...], output: str) -> None:
    """Tell the verdict on each manifest at DIR, a directory or a file, without an agent.

    FLAGS are those of `actorlet run`, such as --config or --local-objects-dir. The exit code is 1 if a
    manifest would not be served.
    """
    document = _verdicts(directory, flags)
    manifests: list[Document] = document["manifests"]

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        words = tally(text(each, "verdict") for each in manifests)
        drawing.line(f"{counted(len(manifests), 'manifest')}{words and f': {words}'}")
        draw_manifests(drawing, manifests, wide=wide)

    names = lambda: (text(each, "path") for each in manifests)  # noqa: E731
    show(ShownAnswer(document=document, names=names, draw=draw), output)
    context.exit(OK if document["valid"] else NOT_WELL)


def _verdicts(directory: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    # What decides is the agent's own.
    from agent.validation import validated  # noqa: PLC0415
    from settings.errors import StartError, UsageError  # noqa: PLC0415

    try:
        return validated(directory, _rules(flags))
    except UsageError as error:
        raise WrongUsageError(str(error)) from None
    except StartError as error:
        is_there = os.path.lexists(directory)
        raise (NoAnswerError if is_there else NothingFoundError)(str(error)) from None


def _rules(flags: tuple[str, ...]) -> Any:
    """Return the rules by which an agent with these flags decodes manifests."""
    from agent.validation import manifest_rules, usual_rules  # noqa: PLC0415
    from messages.pods import FILE  # noqa: PLC0415

    if not flags:
        return usual_rules(gethostname(), FILE)
    # What reads flags and the files that they name takes 0.3 s to import.
    from settings.command_line import parse  # noqa: PLC0415
    from settings.load import load_settings  # noqa: PLC0415

    return manifest_rules(load_settings(parse(flags)), FILE)
