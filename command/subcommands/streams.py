"""``actorlet streams``: who has a command, a terminal or a port of a pod open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from command.failures import NoAnswerError
from command.options import control_options, control_place, output_option
from command.reading import Document, count, flag, part, rows_of, text
from command.server_names import PATIENCE
from command.tables import Column, Sheet
from command.wording import span
from command.written import JSON, YAML, ShownAnswer, show

if TYPE_CHECKING:
    from command.agent_api import AgentApi
    from command.drawing import Drawing

DOOR: Final = b"server.door.program"
"""The module that a process runs which speaks TLS for an agent."""
COLUMNS = (
    Column(title="KIND"),
    Column(title="USER", is_folded=True),
    Column(title="POD", is_name=True),
    Column(title="CONTAINER"),
    Column(title="FOR", is_right=True),
    Column(title="IN", is_right=True),
    Column(title="OUT", is_right=True),
    Column(title="COMMAND", is_folded=True),
)


@click.command("streams", short_help="Who has a command or a port of a pod open")
@control_options
@output_option(only=(JSON, YAML))
def command(api: AgentApi, root_dir: Path | None, output: str) -> None:
    """Show the streams of kubectl exec, attach and port-forward that the agent serves.

    Only root and the agent's own user are told who has them: all others are told how many there are.
    """
    from command.agent_api import AgentApi  # noqa: PLC0415 - it takes 30 ms

    try:
        document = AgentApi(control_place(root_dir, api), PATIENCE).document("/streamz")
        is_whole = True
    except NoAnswerError:
        document, is_whole = api.document("/streamz"), False
    is_served = flag(document, "isServed")
    left = orphans(document.get("door")) if is_whole else 0
    shown = {**document, **({"ofAgentsBefore": left} if is_whole else {})}

    def draw(drawing: Drawing, wide: bool) -> None:  # noqa: FBT001
        if not is_served:
            drawing.line("This agent serves no TLS port.")
        elif is_whole:
            drawing.sheet(sheet(rows_of(document, "streams", "/streamz")), wide=wide)
        else:
            drawing.line(_in_words(part(document, "counts")))
        if left:
            drawing.line(f"Processes that carry streams of agents that have ended: {left}.")

    show(ShownAnswer(document=shown, names=list, draw=draw), output)


def sheet(streams: list[Document]) -> Sheet:
    """Return the table of streams, the oldest first."""
    return Sheet(columns=COLUMNS, rows=[_row(each) for each in streams])


def _row(stream: Document) -> tuple[str, ...]:
    return (
        text(stream, "kind"),
        text(stream, "user"),
        text(stream, "pod"),
        text(stream, "container"),
        span(float(stream.get("seconds") or 0.0)),
        f"{count(stream, 'bytesIn'):,}",
        f"{count(stream, 'bytesOut'):,}",
        text(stream, "command"),
    )


def _in_words(counts: Document) -> str:
    told = ", ".join(f"{count(counts, kind)} {kind}" for kind in counts)
    return f"{told}. Who has them is told to root and to the agent's own user."


def orphans(door: object, processes: Path = Path("/proc")) -> int:
    """Return how many processes carry streams of agents that have ended.

    ``door`` is the process of the agent that was asked. The parent of one that an agent still has runs the
    same program.
    """
    found = 0
    for each in processes.glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            if DOOR not in words or each.name == str(door):
                continue
            status = (each / "status").read_text(errors="replace")
            parent = next(
                line.split()[1] for line in status.splitlines() if line.startswith("PPid:")
            )
            if (each / "exe").readlink() != (processes / parent / "exe").readlink():
                found += 1
        except (OSError, StopIteration):
            continue  # it has ended meanwhile, or is not for this user to see
    return found
