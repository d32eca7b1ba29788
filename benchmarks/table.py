"""Rows as a Markdown table, also readable as plain text: for terminals and for docs/numbers.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.row import Row

_HEADER = ("what", "measured", "target", "", "beside it", "ratio")
_VERDICTS = {True: "yes", False: "NO", None: ""}


def table(rows: Iterable[Row]) -> str:
    """Return ``rows`` as a table; the fourth column says whether the target is met."""
    lines = [_HEADER, *(_cells(row) for row in rows)]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(_HEADER))]
    header, *body = (_line(line, widths) for line in lines)
    return "\n".join([header, _line(["-" * width for width in widths], widths), *body])


def number(value: float) -> str:
    """Return ``value`` with three digits that count, and with commas where it is long."""
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 0.0995:
        return f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}"
    return f"{value:.2g}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        _measured(row),
        _target(row),
        _VERDICTS[row.is_met],
        _peer(row),
        "" if row.ratio is None else number(row.ratio),
    )


def _measured(row: Row) -> str:
    figures = ", ".join(f"{name} {number(value)}" for name, value in row.figures.items())
    return _with_unit(figures, row.unit)


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    sign = ">=" if row.target.at_least else "<="
    limit = f"{sign} {number(row.target.limit)}"
    if row.target.of_ratio:
        return f"ratio {limit}"
    return f"{row.judged} {_with_unit(limit, row.unit)}".strip()


def _peer(row: Row) -> str:
    if row.peer is None:
        return ""
    figure = row.peer.figure
    text = row.peer.name
    if figure is not None:
        text = f"{text}: {_with_unit(number(figure), row.unit)}"
    return text if row.peer.in_this_run else f"{text} (not in this run)"


def _with_unit(text: str, unit: str) -> str:
    return text + unit if unit in {"%", "/s"} else f"{text} {unit}".strip()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
