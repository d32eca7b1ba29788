"""The whole screen as lines, and what stands where on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from command.tables import FAINT, tone
from command.top.details import detail_lines
from command.top.lines import (
    BAR,
    BOLD,
    CHOSEN,
    GAP,
    Line,
    LinePiece,
    agent_lines,
    cut,
    filled,
    line,
    shared,
    wide,
)
from command.top.lists import LISTS, Cells, ListColumn, ListKind
from command.top.pages import ListWindow
from command.top.state import ListState, TopState
from command.wording import counted

HELP = (
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

LEAST_WIDTH: Final = 60
LEAST_HEIGHT: Final = 15
"""The smallest terminal that has room for it."""
LEAST_NAME: Final = 24
"""Cells that a column which is cut keeps before others are left out."""
KEYS: Final = "enter look  / search  s sort  t troubled  ? help  q quit"
DETAIL_KEYS: Final = "esc back  ↑ ↓ scroll  ? help  q quit"


def help_lines(width: int) -> list[Line]:
    """Return the page."""
    return [
        line("Keys", BOLD),
        *(
            (LinePiece(filled(keys, 10), BOLD), LinePiece(cut(said, width - 10)))
            for keys, said in HELP
        ),
        (LinePiece(cut(MOUSE, width), FAINT),),
    ]


class Spot(NamedTuple):
    """What somebody has clicked at."""

    kind: str
    """``row``, ``list``, ``column``, ``back`` or nothing."""
    name: str = ""
    place: int = 0


def is_too_small(state: TopState) -> bool:
    """Return whether the terminal has no room for it."""
    return state.width < LEAST_WIDTH or state.height < LEAST_HEIGHT


def screen(state: TopState) -> list[Line]:
    """Return the lines of the screen, as many as it is high."""
    if is_too_small(state):
        return _padded(_too_small(state), state.height)
    top = agent_lines(state)
    height = body_height(state)
    if state.is_help or state.detail is not None:
        whole = help_lines(state.width) if state.is_help else detail_lines(state)
        first = _first_line(state, len(whole), height + 1)
        body = [(LinePiece("─" * state.width, FAINT),), *whole[first : first + height + 1]]
    else:
        body = [_lists(state), *_table(state, height)]
    return [*_padded([*top, *body], state.height - 1), _footer(state)]


def body_height(state: TopState) -> int:
    """Return how many rows of a list are on the screen."""
    return max(1, state.height - len(agent_lines(state)) - 3)


def scrolled(state: TopState, steps: int) -> int:
    """Return the first line of what is looked at once it is scrolled by ``steps``."""
    height = body_height(state) + 1
    most = max(0, len(detail_lines(state)) - height)
    top = state.detail.top if state.detail is not None else 0
    return max(0, min(top + steps, most))


def _first_line(state: TopState, lines: int, height: int) -> int:
    top = state.detail.top if state.detail is not None and not state.is_help else 0
    return max(0, min(top, lines - height))


def _too_small(state: TopState) -> list[Line]:
    said = (
        f"The terminal has {state.width}x{state.height}.",
        f"top needs {LEAST_WIDTH}x{LEAST_HEIGHT}.",
        "q quits.",
    )
    return [(LinePiece(cut(each, state.width)),) for each in said]


def _padded(lines: Sequence[Line], height: int) -> list[Line]:
    return [*lines[:height], *([()] * (height - len(lines)))]


def _tabs() -> Iterator[tuple[str, str]]:
    for place, kind in enumerate(LISTS.values(), 1):
        yield kind.name, f" {place} {kind.title} "


def _lists(state: TopState) -> Line:
    tabs = [LinePiece(said, CHOSEN if name == state.shown else BAR) for name, said in _tabs()]
    used = sum(wide(each.text) for each in tabs)
    said = _position(state)
    return (*tabs, LinePiece(filled(said, state.width - used, is_right=True)))


def _position(state: TopState) -> str:
    shown = state.current
    page, height = shown.page, body_height(state)
    if not shown.is_known:
        found = "asking"
    elif page.matching > height:
        last = min(shown.top + height, page.matching)
        found = f"{shown.top + 1:,}-{last:,} of {page.matching:,}"
    else:
        found = counted(page.matching, state.kind.noun)
    if page.matching < page.total and shown.is_known:
        found += f" ({page.total:,} in all)"
    chosen = f"/{shown.search} " if shown.search and state.typed is None else ""
    return f"{chosen}{'troubled ' if shown.only_troubled else ''}{found}"


def _table(state: TopState, height: int) -> Iterator[Line]:
    kind, shown = state.kind, state.current
    rows = shown.page.rows
    cells = cells_of(kind, shown.page, int(state.now + state.skew))
    columns = fitted(kind.columns, cells, state.width)
    yield tuple(
        LinePiece(filled(_title(kind.columns[place], shown), width) + " " * GAP, BOLD)
        for place, width in columns
    )
    if not shown.page.matching:
        yield (LinePiece(cut(_nothing(kind, shown), state.width), FAINT),)
    for place in range(shown.top, min(shown.top + height, shown.page.matching)):
        found = place - shown.page.before
        if 0 <= found < len(rows):
            is_chosen = place == shown.cursor
            yield _row(kind, cells[found], columns, state.width, is_chosen=is_chosen)
        else:
            yield (LinePiece("…", FAINT),)


@lru_cache(maxsize=4)
def cells_of(kind: ListKind, page: ListWindow, now: int) -> list[Cells]:
    """Return what the rows of a page show, kept until a second is over: keys come faster."""
    return [kind.cells(row, now) for row in page.rows]


def _row(
    kind: ListKind, cells: Cells, columns: list[tuple[int, int]], width: int, *, is_chosen: bool
) -> Line:
    spans = []
    for place, size in columns:
        column = kind.columns[place]
        said = filled(cells[place], size, is_right=column.is_right) + " " * GAP
        toned = tone(cells[place]) if column.is_toned else ""
        spans.append(LinePiece(said, CHOSEN if is_chosen else toned))
    if is_chosen:
        used = sum(wide(each.text) for each in spans)
        spans.append(LinePiece(" " * max(0, width - used), CHOSEN))
    return tuple(spans)


def _title(column: ListColumn, shown: ListState) -> str:
    if column.order != shown.order:
        return column.title
    return f"{column.title}{'↓' if shown.falls else '↑'}"


def _nothing(kind: ListKind, shown: ListState) -> str:
    if not shown.is_known:
        return "Nothing is known yet."
    if shown.search:
        return f"No {kind.noun} is found by {shown.search}. esc shows all."
    if shown.only_troubled and shown.page.total == 0:
        return f"No {kind.noun} has trouble. t shows all."
    told = {
        "pods": "There are no pods. 4 shows what became of each manifest.",
        "objects": "No pod needs a Secret or a ConfigMap.",
        "sources": "There are no manifests.",
    }
    return told.get(kind.name, f"There are no {kind.noun}s.")


def fitted(
    columns: Sequence[ListColumn], rows: Sequence[Cells], width: int
) -> list[tuple[int, int]]:
    """Return the places of the columns that have room, each with its width."""
    natural = [
        max([len(column.title) + (column.order is not None), *(wide(row[place]) for row in rows)])
        for place, column in enumerate(columns)
    ]
    least = [
        min(size, LEAST_NAME) if column.is_flexible else size
        for size, column in zip(natural, columns, strict=True)
    ]
    places = list(range(len(columns)))
    while sum(least[each] + GAP for each in places) > width + GAP:
        last = max(places, key=lambda each: columns[each].rank)
        if not columns[last].rank:
            break
        places.remove(last)
    room = width - GAP * (len(places) - 1)
    sizes = shared([natural[each] for each in places], [least[each] for each in places], room)
    return list(zip(places, sizes, strict=True))


def _footer(state: TopState) -> Line:
    width = state.width
    if state.typed is not None:
        hint = "  (enter keeps it, esc drops it)"
        return (LinePiece(cut(f"/{state.typed}▏", width - len(hint))), LinePiece(hint, FAINT))
    keys = DETAIL_KEYS if state.detail is not None or state.is_help else KEYS
    return (LinePiece(filled(keys, width), BAR),)


def spot(state: TopState, x: int, y: int) -> Spot:
    """Return what stands at a place of the screen."""
    top = len(agent_lines(state))
    if is_too_small(state) or state.typed is not None:
        return Spot("")
    if state.is_help or state.detail is not None:
        return Spot("back") if y == state.height - 1 else Spot("")
    if y == top:
        return _tab_at(x)
    if y == top + 1:
        return _column_at(state, x)
    place = state.current.top + y - top - 2
    is_row = y >= top + 2 and y < state.height - 1 and place < state.current.page.matching
    return Spot("row", place=place) if is_row else Spot("")


def _tab_at(x: int) -> Spot:
    end = 0
    for name, said in _tabs():
        end += wide(said)
        if x < end:
            return Spot("list", name)
    return Spot("")


def _column_at(state: TopState, x: int) -> Spot:
    cells = cells_of(state.kind, state.current.page, int(state.now + state.skew))
    end = 0
    for place, width in fitted(state.kind.columns, cells, state.width):
        end += width + GAP
        order = state.kind.columns[place].order
        if x < end:
            return Spot("") if order is None else Spot("column", order)
    return Spot("")
