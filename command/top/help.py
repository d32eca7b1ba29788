"""The page that says which key does what. Pure."""

from __future__ import annotations

from command.tables import FAINT
from command.top.lines import BOLD, Line, LinePiece, cut, filled, line

KEYS = (
    ("↑ ↓ k j", "one row up, down; also PgUp, PgDn, Home g, End G"),
    ("enter", "look at the row; at many actors (NAME/*): list them"),
    ("esc", "back; in a list: without the search"),
    ("tab 1-5", "the next list; pods, actors, objects, sources, events"),
    ("/", "search: rows with all of the words"),
    ("s S", "sort by the next column; the other way round"),
    ("t", "only what somebody should look at, or all"),
    ("r", "ask again, and for events, at once"),
    ("? q", "this page; quit (also Ctrl-C)"),
)
MOUSE = "The mouse chooses rows, looks at them, sorts by titles, scrolls."


def help_lines(width: int) -> list[Line]:
    """Return the page."""
    return [
        line("Keys", BOLD),
        *(
            (LinePiece(filled(keys, 10), BOLD), LinePiece(cut(said, width - 10)))
            for keys, said in KEYS
        ),
        (LinePiece(cut(MOUSE, width), FAINT),),
    ]
