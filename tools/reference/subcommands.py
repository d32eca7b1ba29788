"""The subcommands of ``actorlet``, as click knows them, and what else there is to say of the command."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import click

from command.main import SUBCOMMANDS, actorlet

HELP: Final = ["-h", "--help"]

ENVIRONMENT: Final = {
    "ACTORLET_SERVER": "Where the agent answers: what --server says otherwise.",
    "ACTORLET_ROOT_DIR": "The root directory of the agent whose socket is used: what --root-dir "
    "says otherwise.",
    "ACTORLET_DEBUG": "If it is set, a failure of the command itself shows its traceback.",
    "COLUMNS": "How wide tables are, instead of as wide as the terminal.",
    "NO_COLOR": "If it is set, nothing is coloured, unless --color is given.",
    "FORCE_COLOR": "If it is set, and NO_COLOR is not, tables are coloured in a pipe, too.",
    "TERM": "With dumb, nothing is coloured unless it is asked for, and top does not run.",
}
"""The variables of the environment that the command reads."""

FILES: Final = {
    "/var/lib/actorlet/actorlet.sock": "The socket of the agent, below its root directory. logs and exec "
    "use it; only root and the agent's own user may.",
    "/var/lib/actorlet": "The root directory of the agent, unless --root-dir says otherwise.",
}
"""The files that the command reads where nothing else is said."""

EXAMPLES: Final = (
    ("actorlet run --pod-manifest-path /etc/kubernetes/manifests", "Run the agent on static pods."),
    ("actorlet status", "Ask whether the agent is well, and what of its pods is not."),
    ("actorlet pod shop", "Ask why the pod shop is not running."),
    ("actorlet pods --troubled -o name", "Name the pods that are not well, for a script."),
    (
        "actorlet logs shop -f --since 10m",
        "Read what a container has written in the last ten minutes, and what comes.",
    ),
    ("actorlet exec shop -- cat /etc/hostname", "Run a command in a container."),
    ("actorlet events -f --only status", "Watch the statuses of pods."),
    ("actorlet validate ./manifests", "Judge manifests before an agent reads them."),
    (
        "actorlet explain-node /var/lib/kubelet/config.yaml -- --runtime=cri",
        "Ask what of a kubelet's configuration file would be obeyed.",
    ),
)
"""Lines that people type, and what for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """One subcommand."""

    name: str
    usage: str
    """What follows the name."""
    says: tuple[str, ...]
    """What it does, by paragraphs."""
    options: tuple[tuple[str, str], ...]
    """Each option with what it takes, and what it says."""


def subcommands() -> Iterator[Subcommand]:
    """Yield the subcommands in the order of the help."""
    above = click.Context(actorlet, info_name="actorlet", help_option_names=HELP)
    for name, module in SUBCOMMANDS.items():
        found = import_module(f"command.subcommands.{module}").command
        assert isinstance(found, click.Command)  # noqa: S101 - each has one
        yield described(found, name, above)


def described(found: click.Command, name: str, above: click.Context | None = None) -> Subcommand:
    """Return what click knows of a command."""
    context = click.Context(found, info_name=name, parent=above, help_option_names=HELP)
    options = (each for each in found.get_params(context) if isinstance(each, click.Option))
    records = (option.get_help_record(context) for option in options)
    return Subcommand(
        name=name,
        usage=" ".join(found.collect_usage_pieces(context)),
        says=tuple(
            " ".join(paragraph.split())
            for paragraph in inspect.cleandoc(found.help or "").split("\n\n")
        ),
        options=tuple((name, " ".join(says.split())) for name, says in filter(None, records)),
    )
