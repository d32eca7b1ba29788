"""The page of flags, from ``settings.table``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from settings.kinds import SWITCH
from settings.rows import Row
from settings.table import SECTIONS
from settings.without_effect import TABLE
from tools.reference.markdown import code, codes, page, section, table

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


def meaning(row: Row) -> str:
    """Return what a setting is, in words, with a link to the page that says more."""
    return row.says + (f" ([more](../{row.more}))" if row.more else "")


def takes(row: Row) -> str:
    """Return what a flag takes, in a word or a pattern."""
    return "switch" if row.kind is SWITCH else row.kind.metavar or row.kind.name


def _row(row: Row) -> tuple[str, ...]:
    return (
        codes(row.flags),
        code(takes(row)),
        row.shown_default,
        f"[`{row.field}`](fields.md)" if row.field else "",
        meaning(row),
    )


def _ignored() -> Iterator[tuple[str, str]]:
    for row in TABLE:
        if flags := row.flags():
            yield row.instead, codes(sorted(flags))
