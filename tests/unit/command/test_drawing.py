"""Tables as they are drawn: at any width, with colours only where somebody looks."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from typing_extensions import override

from command.drawing import Drawing
from command.pod_drawing import draw_pod
from command.pod_words import PodEvidence, WhyNot
from command.subcommands.actors import grouped
from command.subcommands.actors import sheet as actor_sheet
from command.subcommands.objects import sheet as object_sheet
from command.subcommands.pods import COLUMNS as POD_COLUMNS
from command.subcommands.pods import rows as pod_rows
from command.subcommands.sources import manifest_sheet
from command.subcommands.sources import sheet as source_sheet
from command.tables import Column, Sheet
from command.wording import moment
from tests.support.command.agents import body, pod, pods

NOW = moment("2026-11-22T23:57:48Z") or 0.0
SHEETS = {
    "pods": Sheet(columns=POD_COLUMNS, rows=sorted(pod_rows(pods(), NOW))),
    "objects": object_sheet(body("watchz")["objects"]),
    "actors": actor_sheet(grouped(body("actorz")["actors"])),
    "sources": source_sheet(body("sourcez")["sources"], NOW),
    "manifests": manifest_sheet(body("sourcez")["sources"][0]["manifests"]),
}
ODD = Sheet(
    columns=(Column(title="NAME", is_folded=True), Column(title="STATE", is_toned=True)),
    rows=[("[red]web[/red] :smile:", "Running"), ("\x1b[2Jgone", "absent"), ("世界" * 30, "")],
)


class Screen(io.StringIO):
    """What somebody looks at."""

    @override
    def isatty(self) -> bool:
        return True


def drawn(sheet: Sheet, *, wide: bool = False, columns: object = "", **environment: str) -> str:
    output = io.StringIO()
    Drawing(output, {"COLUMNS": str(columns), **environment}).sheet(sheet, wide=wide)
    return output.getvalue()


@pytest.mark.parametrize("columns", ["80", "60", "200"])
@pytest.mark.parametrize("name", SHEETS)
def test_a_table_is_no_wider_than_the_terminal(name: str, columns: str) -> None:
    text = drawn(SHEETS[name], columns=columns)
    assert max(map(cell_len, text.splitlines())) <= int(columns)
    assert not re.search(r" $", text, re.MULTILINE)


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
@pytest.mark.parametrize("name", ["pods", "objects", "actors", "manifests"])
@pytest.mark.parametrize("wide", [False, True])
def test_names_stay_whole_however_narrow_the_terminal_is(
    name: str, columns: int, *, wide: bool
) -> None:
    screen, sheet = Screen(), SHEETS[name]
    Drawing(screen, {"COLUMNS": str(columns), "NO_COLOR": "1"}).sheet(sheet, wide=wide)
    begins = [each.split("  ")[0] for each in map(str.strip, screen.getvalue().splitlines())]
    assert {row[0].strip() for row in sheet.rows} <= set(begins)


@pytest.mark.parametrize("name", SHEETS)
def test_a_table_that_nobody_looks_at_has_each_row_on_a_line(name: str) -> None:
    sheet = SHEETS[name]
    assert len(drawn(sheet).splitlines()) == len(sheet.rows) + 1
    assert len(drawn(sheet, wide=True, columns=80).splitlines()) == len(sheet.rows) + 1


@pytest.mark.parametrize("columns", [40, 60, 80, 300])
def test_a_wide_table_on_a_terminal_breaks_its_rows_between_columns(columns: int) -> None:
    screen, sheet = Screen(), SHEETS["pods"]
    Drawing(screen, {"COLUMNS": str(columns), "NO_COLOR": "1"}).sheet(sheet, wide=True)
    text = screen.getvalue()
    names = {row[0] for row in sheet.rows}
    assert max(cell_len(each) for each in text.splitlines() if each not in names) <= columns
    if columns >= 60:
        words = {each for row in sheet.rows for each in row if each}
        assert {each for each in words if each not in text} == set()


@pytest.mark.parametrize("columns", [24, 30, 40, 45, 51, 52, 60])
@pytest.mark.parametrize("name", ["pods", "actors", "objects", "manifests"])
def test_a_narrow_table_folds_only_what_may_be_folded(name: str, columns: int) -> None:
    text, sheet = drawn(SHEETS[name], columns=columns), SHEETS[name].shown(wide=False)
    whole = [place for place, each in enumerate(sheet.columns) if not each.is_folded]
    cells = {row[place] for row in sheet.rows for place in whole if row[place]}
    titles = {sheet.columns[place].title for place in whole}
    shown = {each.strip() for line in text.splitlines() for each in line.split("  ")}
    assert cells | titles <= shown


def test_a_row_that_has_no_room_is_broken_between_its_columns() -> None:
    assert drawn(SHEETS["pods"], columns=51).splitlines()[:6] == [
        "POD                                         READY",
        "    STATUS             RESTARTS     AGE",
        "default/logging-edge-1                      2/2",
        "    Running            0            15m",
        "default/loop-edge-1                         0/1",
        "    CrashLoopBackOff   8 (20s ago)  15m",
    ]
    assert drawn(SHEETS["pods"], columns=40).splitlines()[3:9] == [
        "default/logging-edge-1",
        "    2/2    Running",
        "    0            15m",
        "default/loop-edge-1",
        "    0/1    CrashLoopBackOff",
        "    8 (20s ago)  15m",
    ]


def test_further_lines_of_a_wide_row_stand_below_their_titles() -> None:
    columns = tuple(Column(title=each, is_wide=True) for each in ("NAME", "QOS", "UID"))
    screen = Screen()
    Drawing(screen, {"COLUMNS": "20", "NO_COLOR": "1"}).sheet(
        Sheet(columns=columns, rows=[("web", "Burstable", "0123456789"), ("db", "", "9876543210")]),
        wide=True,
    )
    assert screen.getvalue().splitlines() == [
        "NAME  QOS",
        "    UID",
        "web   Burstable",
        "    0123456789",
        "db",
        "    9876543210",
    ]


def test_pods_are_drawn_as_people_know_them() -> None:
    assert drawn(SHEETS["pods"], columns=80).splitlines()[:4] == [
        "POD                                   READY  STATUS             RESTARTS     AGE",
        "default/logging-edge-1                2/2    Running            0            15m",
        "default/loop-edge-1                   0/1    CrashLoopBackOff   8 (20s ago)  15m",
        "default/nightly-checksum-edge-1       0/1    Completed          0            15m",
    ]


def test_what_looks_like_markup_or_a_command_to_the_terminal_is_shown_as_it_is() -> None:
    text = drawn(ODD)
    assert "[red]web[/red] :smile:" in text
    assert "\\x1b[2Jgone" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("environment", "has_colours"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    environment: dict[str, str], *, has_colours: bool
) -> None:
    screen = Screen()
    Drawing(screen, environment).sheet(SHEETS["pods"])
    assert ("\x1b[" in screen.getvalue()) == has_colours
    # Somebody who has no terminal gets none in any case.
    assert "\x1b[" not in drawn(SHEETS["pods"], TERM="xterm")


@pytest.mark.parametrize("name", [each["metadata"]["name"] for each in body("pods")["items"]])
def test_every_pod_is_drawn_at_80_columns(name: str) -> None:
    why = [WhyNot("It " + "waits " * 40, "Wait " * 40)]
    known = PodEvidence(pod=pod(name), objects=body("watchz")["objects"], why=why)
    output = io.StringIO()
    draw_pod(Drawing(output, {"COLUMNS": "80"}), known, NOW, wide=False)
    lines = output.getvalue().splitlines()
    assert lines[0].startswith(f"{known.pod['metadata']['namespace']}/{name}: ")
    assert max(map(cell_len, lines)) <= 80


def test_what_happened_is_told_in_the_order_in_which_it_did() -> None:
    known = PodEvidence(pod=pod("loop-edge-1"))
    output = io.StringIO()
    draw_pod(Drawing(output, {}), known, NOW, wide=False)
    assert output.getvalue().splitlines()[-3:] == [
        "15m ago  taken by this node",
        "20s ago  container a started",
        "20s ago  container a ended with 3 (Error)",
    ]


def test_actors_of_pods_and_probes_are_one_row_while_they_are_well() -> None:
    actors = body("actorz")["actors"]
    names = [each["name"] for each in grouped(actors)]
    assert "pods/*" in names
    assert not [each for each in names if re.match(r"pods/[0-9a-f]", each)]
    # One that is not well is shown by itself.
    ill = next(each for each in actors if each["parent"] == "pods")
    ill.update(state="failed", lastError="ValueError: no")
    assert ill["name"] in [each["name"] for each in grouped(actors)]


@given(
    st.lists(st.tuples(st.text(), st.text()), max_size=5), st.integers(min_value=20, max_value=100)
)
def test_any_text_fits_any_terminal(rows: list[tuple[str, str]], columns: int) -> None:
    both = (Column(title="A", is_folded=True), Column(title="B", is_folded=True))
    text = drawn(Sheet(columns=both, rows=rows), columns=columns)
    assert all(cell_len(line) <= columns for line in text.splitlines())
