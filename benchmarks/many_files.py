"""What an agent costs, and how it answers, with more manifests than any node has."""

from __future__ import annotations

from time import perf_counter

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.row import WORST, Row, Target, spread

_GIVE_UP_AFTER = 240.0
_SECONDS_OF = r'actorlet_message_seconds_{kind}{{actor="source"{more}}} (\S+)'


def many_files_rows(*, quick: bool) -> list[Row]:
    """Return the time to start, the processor time when idle, and the long handlers of the file source."""
    manifests = 2_000 if quick else 20_000
    names = {f"pod-{number}" for number in range(manifests)}
    agent = Agent(pods=names)
    began = perf_counter()
    with agent:
        wait_until(lambda: agent.status("/readyz") == 200, 0.05, _GIVE_UP_AFTER)
        # Seldom: an answer of this size holds up every thread of the agent while it is made.
        wait_until(lambda: agent.pod_names() == names, 1.0, _GIVE_UP_AFTER)
        started = perf_counter() - began
        pause(2.5 if quick else 10.0)  # the log has a line for each, and their contents are kept
        shares = [_cpu_percent(agent, 2.0 if quick else 20.0) for _ in range(1 if quick else 3)]
        handled, quick_ones = agent.samples(
            _SECONDS_OF.format(kind="count", more=""),
            _SECONDS_OF.format(kind="bucket", more=',le="0.1"'),
        )
        assert handled, "the metrics have another name for the sources"
    size = f"{manifests:,} manifests"
    return [
        Row(
            what=f"{size} at start, until all are in /pods",
            unit="s",
            figures=spread([started]),
            samples=1,
        ),
        Row(
            what=f"processor time of an idle agent, {size}",
            unit="%",
            figures=spread(shares),
            samples=len(shares),
            target=Target(5.0),
            judged=WORST,
        ),
        Row(
            what=f"messages of the file source that took over 100 ms, {size}",
            unit="",
            figures={"messages": handled - quick_ones},
            samples=round(handled),
            target=Target(0.0),
        ),
    ]


def _cpu_percent(agent: Agent, window: float) -> float:
    began, before = perf_counter(), agent.cpu_seconds()
    pause(window)
    return (agent.cpu_seconds() - before) / (perf_counter() - began) * 100
