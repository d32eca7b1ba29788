"""How long others wait while ten thousand hollow pods start: another pooled actor, and the control thread.

In a process of its own, which asks both from a thread of its own, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from actors.events.feed_parts import EVENT_FEED
from actors.pods.status_keeper import STATUS_KEEPER
from agent.app import Agent
from benchmarks.agent import GIVE_UP_AFTER, pause, wait_until
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.hollow_pods import MANY, PodList, small_pod
from benchmarks.row import P99, Row, Target, tail
from kernel import ActorSystem, Port
from messages.event_feed import DescribeFeed, FeedDescribed
from messages.pods import PodPhase
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.units import Seconds
from server.actor import Listeners
from settings.command_line import parse
from settings.load import settings_of

_PATIENCE = Seconds(GIVE_UP_AFTER)


class Waits(NamedTuple):
    """In seconds, one for each question."""

    pooled: list[float]
    """Until an idle pooled actor has answered."""
    control: list[float]
    """Until the thread of supervisors and timers has answered."""


def meanwhile_rows(*, quick: bool) -> list[Row]:
    """Return how long others wait while hollow pods start by the thousand."""
    pods = 1_000 if quick else MANY
    documents = [small_pod(f"load-{number}") for number in range(pods)]
    with PodList(documents) as pod_list:
        waits = apart(waits_while_they_start, pod_list.url, pods)
    what = f"{pods:,} hollow pods start: "
    return [
        _row(f"{what}question to another pooled actor until its answer", waits.pooled, 30.0),
        _row(f"{what}question to the control thread until its answer", waits.control, 50.0),
    ]


def waits_while_they_start(url: str, pods: int) -> Waits:
    """Return the waits from the start of an agent on the list at ``url`` until all its pods run."""
    behave_like_the_agent()
    waits = Waits([], [])
    with TemporaryDirectory(prefix="actorlet-bench-") as folder:
        flags = (f"--manifest-url={url}", "--runtime=hollow", f"--root-dir={Path(folder)}")
        agent = Agent(settings_of(parse(flags), [], hostname="node1"), Listeners())
        system = agent.system
        system.start()

        def all_run() -> bool:
            for _ in range(50):
                waits.pooled.append(_timed(lambda: _ask_feed(system)))
                waits.control.append(_timed(lambda: system.ping(_PATIENCE)))
                pause(0.002)
            return _running(system) == pods

        wait_until(all_run, 0.0, 120.0)
        system.stop()
        assert system.wait(_PATIENCE) == 0
    return waits


def _ask_feed(system: ActorSystem) -> None:
    def question(reply_to: Port[FeedDescribed]) -> DescribeFeed:
        return DescribeFeed(reply_to=reply_to)

    system.ask(system.address(EVENT_FEED), question, _PATIENCE)


def _running(system: ActorSystem) -> int:
    def question(reply_to: Port[StatusesDescribed]) -> DescribeStatuses:
        return DescribeStatuses(reply_to=reply_to)

    found = system.ask(system.address(STATUS_KEEPER), question, _PATIENCE)
    return sum(each.phase is PodPhase.RUNNING for each in found.statuses.values())


def _timed(ask: Callable[[], object]) -> float:
    began = perf_counter()
    ask()
    return perf_counter() - began


def _row(what: str, waits: list[float], limit: float) -> Row:
    return Row(
        what=what,
        unit="ms",
        figures=tail(waits, 1e3),
        samples=len(waits),
        target=Target(limit),
        judged=P99,
    )
