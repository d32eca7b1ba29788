"""``actorlet explain-node``: what of a kubelet's configuration file is obeyed, ignored or refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from command.failures import NOT_WELL, OK, NothingFoundError, WrongUsageError
from command.options import output_option
from command.tables import BAD, DOUBTFUL, GOOD, Column, Sheet
from command.wording import counted, tally
from command.written import ShownAnswer, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from command.drawing import Drawing
    from settings.explaining import ExplainedSetting, Explanation

COLUMNS = (
    Column(title="SETTING", is_folded=True),
    Column(title="LINE", is_right=True),
    Column(title="FATE", is_toned=True),
    Column(title="VALUE", is_folded=True),
    Column(title="IN EFFECT", is_wide=True),
    Column(title="FIELD", is_wide=True),
    Column(title="FILE", is_wide=True),
    Column(title="WHY", is_folded=True),
)


@click.command(
    "explain-node",
    short_help="What of a kubelet's file and flags is obeyed, ignored, refused",
    context_settings={"ignore_unknown_options": True},
)
@click.option("--all", "is_all", is_flag=True, help="Also fields that nobody has set.")
@click.argument("arguments", metavar="[FILE] [-- FLAGS]", nargs=-1, type=click.UNPROCESSED)
@output_option()
@click.pass_context
def command(
    context: click.Context,
    arguments: tuple[str, ...],
    is_all: bool,  # noqa: FBT001
    output: str,
) -> None:
    """Say what becomes of each field of FILE, a kubelet's configuration, if the agent runs with it here.

    A field is obeyed, ignored for a reason, or refused: the agent would not start. FLAGS are those of
    `actorlet run`, or of a kubelet's unit; they are explained too. Without both, every field that the agent
    knows is shown as it is without a file. The exit code is 1 if the agent would not start.
    """
    explanation = _explained(arguments)
    rows = list(explanation.settings)
    if is_all or not arguments:
        rows += explanation.others

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        _draw(drawing, explanation, rows, wide=wide)

    document = _document(explanation, rows)
    names = lambda: (each.name for each in rows)  # noqa: E731
    show(ShownAnswer(document=document, names=names, draw=draw), output)
    context.exit(NOT_WELL if explanation.refusals else OK)


def _explained(arguments: tuple[str, ...]) -> Explanation:
    # pydantic would look for plugins in every package that is installed: 20 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # What decides is the agent's own, and takes a sixth of a second to import.
    from settings.errors import StartError, UsageError  # noqa: PLC0415
    from settings.explaining import explained  # noqa: PLC0415

    try:
        return explained(flags_of(arguments))
    except UsageError as error:
        raise WrongUsageError(str(error)) from None
    except StartError as error:
        raise NothingFoundError(str(error)) from None


def flags_of(arguments: Sequence[str]) -> list[str]:
    """Return the flags of an agent that runs with the FILE and the FLAGS in ``arguments``."""
    if not arguments or arguments[0].startswith("-"):
        return list(arguments)
    file, *flags = arguments
    if any(each.partition("=")[0] == "--config" for each in flags):
        raise WrongUsageError(f"{Path(file)} and --config are two files: name one")
    return [f"--config={file}", *flags]


def _draw(
    drawing: Drawing, explanation: Explanation, rows: list[ExplainedSetting], *, wide: bool
) -> None:
    drawing.line(_verdict(explanation), style=BAD if explanation.refusals else GOOD)
    for sentence in explanation.refusals:
        drawing.item(sentence, style=BAD)
    for sentence in explanation.warnings:
        drawing.item(sentence, style=DOUBTFUL)
    if rows:
        drawing.title(f"{counted(len(rows), 'setting')}: {tally(each.fate for each in rows)}")
        # The settings have taken most of the time that there is.
        sheet = Sheet(columns=COLUMNS, rows=[_row(each) for each in rows])
        drawing.sheet(sheet, wide=wide, is_quick=True)


def _verdict(explanation: Explanation) -> str:
    if explanation.refusals:
        return "The agent would not start here like this:"
    where = "as a node of a cluster" if explanation.situation.is_joined else "without a cluster"
    runtime = explanation.situation.runtime
    return f"The agent would start here {where}" + (
        f", with --runtime {runtime}." if runtime else "."
    )


def _row(each: ExplainedSetting) -> tuple[str, ...]:
    return (
        each.name,
        str(each.line or ""),
        str(each.fate),
        _text(each.value),
        _text(each.in_effect),
        each.field,
        each.file,
        each.why,
    )


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _document(explanation: Explanation, rows: list[ExplainedSetting]) -> dict[str, Any]:
    return {
        "files": list(explanation.files),
        "starts": not explanation.refusals,
        "joined": explanation.situation.is_joined,
        "runtime": explanation.situation.runtime and str(explanation.situation.runtime),
        "refusals": list(explanation.refusals),
        "warnings": list(explanation.warnings),
        "settings": [
            {
                "name": each.name,
                "fate": str(each.fate),
                "why": each.why,
                "value": each.value,
                "inEffect": each.in_effect,
                "file": each.file,
                "line": each.line,
                "field": each.field,
            }
            for each in rows
        ],
    }
