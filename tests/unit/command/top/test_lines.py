"""Lines: plain text of an exact width, whatever is in it."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from command.tables import Column, Sheet
from command.top.lines import cut, filled, shared, sheet_lines, text_of, wrapped

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "[bold]not bold[/bold] [@click=app.quit]x[/]",
    "\x9b2Jbell\x07",
    "\u202egnitautca\u202c",
    "漢字漢字漢字漢字",
    "a" * 5_000,
    "שלום עולם",
    "e\u0301" * 30,
    "\ud800 half",
    "tab\tand\nline",
    "",
)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [0, 1, 5, 12, 80])
def test_a_text_takes_exactly_its_cells_and_nothing_that_a_terminal_obeys(
    name: str, width: int
) -> None:
    shown = filled(name, width)
    assert cell_len(shown) == width
    assert shown.isprintable()
    assert all(cell_len(each) <= max(width, 2) for each in wrapped(name, width))
    assert all(each.isprintable() for each in wrapped(name, width))


def test_markup_is_text() -> None:
    assert cut("[bold]x[/bold]", 40) == "[bold]x[/bold]"
    assert cut("\x1b[2J", 40) == "\\x1b[2J"


def test_what_is_left_out_is_told_by_a_sign() -> None:
    assert cut("default/web-edge-1", 10) == "default/w…"
    assert cut("漢字漢字", 4) == "漢…"
    assert filled("7", 3, is_right=True) == "  7"


def test_long_texts_are_broken_between_words_and_within_those_that_are_too_long() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefgh ij", 4) == ["abcd", "efgh", "ij"]
    assert wrapped("", 4) == [""]


@pytest.mark.parametrize(
    ("natural", "least", "room", "widths"),
    [
        ([10, 20], [5, 5], 40, [10, 20]),
        ([10, 20], [5, 5], 18, [10, 8]),
        ([10, 20], [10, 20], 18, [9, 9]),
        ([10, 20], [10, 20], 0, [1, 1]),
    ],
)
def test_room_is_shared_first_come_and_taken_from_the_widest(
    natural: list[int], least: list[int], room: int, widths: list[int]
) -> None:
    assert shared(natural, least, room) == widths


def test_a_table_folds_what_is_long_and_keeps_the_rest() -> None:
    columns = (Column(title="NAME"), Column(title="WHY", is_folded=True))
    sheet = Sheet(columns=columns, rows=[("web", "it waits for a Secret that is not there")])
    said = text_of(sheet_lines(sheet, 24))
    assert said.splitlines()[:3] == ["NAME  WHY", "web   it waits for a", "      Secret that is"]
    assert max(map(len, said.splitlines())) <= 24
