"""Tables of many rows: as wide as the first ones need, folded where the terminal ends."""

from __future__ import annotations

import io
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from typing_extensions import override

from command.drawing import AT_ONCE, MANY, Drawing
from command.plain_tables import RowLines, cell_count, has_room, wrapped
from command.tables import Column, Sheet
from tests.unit.command.test_drawing import Screen

COLUMNS = (
    Column(title="NAME", is_folded=True),
    Column(title="MANY", is_right=True),
    Column(title="STATE", is_toned=True),
    Column(title="FROM", is_wide=True),
)
ROW = ("default/web", "1,000", "Running", "")


def lines(
    rows: list[tuple[str, ...]], limit: int = 1000, *, has_colours: bool = False
) -> list[str]:
    maker = RowLines(COLUMNS, rows[:1], limit, has_colours=has_colours)
    return [*maker.titles(), *chain.from_iterable(map(maker.lines, rows))]


def test_columns_are_as_wide_as_the_first_rows_need() -> None:
    assert lines([ROW, ("default/a-longer-one", "1", "absent", "file")]) == [
        "NAME          MANY  STATE    FROM",
        "default/web  1,000  Running",
        "default/a-longer-one      1  absent   file",
    ]


def test_what_is_too_long_for_the_terminal_is_folded_in_its_column() -> None:
    assert lines([ROW, ("default/a-longer-one", "1", "absent", "file")], 35) == [
        "NAME          MANY  STATE    FROM",
        "default/web  1,000  Running",
        "default/a-l      1  absent   file",
        "onger-one",
    ]


def test_words_stay_whole_where_that_is_wanted() -> None:
    columns = (Column(title="NAME"), Column(title="WHY", is_folded=True))
    row = ("web", "its Secret is not there")
    maker = RowLines(columns, [row], 18, has_colours=False, keeps_words=True)
    assert list(maker.lines(row)) == ["web   its Secret", "      is not there"]


def test_a_terminal_gets_colours_that_take_no_room() -> None:
    (head, line) = lines([ROW], has_colours=True)
    assert head.startswith("\x1b[1mNAME\x1b[0m          \x1b[1mMANY")
    assert line == "default/web  1,000  \x1b[32mRunning\x1b[0m"


NAMED = (
    Column(title="NAME", is_folded=True, is_name=True),
    Column(title="READY", is_right=True),
    Column(title="STATE", is_toned=True),
)


def test_a_name_that_is_too_long_for_its_column_is_whole_on_a_line_before_its_row() -> None:
    rows = [("default/web", "2/2", "Running"), ("default/a-longer-one", "0/1", "Failed")]
    maker = RowLines(NAMED, rows, 27, has_colours=False)
    assert [*maker.titles(), *chain.from_iterable(map(maker.lines, rows))] == [
        "NAME         READY  STATE",
        "default/web    2/2  Running",
        "default/a-longer-one",
        "               0/1  Failed",
    ]


@pytest.mark.parametrize(
    ("name", "limit", "is_there"),
    [
        ("default/a-long-one", 24, True),
        ("default/a-long-one", 23, False),
        ("web", 20, True),
        ("web", 19, False),
    ],
)
def test_rows_have_room_if_their_states_are_whole_beside_eight_cells_of_a_name(
    name: str, limit: int, *, is_there: bool
) -> None:
    assert has_room(NAMED, [(name, "2/2", "Running")], limit) is is_there


@given(st.text("abc-/世", min_size=1, max_size=60), st.integers(min_value=10, max_value=60))
def test_a_name_is_whole_at_any_width(name: str, limit: int) -> None:
    row = (name, "1/1", "Running")
    for first in ([row], [("web", "1/1", "Running")]):
        maker = RowLines(NAMED, first, limit, has_colours=False)
        found = [each.split(" ")[0] for each in maker.lines(row)]
        assert found[0] == name
        assert "" not in maker.lines(row)


CELLS = st.tuples(
    st.text(max_size=30), st.text(max_size=5), st.text(max_size=30), st.text(max_size=5)
)


@given(st.lists(CELLS, min_size=1, max_size=4), st.integers(min_value=20, max_value=60))
def test_any_text_fits_and_nothing_of_it_reaches_the_terminal_as_a_command(
    rows: list[tuple[str, ...]], limit: int
) -> None:
    for line in lines(rows, limit):
        assert cell_count(line) <= limit
        assert "\x1b" not in line


@given(st.text(max_size=60), st.integers(min_value=2, max_value=20))
def test_a_text_is_wrapped_without_losing_a_word(said: str, width: int) -> None:
    found = wrapped(said, width)
    assert all(cell_count(each) <= width for each in found)
    assert "".join(found).replace(" ", "") == said.replace(" ", "")


def test_words_stay_whole_that_fit() -> None:
    assert wrapped("one two three fourteen", 9) == ["one two", "three", "fourteen"]
    assert wrapped("one seventeenletters", 9) == ["one", "seventeen", "letters"]


@pytest.mark.parametrize("said", ["plain", "世界", "é", "e\u0301", "ｱ", "😀", "a世b"])
def test_characters_take_as_many_cells_as_terminals_give_them(said: str) -> None:
    assert cell_count(said) == cell_len(said)


def many(count: int) -> list[tuple[str, ...]]:
    return [(f"default/web-{number}", "1", "Running", "") for number in range(count)]


def test_many_rows_look_as_few_do() -> None:
    few, lots = io.StringIO(), io.StringIO()
    Drawing(few, {"COLUMNS": "40"}).sheet(Sheet(columns=COLUMNS, rows=many(MANY)))
    Drawing(lots, {"COLUMNS": "40"}).sheet(Sheet(columns=COLUMNS, rows=many(MANY + 1)))
    assert lots.getvalue().startswith(few.getvalue())


def test_many_rows_have_colours_on_a_terminal() -> None:
    screen = Screen()
    Drawing(screen, {"COLUMNS": "60"}).sheet(Sheet(columns=COLUMNS, rows=many(MANY + 1)))
    assert screen.getvalue().count("\x1b[32mRunning") == MANY + 1


class Watched(io.StringIO):
    """Notes how much of it there was at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    @override
    def flush(self) -> None:
        self.seen.append(self.getvalue().count("\n"))


def test_pages_are_drawn_one_after_the_other_as_they_come() -> None:
    output = Watched()
    pages = iter([many(10), many(2 * AT_ONCE)])
    Drawing(output, {}).pages(COLUMNS, pages, wide=False)
    assert output.seen == [AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 11]
    assert output.getvalue().splitlines()[0] == "NAME           MANY  STATE"


def test_a_table_of_one_page_leaves_out_what_is_empty_everywhere() -> None:
    output = io.StringIO()
    Drawing(output, {}).pages(COLUMNS, iter([many(3)]), wide=True)
    assert "FROM" not in output.getvalue()
    Drawing(output, {}).pages(COLUMNS, iter([many(3), many(1)]), wide=True)
    assert "FROM" in output.getvalue()
