"""What many probes cost, beside the least that it takes and beside a client of HTTP, in the same run."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.agent import pause
from benchmarks.row import WORST, Peer, Row, Target, spread
from benchmarks.sidekick import Sidekick

_PROBES = 1_000
_FIELDS = {"http": "httpGet", "tcp": "tcpSocket"}
_SETTLED_AFTER = 2.5
"""Seconds until each has been carried out, and the first ones are no longer spread."""


class _Run(NamedTuple):
    """One measured window."""

    percent: float
    """Of a core, for as many as there should be: who is too slow for them does not look cheap."""
    per_second: float
    late: int
    worst: float
    """Lateness in ms."""
    failed: int


def probe_rows(*, quick: bool) -> list[Row]:
    """Return processor time and lateness of probes once a second, and the memory of each."""
    window, rounds = (2.0, 1) if quick else (10.0, 3)
    runs: dict[tuple[str, str], list[_Run]] = {}
    with Sidekick("benchmarks.probe_target") as target:
        port = str(target.hear()["port"])
        for _ in range(rounds):
            for who, kind in (
                ("ours", "http"),
                ("bare", "http"),
                ("aiohttp", "http"),
                ("ours", "tcp"),
                ("bare", "tcp"),
            ):
                runs.setdefault((who, kind), []).append(_measured(who, kind, port, window))
        memory = {kind: _memory(kind, port) for kind in ("http", "tcp")}
    return [*_http_rows(runs), *_tcp_rows(runs), *_memory_rows(memory)]


def _measured(who: str, kind: str, port: str, window: float) -> _Run:
    with Sidekick("benchmarks.probers", who, kind, port, str(_PROBES)) as prober:
        pause(_SETTLED_AFTER)
        began, before = perf_counter(), prober.ask("")
        pause(window)
        after, took = prober.ask(""), perf_counter() - began

    def more(name: str) -> Any:
        return after[name] - before[name]

    run = _Run(
        percent=100 * more("cpu") / more("begun") * _PROBES,
        per_second=more("begun") / took,
        late=more("late"),
        worst=after["worst"] * 1e3,
        failed=more("failed"),
    )
    assert who != "ours" or run.per_second > 0.95 * _PROBES, "we did not keep up"
    return run


def _memory(kind: str, port: str) -> float:
    with Sidekick("benchmarks.probers", "memory", kind, port, str(_PROBES)) as prober:
        pause(2 * _SETTLED_AFTER)
        return float(prober.ask("")["bytes_each"])


def _http_rows(runs: dict[tuple[str, str], list[_Run]]) -> list[Row]:
    ours, what = runs["ours", "http"], f"{_PROBES:,} httpGet probes a second"
    bare, client = (_median(runs[who, "http"]) for who in ("bare", "aiohttp"))
    figures = spread([each.percent for each in ours])
    return [
        Row(
            what=f"processor time of {what}",
            unit="%",
            figures=figures,
            samples=len(ours),
            target=Target(20.0),
            judged=WORST,
            peer=Peer("a bare epoll loop", bare),
        ),
        Row(
            what=f"processor time of {what}, beside a client",
            unit="%",
            figures=figures,
            samples=len(ours),
            peer=Peer("aiohttp", client),
        ),
        Row(
            what=f"{what} that began more than 100 ms late",
            unit="",
            figures={"probes": sum(each.late for each in ours)},
            samples=_begun(ours),
            target=Target(0.0),
            peer=Peer("aiohttp", sum(each.late for each in runs["aiohttp", "http"])),
        ),
        Row(
            what=f"lateness of {what}: the worst",
            unit="ms",
            figures=spread([each.worst for each in ours]),
            samples=_begun(ours),
            peer=Peer("a bare epoll loop", max(each.worst for each in runs["bare", "http"])),
        ),
        Row(
            what=f"{what} of a healthy target that failed",
            unit="",
            figures={"probes": sum(each.failed for each in ours)},
            samples=_begun(ours),
            target=Target(0.0),
        ),
    ]


def _tcp_rows(runs: dict[tuple[str, str], list[_Run]]) -> list[Row]:
    ours = runs["ours", "tcp"]
    return [
        Row(
            what=f"processor time of {_PROBES:,} tcpSocket probes a second",
            unit="%",
            figures=spread([each.percent for each in ours]),
            samples=len(ours),
            target=Target(15.0),
            judged=WORST,
            peer=Peer("a bare epoll loop", _median(runs["bare", "tcp"])),
        )
    ]


def _memory_rows(memory: dict[str, float]) -> list[Row]:
    return [
        Row(
            what=f"memory of each {_FIELDS[kind]} probe, with what is in progress",
            unit="kB",
            figures={"each": each / 1e3},
            samples=_PROBES,
            target=Target(5.0),
        )
        for kind, each in memory.items()
    ]


def _median(runs: list[_Run]) -> float:
    return spread([each.percent for each in runs])["median"]


def _begun(runs: list[_Run]) -> int:
    return round(sum(each.per_second for each in runs))
