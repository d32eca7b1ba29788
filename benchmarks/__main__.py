"""The command line: measures, prints the table, writes the JSON."""

from __future__ import annotations

import compileall
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import click

from benchmarks.agent import ROOT
from benchmarks.commands import command_rows
from benchmarks.deleting import deletion_rows
from benchmarks.doors import door_rows
from benchmarks.editing import edit_rows
from benchmarks.exhausting import exhaust_rows
from benchmarks.footprint import idle_rows, memory_rows
from benchmarks.hollow_meanwhile import meanwhile_rows
from benchmarks.hollow_pods import hollow_pod_rows, hollow_rows
from benchmarks.joining import bound_rows, many_bound_rows
from benchmarks.machine import load, machine
from benchmarks.many_files import many_files_rows
from benchmarks.merging import merge_rows
from benchmarks.messaging import actors_rows
from benchmarks.noticing import notify_rows, scan_rows
from benchmarks.paging import page_rows
from benchmarks.probed_pods import probed_pod_rows
from benchmarks.probing import probe_rows
from benchmarks.real_pods import bound_real_pod_rows, real_pod_rows
from benchmarks.recovery import crash_rows
from benchmarks.refusing import refused_rows
from benchmarks.restarting import restart_rows
from benchmarks.row import Row
from benchmarks.soaking import soak_rows
from benchmarks.starting import start_rows, thousand_rows
from benchmarks.status_writing import status_rows
from benchmarks.storms import cut_rows
from benchmarks.swapping import swap_rows
from benchmarks.table import table
from benchmarks.top import top_rows
from benchmarks.unread import unread_rows
from benchmarks.url_lists import url_list_rows
from benchmarks.volumes import volume_rows
from benchmarks.waiting import waiting_rows
from benchmarks.watching import watched_rows

PRODUCT = (
    "actors",
    "agent",
    "command",
    "files",
    "kernel",
    "kube",
    "manifests",
    "messages",
    "runtimes",
    "server",
    "settings",
    "sources",
    "stores",
)
LATEST = Path(__file__).parent / "results" / "latest.json"


class Subject(Protocol):
    """What can be measured by itself."""

    def __call__(self, *, quick: bool) -> list[Row]:
        """Measure and return the rows."""
        ...


SUBJECTS: dict[str, Subject] = {
    "start": start_rows,
    "memory": memory_rows,
    "notify": notify_rows,
    "scan": scan_rows,
    "thousand": thousand_rows,
    "many-files": many_files_rows,
    "swaps": swap_rows,
    "descriptors": exhaust_rows,
    "merge": merge_rows,
    "url-list": url_list_rows,
    "actors": actors_rows,
    "waiting": waiting_rows,
    "restart": restart_rows,
    "crash": crash_rows,
    "idle": idle_rows,
    "hollow": hollow_rows,
    "hollow-pod": hollow_pod_rows,
    "hollow-meanwhile": meanwhile_rows,
    "containers": real_pod_rows,
    "containers-bound": bound_real_pod_rows,
    "status": status_rows,
    "deletions": deletion_rows,
    "bound": bound_rows,
    "bound-many": many_bound_rows,
    "edits": edit_rows,
    "watched": watched_rows,
    "unread": unread_rows,
    "volumes": volume_rows,
    "cut": cut_rows,
    "refused": refused_rows,
    "probes": probe_rows,
    "probed": probed_pod_rows,
    "top": top_rows,
    "commands": command_rows,
    "page": page_rows,
    "door": door_rows,
    "soak": soak_rows,
}
ON_REQUEST = {"soak"}
"""Subjects that take minutes, and are measured when they are asked for."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(SUBJECTS)),
    help="Measure this alone; may be repeated. The soak only runs when it is asked for.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=LATEST,
    help="Where the results go [benchmarks/results/latest.json].",
)
@click.option("--quick", is_flag=True, help="Few repetitions, small sizes: to see that it works.")
def main(only: Sequence[str], path: Path, *, quick: bool) -> None:
    """Measure the agent, and say where a number misses its target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not quick:
        _compile()
    began = datetime.now(UTC)
    results: dict[str, Any] = {"machine": machine(), "began": began.isoformat(timespec="seconds")}
    results |= {"quick": quick, "loadBefore": round(load(), 2)}
    rows: list[Row] = []
    for name, measured in _measured(only or _usual(), quick=quick):
        results.setdefault("rows", []).extend(_document(name, row) for row in measured)
        rows += measured
    results["loadAfter"] = round(load(), 2)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"\n{_circumstances(results)}")


def _compile() -> None:
    """Have the bytecode that every installation has: an agent without it compiles itself at each start."""
    for package in PRODUCT:
        compileall.compile_dir(ROOT / package, quiet=1)


def _usual() -> list[str]:
    return [name for name in SUBJECTS if name not in ON_REQUEST]


def _measured(names: Sequence[str], *, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    for name in names:
        began = perf_counter()
        print(f"{name} ...", end="", file=sys.stderr, flush=True)
        yield name, SUBJECTS[name](quick=quick)
        print(f" {perf_counter() - began:.1f} s", file=sys.stderr)


def _document(subject: str, row: Row) -> dict[str, Any]:
    return {
        "subject": subject,
        **asdict(row),
        "target": row.target and row.target._asdict(),
        "peer": row.peer and row.peer._asdict(),
        "met": row.is_met,
        "ratio": row.ratio,
    }


def _circumstances(results: dict[str, Any]) -> str:
    of = results["machine"]
    sentences = [
        "Ratio: the first figure measured, divided by the one beside it.",
        f"{of['cpu']}, {of['cores']} cores, {of['memoryGiB']} GiB, Linux {of['kernel']}, {of['python']};",
        f"load {results['loadBefore']} before, {results['loadAfter']} after.",
    ]
    if results["quick"]:
        sentences.append("Quick: too few samples to be believed.")
    return " ".join(sentences)


if __name__ == "__main__":
    main()
