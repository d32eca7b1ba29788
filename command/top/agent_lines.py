"""The first lines of the screen: how the agent is, where, and what it takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from command.health_checks import runtime_style
from command.reading import Document, count, flag, number, part, parts, text
from command.tables import BAD, DOUBTFUL, FAINT, GOOD
from command.top.lines import BOLD, Line, LinePiece, cut, wide, wrapped
from command.top.state import TopState
from command.wording import counted, plain, span


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
