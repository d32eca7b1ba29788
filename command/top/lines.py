"""Lines of a screen: pieces of plain text with tones, cut and filled to a width in cells. Pure.

The first ones say how the agent is, where, and what it takes. A name may hold anything. ``plain`` writes what
a terminal would obey as escapes, and nothing here is markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size

from command.reading import Document, count, flag, number, part, parts, runtime_style, text
from command.tables import BAD, DOUBTFUL, FAINT, GOOD, Sheet, tone
from command.top.state import TopState
from command.wording import counted, plain, span

BOLD = "bold"
CHOSEN = "chosen"
"""The tone of the row that keys act upon."""
BAR = "bar"
"""The tone of lines that stand for keys and lists."""
GAP = 2
"""Cells between two columns."""
LONGEST = 2_000
"""Characters of a text that are looked at: no screen has room for more."""


class LinePiece(NamedTuple):
    """A piece of a line."""

    text: str
    tone: str = ""


Line: TypeAlias = tuple[LinePiece, ...]


def line(text: str, tone_of_it: str = "") -> Line:
    """Return a line of one piece."""
    return (LinePiece(plain(text[:LONGEST]), tone_of_it),)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells; ``…`` stands for what is left out."""
    shown = plain(text[:LONGEST])
    if cell_len(shown) <= width:
        return shown
    return f"{set_cell_size(shown, width - 1).rstrip()}…" if width > 0 else ""


def filled(text: str, width: int, *, is_right: bool = False) -> str:
    """Return ``text`` in exactly ``width`` cells."""
    shown = cut(text, width)
    space = " " * (width - cell_len(shown))
    return f"{space}{shown}" if is_right else f"{shown}{space}"


def wide(text: str) -> int:
    """Return how many cells ``text`` takes."""
    return cell_len(plain(text[:LONGEST]))


def wrapped(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` cells, broken between words where that is possible."""
    lines = [""]
    for word in plain(text[:LONGEST]).split(" "):
        pieces = chop_cells(word, max(1, width)) or [""]
        for place, piece in enumerate(pieces):
            joined = f"{lines[-1]} {piece}" if place == 0 and lines[-1] else piece
            if place == 0 and cell_len(joined) <= width:
                lines[-1] = joined
            else:
                lines.append(piece)
    return [each for each in lines if each] or [""]


def item(text: str, width: int, tone_of_it: str = "", mark: str = "- ") -> Iterator[Line]:
    """Yield ``text`` behind a mark, in as many lines as it takes."""
    for place, each in enumerate(wrapped(text, width - len(mark))):
        yield (LinePiece(mark if place == 0 else " " * len(mark)), LinePiece(each, tone_of_it))


def sheet_lines(sheet: Sheet, width: int) -> Iterator[Line]:
    """Yield a table in lines of at most ``width`` cells. Columns that are folded take several lines."""
    shown = sheet.shown(wide=False)
    widths = _widths(shown, width)
    yield tuple(
        LinePiece(filled(column.title, size) + " " * GAP, "dim")
        for column, size in zip(shown.columns, widths, strict=True)
    )
    for row in shown.rows:
        folded = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for place in range(max(map(len, folded))):
            yield tuple(
                LinePiece(
                    filled(cell[place] if place < len(cell) else "", size, is_right=column.is_right)
                    + " " * GAP,
                    tone(whole) if column.is_toned else "",
                )
                for cell, size, column, whole in zip(
                    folded, widths, shown.columns, row, strict=True
                )
            )


def _widths(sheet: Sheet, width: int) -> list[int]:
    natural = [
        max([len(column.title), *(wide(row[place]) for row in sheet.rows)])
        for place, column in enumerate(sheet.columns)
    ]
    least = [
        min(size, max(len(column.title), 14)) if column.is_folded else size
        for size, column in zip(natural, sheet.columns, strict=True)
    ]
    return shared(natural, least, width - GAP * len(natural))


def shared(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that want ``natural``, and need ``least``, where there is ``room``.

    What is left beyond the least goes to the first ones first, and to each no more than it wants. Where
    there is not even that much, the widest ones give.
    """
    widths = list(least)
    left = room - sum(widths)
    for place, wish in enumerate(natural):
        more = min(max(0, left), wish - widths[place])
        widths[place] += more
        left -= more
    while sum(widths) > max(room, len(widths)):
        widths[max(range(len(widths)), key=widths.__getitem__)] -= 1
    return widths


def text_of(lines: Iterable[Line]) -> str:
    """Return what people read, without tones."""
    return "\n".join("".join(span.text for span in each).rstrip() for each in lines)


def agent_lines(state: TopState) -> list[Line]:
    """Return what is said of the agent: three lines, and one more for each thing that is wrong.

    A list of the past has one that says how far back it goes.
    """
    width = state.width
    lines = [_first(state), _second(state), *_runtime(part(state.agent, "runtime"), width)]
    said = state.connection.sentence(state.now)
    if said:
        lines += [(LinePiece(each, DOUBTFUL),) for each in wrapped(said, width)[:2]]
    lines += [(LinePiece(cut(each, width), BAD),) for each in list(troubles(state.agent))[:2]]
    if due := text(state.agent, "version", "advice"):
        lines += [(LinePiece(cut(f"actorlet {due}.", width), DOUBTFUL),)]
    if (reach := state.current.page.reach) and state.detail is None:
        lines += [(LinePiece(cut(f"{reach}.", width), FAINT),)]
    return lines


def _first(state: TopState) -> Line:
    word = state.connection.word()
    node = text(state.agent, "node")
    left = [
        LinePiece("actorlet", BOLD),
        LinePiece(f" {node} " if node else " "),
        *_verdict(state.agent),
    ]
    right = f"{state.connection.server} {word}"
    room = state.width - sum(wide(each.text) for each in left) - wide(right)
    if room < 1:
        right, room = word, state.width - sum(wide(each.text) for each in left) - wide(word)
    return (
        *(LinePiece(plain(each.text), each.tone) for each in left),
        LinePiece(" " * max(1, room) + plain(right), GOOD if word == "live" else DOUBTFUL),
    )


def _verdict(agent: Document) -> Iterator[LinePiece]:
    if not agent:
        return
    for word, name in (("ready", "readiness"), ("healthy", "health")):
        is_so = flag(agent, name, "ok")
        yield LinePiece(f" {word if is_so else f'not {word}'}", GOOD if is_so else BAD)


def _second(state: TopState) -> Line:
    agent = state.agent
    if not agent:
        return (LinePiece(""),)
    said = [
        *_pods(part(agent, "pods")),
        *_to_look_at(agent),
        *_process(state),
        *_sources(agent),
        *_cluster(agent),
    ]
    line = cut(said[0], state.width) if said else ""
    for each in said[1:]:
        if wide(line) + 2 + wide(each) <= state.width:
            line += f"  {each}"
    return (LinePiece(line),)


def _runtime(runtime: Document, width: int) -> Iterator[Line]:
    if said := text(runtime, "text"):
        yield (LinePiece(cut(f"runtime {said}", width), runtime_style(runtime)),)


def _pods(counts: Document) -> Iterator[str]:
    if "total" not in counts:
        return
    numbers = part(counts, "phases").items()
    known = [(many, str(phase)) for phase, many in numbers if isinstance(many, int)]
    phases = ", ".join(f"{many:,} {phase}" for many, phase in sorted(known, reverse=True))
    total = count(counts, "total")
    yield f"pods {total:,}{phases and f': {phases}'}"


def _to_look_at(agent: Document) -> Iterator[str]:
    pods = count(part(agent, "pods"), "troubled")
    manifests = sum(count(each, "troubled") for each in parts(agent, "sources"))
    told = [counted(many, what) for many, what in ((pods, "pod"), (manifests, "manifest")) if many]
    if told:
        yield f"{', '.join(told)} to look at"


def _sources(agent: Document) -> Iterator[str]:
    sources = parts(agent, "sources")
    ready = sum(flag(each, "ready") for each in sources)
    yield f"sources {ready}/{len(sources)}"


def _cluster(agent: Document) -> Iterator[str]:
    checks = parts(agent, "cluster")
    if checks:
        yield f"API server {'ok' if all(flag(each, 'ok') for each in checks) else 'not ok'}"


def _process(state: TopState) -> Iterator[str]:
    process = part(state.agent, "process")
    if state.cpu_percent is not None:
        yield f"cpu {state.cpu_percent:.0f}%"
    if resident := number(process, "residentBytes"):
        yield f"mem {resident / 2**20:,.0f}M"
    if (age := number(process, "ageSeconds")) is not None:
        yield f"up {span(age)}"
    if version := text(state.agent, "version", "running"):
        yield f"version {version}"


def troubles(agent: Document) -> Iterator[str]:
    """Yield what keeps the agent from being ready or healthy, and what of the API server fails."""
    for name in ("readiness", "health", "cluster"):
        checks = parts(agent, name) if name == "cluster" else parts(agent, name, "checks")
        for each in checks:
            if not flag(each, "ok"):
                yield f"{text(each, 'name')}: {text(each, 'text') or 'failed'}"
