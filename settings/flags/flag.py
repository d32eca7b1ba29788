"""What one flag of the command line is."""

from __future__ import annotations

import click

from messages.units import Seconds
from settings.flags.kinds import Kind
from settings.values.durations import format_duration


def _shown(default: object) -> str:
    """Return a default as people write it on a command line; numbers with a point are seconds."""
    match default:
        case bool():
            return str(default).lower()
        case float():
            return format_duration(Seconds(default)).replace("m0s", "m")
        case _:
            return str(default)


class Flag(click.Option):
    """A flag, and the path of the configuration's field that it sets, if it sets one."""

    def __init__(
        self,
        names: str,
        kind: Kind,
        help: str,  # noqa: A002 - click's word
        field: str = "",
        *,
        default_is: object = None,
    ) -> None:
        """``default_is`` is only shown in the help. The flag itself never sets it."""
        text = help if default_is is None else f"{help.removesuffix('.')} [{_shown(default_is)}]."
        super().__init__(names.split(", "), type=kind, help=text, **kind.attributes)
        self.field = field
        self.key = self.name or ""
