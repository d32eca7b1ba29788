"""What keys and the mouse do to the state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum, auto
from typing import Final

from command.reading import text
from command.top.lists import ACTORS, LISTS, is_group
from command.top.pages import key_of
from command.top.screen import Spot, body_height, scrolled
from command.top.state import DetailState, ListState, Subject, TopState

LONGEST_SEARCH: Final = 200
"""Characters of a search."""
FAR: Final = 10**9
WHEEL: Final = 3
"""Rows that a step of the wheel moves."""


class Wish(Enum):
    """What a key wants beside another state."""

    NOTHING = auto()
    QUIT = auto()
    RETRY = auto()
    """Ask for everything, and for events, at once."""


def pressed(state: TopState, key: str, character: str | None) -> tuple[TopState, Wish]:
    """Return the state after a key, as textual names it, and what it wants beside."""
    if key == "ctrl+c":
        return state, Wish.QUIT
    if state.typed is not None:
        return typed(state, key, character), Wish.NOTHING
    if key == "q":
        return state, Wish.QUIT
    if key == "r":
        return state, Wish.RETRY
    if key in {"question_mark", "f1"}:
        return replace(state, is_help=not state.is_help), Wish.NOTHING
    if state.is_help:
        return replace(state, is_help=key not in BACK), Wish.NOTHING
    if state.detail is not None:
        return _in_detail(state, key), Wish.NOTHING
    act = _ACTS.get(key)
    return (act(state) if act is not None else state), Wish.NOTHING


def typed(state: TopState, key: str, character: str | None) -> TopState:
    """Return the state after a key while a search is typed."""
    said = state.typed or ""
    if key == "escape":
        return replace(searched(state, ""), typed=None)
    if key == "enter":
        return replace(state, typed=None)
    if key in {"backspace", "ctrl+h"}:
        return searched(state, said[:-1]) if said else replace(state, typed=None)
    if key in {"ctrl+u", "ctrl+w"}:
        return searched(state, "")
    if key in {"up", "down"}:
        return _moved(state, 1 if key == "down" else -1)
    return pasted(state, character) if character and character.isprintable() else state


def pasted(state: TopState, told: str) -> TopState:
    """Return the state after a text was put into the search."""
    if state.typed is None:
        return state
    kept = "".join(each for each in told.replace("\n", " ") if each.isprintable())
    return searched(state, (state.typed + kept)[:LONGEST_SEARCH])


def searched(state: TopState, said: str) -> TopState:
    """Return the state with the search ``said`` in the list that is shown."""
    changed = replace(state, typed=said)
    shown = state.current
    return changed if said == shown.search else changed.with_list(_searching(shown, said))


def chosen(state: TopState, name: str) -> TopState:
    """Return the state with another list shown."""
    return replace(state, shown=name, detail=None)


def looked_at(state: TopState) -> TopState:
    """Return the state with the chosen row looked at; many actors are listed instead."""
    row = state.current.page.row(state.current.cursor)
    if row is None:
        return state
    if state.kind is ACTORS and is_group(row):
        return state.with_list(_searching(state.current, text(row, "name").rstrip("*")))
    subject = Subject(kind=state.shown, key=key_of(row), row=row)
    return replace(state, detail=DetailState(subject=subject))


def sorted_by(state: TopState, order: str) -> TopState:
    """Return the state with the list sorted by ``order``; the other way round if it is so already."""
    shown = state.current
    if shown.order == order:
        return state.with_list(shown.sorted_by(order, falls=not shown.falls))
    column = next(each for each in state.kind.orders if each.order == order)
    return state.with_list(shown.sorted_by(order, falls=column.falls))


def clicked(state: TopState, spot: Spot) -> TopState:
    """Return the state after a click."""
    if spot.kind == "list":
        return chosen(state, spot.name)
    if spot.kind == "column":
        return sorted_by(state, spot.name)
    if spot.kind == "back":
        return replace(state, is_help=False, detail=None if not state.is_help else state.detail)
    if spot.kind != "row":
        return state
    if spot.place == state.current.cursor:
        return looked_at(state)
    return state.with_list(state.current.at(spot.place, body_height(state)))


def wheeled(state: TopState, steps: int) -> TopState:
    """Return the state after the wheel was turned."""
    if state.is_help:
        return state
    if state.detail is not None:
        return _scrolled(state, steps * WHEEL)
    return _moved(state, steps * WHEEL)


def _in_detail(state: TopState, key: str) -> TopState:
    if key in BACK:
        return replace(state, detail=None)
    page = body_height(state)
    steps = {**_STEPS, "pagedown": page, "pageup": -page, "space": page}.get(key)
    if steps is not None:
        return _scrolled(state, steps)
    number = _NUMBERS.get(key)
    return chosen(state, number) if number is not None else state


def _scrolled(state: TopState, steps: int) -> TopState:
    if state.detail is None:
        return state
    return replace(state, detail=replace(state.detail, top=scrolled(state, steps)))


def _moved(state: TopState, steps: int) -> TopState:
    return state.with_list(state.current.moved(steps, body_height(state)))


def _paged(pages: int) -> Callable[[TopState], TopState]:
    return lambda state: _moved(state, pages * body_height(state))


def _next_list(step: int) -> Callable[[TopState], TopState]:
    def go(state: TopState) -> TopState:
        names = list(LISTS)
        return chosen(state, names[(names.index(state.shown) + step) % len(names)])

    return go


def _next_order(state: TopState) -> TopState:
    orders = state.kind.orders
    place = next(
        (each for each, column in enumerate(orders) if column.order == state.current.order), 0
    )
    following = orders[(place + 1) % len(orders)]
    order = following.order or ""
    return state.with_list(state.current.sorted_by(order, falls=following.falls))


def _turned(state: TopState) -> TopState:
    shown = state.current
    return state.with_list(shown.sorted_by(shown.order, falls=not shown.falls))


def _searching(shown: ListState, said: str) -> ListState:
    return shown.searched(said, only_troubled=shown.only_troubled)


def _without_search(state: TopState) -> TopState:
    shown: ListState = state.current
    if shown.search or shown.only_troubled:
        return state.with_list(shown.searched("", only_troubled=False))
    return state


def _troubled(state: TopState) -> TopState:
    if not state.kind.has_trouble:
        return state
    shown = state.current
    return state.with_list(shown.searched(shown.search, only_troubled=not shown.only_troubled))


BACK: Final = frozenset({"escape", "backspace", "left", "h", "enter"})
_NUMBERS: Final[Mapping[str, str]] = {str(place): name for place, name in enumerate(LISTS, start=1)}
_STEPS: Final[Mapping[str, int]] = {
    "up": -1,
    "k": -1,
    "down": 1,
    "j": 1,
    "home": -FAR,
    "g": -FAR,
    "end": FAR,
    "G": FAR,
}


def _stepping(steps: int) -> Callable[[TopState], TopState]:
    return lambda state: _moved(state, steps)


def _choosing(name: str) -> Callable[[TopState], TopState]:
    return lambda state: chosen(state, name)


_ACTS: Final[Mapping[str, Callable[[TopState], TopState]]] = {
    **{key: _stepping(steps) for key, steps in _STEPS.items()},
    **{key: _choosing(name) for key, name in _NUMBERS.items()},
    "pageup": _paged(-1),
    "pagedown": _paged(1),
    "space": _paged(1),
    "tab": _next_list(1),
    "shift+tab": _next_list(-1),
    "enter": looked_at,
    "right": looked_at,
    "slash": lambda state: replace(state, typed=state.current.search),
    "s": _next_order,
    "S": _turned,
    "t": _troubled,
    "escape": _without_search,
}
