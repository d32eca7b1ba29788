"""The page of flags, from ``settings.flags``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from settings.flags.definitions import SECTIONS
from settings.flags.flag import Flag
from settings.flags.kinds import SWITCH
from settings.without_effect import TABLE
from tools.reference.links import of_flag
from tools.reference.markdown import code, codes, page, section, table

_DEFAULT: Final = re.compile(r" \[(.*)\]\.?$")

INTRODUCTION: Final = """\
Flags have the names of a kubelet's where it has them. They win over the fields of `--config` and
`--config-dir` that say the same: [fields](fields.md), [configuration](../configuration.md). A switch
takes a value behind `=` only. `run.py --help`, or `actorlet run --help`, lists them too."""

WITHOUT_EFFECT: Final = """\
Any other flag that a kubelet from 1.20 to 1.36 knows is taken, so that the flags of a kubelet's unit
work unchanged. Their values are neither checked nor shown. One warning names those that were given, and
what is done instead."""


def flags_page() -> str:
    """Return the page."""
    sections = [
        section(
            title,
            table(("flag", "takes", "default", "field", "what it says"), map(_row, flags)),
        )
        for title, flags in SECTIONS.items()
    ]
    ignored = section(
        "Flags of a kubelet without effect", WITHOUT_EFFECT, table(("instead", "flags"), _ignored())
    )
    return page("Flags", INTRODUCTION, *sections, ignored)


def default(flag: Flag) -> str:
    """Return the default of a flag as its help shows it; empty if that says none."""
    found = _DEFAULT.search(flag.help or "")
    return found[1] if found else ""


def meaning(flag: Flag) -> str:
    """Return what a flag says, in words, without its default and without a full stop."""
    return _DEFAULT.sub("", flag.help or "").removesuffix(".")


def takes(flag: Flag) -> str:
    """Return what a flag takes, in a word or a pattern."""
    return "switch" if flag.type is SWITCH else flag.metavar or flag.type.name


def _row(flag: Flag) -> tuple[str, ...]:
    more = of_flag(flag.opts[-1])
    return (
        codes(flag.opts),
        code(takes(flag)),
        default(flag),
        f"[`{flag.field}`](fields.md)" if flag.field else "",
        meaning(flag) + (f" ([more]({more}))" if more else ""),
    )


def _ignored() -> Iterator[tuple[str, str]]:
    for row in TABLE:
        if flags := row.flags():
            yield row.instead, codes(sorted(flags))
