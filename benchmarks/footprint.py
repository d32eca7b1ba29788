"""What the agent costs while nothing happens: memory, processor time, and the scans."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.agent import Agent, joining, pause, wait_until
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.clusters import running_cluster
from benchmarks.pods import manifest
from benchmarks.row import WORST, Peer, Row, Target, spread, tail
from files.looking.directory import look
from files.looking.found import Listed
from files.verdicts.judging import judge
from files.verdicts.state import FileState
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.refusals import Refused
from messages.pods import FILE, Pod
from messages.units import Timestamp
from tests.support.apiserver.users import ADMIN

_MB = 1e6
_NAMES = [f"pod-{number}" for number in range(10)]
_ENDPOINTS = ("/pods", "/metrics", "/sourcez", "/actorz", "/configz", "/healthz?verbose")
_KUBELET = Peer("kubelet 1.20, 1 pod", 78.0, in_this_run=False)
_RULES = ManifestRules(node_name="node1", source=FILE)


def memory_rows(*, quick: bool) -> list[Row]:
    """Return the resident memory of agents that were asked everything there is, many times."""
    times = 1 if quick else 3
    alone = [_resident_bytes() / _MB for _ in range(times)]
    rows = [_memory_row("resident memory, 10 pods, after 120 requests", alone, Target(60.0))]
    with running_cluster() as cluster:
        if cluster is not None:
            flags = joining(cluster.kubeconfig(ADMIN))
            joined = [_resident_bytes(*flags) / _MB for _ in range(times)]
            what = "resident memory when joined, 10 pods and their mirrors, after 120 requests"
            rows.append(_memory_row(what, joined, Target(75.0)))
    return rows


def _memory_row(what: str, megabytes: list[float], target: Target) -> Row:
    return Row(
        what=what,
        unit="MB",
        figures=spread(megabytes),
        samples=len(megabytes),
        target=target,
        judged=WORST,
        peer=_KUBELET,
    )


def _resident_bytes(*flags: str) -> int:
    with Agent(*flags, pods=_NAMES) as agent:
        agent.wait_ready()
        if flags:
            wait_until(partial(_shows_mirrors, agent), poll_every=0.05)
        for _ in range(20):
            for path in _ENDPOINTS:
                assert agent.status(path) == 200, path
        return agent.resident_bytes()


def _shows_mirrors(agent: Agent) -> bool:
    # Each is counted as wanted, and again as present.
    return agent.metric("actorlet_mirrors") == 2 * len(_NAMES)


def idle_rows(*, quick: bool) -> list[Row]:
    """Return the processor time of an agent that is left alone, scans and watch included."""
    window = 2.0 if quick else 8.0
    with Agent(pods=_NAMES) as agent:
        agent.wait_ready()
        pause(2.5)  # past the time in which young files are read again
        shares = [_cpu_percent(agent, window) for _ in range(1 if quick else 2)]
    row = Row(
        what="processor time of an idle agent, 10 pods",
        unit="%",
        figures=spread(shares),
        samples=len(shares),
    )
    return [row, *_scan_rows(quick=quick)]


def _cpu_percent(agent: Agent, window: float) -> float:
    began, before = perf_counter(), agent.cpu_seconds()
    pause(window)
    return (agent.cpu_seconds() - before) / (perf_counter() - began) * 100


def _scan_rows(*, quick: bool) -> list[Row]:
    files, rounds = (200, 20) if quick else (1_000, 200)
    scans, stats = apart(scan_seconds, files=files, rounds=rounds)
    row = Row(
        what=f"scan of {files:,} unchanged manifests",
        unit="ms",
        figures=tail(scans, 1e3),
        samples=len(scans),
        peer=Peer("os.stat of each", median(stats) * 1e3),
    )
    return [row]


def scan_seconds(*, files: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return the times of scans of unchanged files, and of nothing but a ``stat`` of each file."""
    behave_like_the_agent()
    with TemporaryDirectory() as name:
        directory = Path(name)
        for number in range(files):
            (directory / f"pod-{number}.yaml").write_bytes(manifest(f"pod-{number}"))
        # Seen from the year 2100, when these files have settled.
        scan = _Scan(directory, Timestamp(4102444800.0))
        scan.round()
        assert len(scan.state.served or ()) == files
        paths = sorted(directory.iterdir())
        scans, stats = [], []
        for _ in range(rounds):
            scans.append(scan.round())
            stats.append(_stat_all(paths))
        return scans, stats


class _Scan:
    """What the file source does at each scan, without its mailbox."""

    def __init__(self, directory: Path, now: Timestamp) -> None:
        self._directory = directory
        self._now = now
        self._listed: Listed | None = None
        self.state: FileState[Pod] = FileState()

    def round(self) -> float:
        """Look and judge; return how long it took."""
        began = perf_counter()
        listing = look(self._directory, now=self._now, previous=self._listed)
        judgement = judge(self.state, listing, _decode, now=self._now, clear_on_missing=False)
        took = perf_counter() - began
        assert isinstance(listing, Listed)
        self._listed, self.state = listing, judgement.state
        return took


def _decode(data: bytes) -> Decoded | Refused:
    return decode_manifest(data, _RULES)


def _stat_all(paths: list[Path]) -> float:
    began = perf_counter()
    for path in paths:
        path.stat()
    return perf_counter() - began
