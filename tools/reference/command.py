"""The page of the command, from its subcommands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from command.failures import EXIT_CODES
from command.main import actorlet
from tools.reference.markdown import code, page, section, table
from tools.reference.subcommands import (
    ENVIRONMENT,
    EXAMPLES,
    FILES,
    Subcommand,
    described,
    subcommands,
)


def command_page() -> str:
    """Return the page."""
    return page(
        "The command actorlet",
        "What people do with it, and what they see: [the command](../command.md). The same as a man page: "
        "`docs/man/actorlet.1`.",
        _usage("actorlet", described(actorlet, "actorlet")),
        *(
            section(f"actorlet {each.name}", _usage(f"actorlet {each.name}", each))
            for each in subcommands()
        ),
        section(
            "Exit codes",
            table(
                ("code", "means"),
                ((str(number), says) for number, says in sorted(EXIT_CODES.items())),
            ),
            "`run` has [those of the agent](../endpoints.md#exit-codes), and `exec` that of its command, "
            "unless there is none.",
        ),
        section("Environment", table(("variable", "says"), _coded(ENVIRONMENT.items()))),
        section("Files", table(("file", "is"), _coded(FILES.items()))),
        section("Examples", table(("line", "does"), _coded(EXAMPLES))),
    )


def _usage(name: str, told: Subcommand) -> str:
    parts = [f"```\n{name} {told.usage}\n```", *told.says]
    if told.options:
        parts.append(table(("option", "what it says"), _coded(told.options)))
    return "\n\n".join(parts)


def _coded(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, says in rows:
        yield code(name), says
