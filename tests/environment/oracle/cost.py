"""What a node costs at rest: an hour as much as the one before, and a change as much as in a fresh node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tests.environment.node import Node

BETWEEN: Final = 0.0007
"""Seconds by which a while begins beside what is due again and again. Of a timer that is due in the very
moment in which a while ends, rounding decides whether it counts.
"""
LOOKS: Final = frozenset({"ListContainers", "ListPodSandbox"})
MOST_LOOKS: Final = 4
"""At a new pod with one container: the runtime tells that a sandbox and it are created and started."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a while has cost."""

    calls: Mapping[str, int]
    """By method."""
    jobs: int
    """Of the disk."""
    timers: int
    """That there are at its end."""
    asked: int
    """Requests to the API server and to the URL."""


@dataclass(frozen=True, slots=True)
class CostOfChange:
    """What a while with a change has cost more than as long a while without."""

    calls: Mapping[str, int]
    """By method."""
    jobs: int
    timers: int


def cost_of(node: Node, seconds: float) -> Cost:
    """Let time pass, and return what it has cost."""
    calls, jobs = node.runtime.work()
    asked = node.asked
    node.advance(seconds)
    jobs_then = node.runtime.work()[1]
    methods = Counter(method for method, _ in node.service.asked[calls:])
    return Cost(methods, jobs_then - jobs, node.timers(), node.asked - asked)


def dearer(node: Node, first: Cost, then: Cost) -> Iterator[str]:
    """Yield what a while at rest has cost more than as long a while before it, or less."""
    calls, before = sum(then.calls.values()), sum(first.calls.values())
    if calls != before:
        yield f"a while at rest has {calls} calls, the one before {before}"
    if then.jobs != first.jobs:
        yield f"a while at rest has {then.jobs} jobs of the disk, the one before {first.jobs}"
    if then.asked > first.asked * 1.02 + 4:
        yield f"a while at rest has {then.asked} requests, the one before {first.asked}"
    if abs(then.timers - first.timers) > drawn_timers(node):
        yield f"after a while at rest there are {then.timers} timers, before it {first.timers}"


def cost_of_change(
    node: Node, change: Callable[[], None], before: Cost, seconds: float
) -> CostOfChange:
    """Have something changed, let time pass, and return what the change has cost.

    ``before`` is what the while until now has cost, of so many seconds, too.
    """
    calls, jobs = node.runtime.work()
    node.advance(BETWEEN)
    change()
    node.advance(seconds - BETWEEN)
    more = Counter(method for method, _ in node.service.asked[calls:])
    more.subtract(before.calls)
    return CostOfChange(
        {method: count for method, count in more.items() if count},
        node.runtime.work()[1] - jobs - before.jobs,
        node.timers() - before.timers,
    )


def unlike_fresh(node: Node, aged: CostOfChange, fresh: CostOfChange) -> Iterator[str]:
    """Yield what a change costs otherwise than in a fresh node.

    That may ask again about an image which the aged one knows. Looks may be one for several events.
    """
    for method in sorted(aged.calls.keys() | fresh.calls.keys()):
        calls, there = aged.calls.get(method, 0), fresh.calls.get(method, 0)
        may_be_less = method in LOOKS or method == "ImageStatus"
        most = MOST_LOOKS if method in LOOKS else there
        if calls > most or (calls < there and not may_be_less):
            yield f"a new pod costs {calls} calls of {method}, in a fresh node {there}"
    if aged.jobs != fresh.jobs:
        yield f"a new pod costs {aged.jobs} jobs of the disk, in a fresh node {fresh.jobs}"
    if abs(aged.timers - fresh.timers) > drawn_timers(node):
        yield f"a new pod costs {aged.timers} timers, in a fresh node {fresh.timers}"


def drawn_timers(node: Node) -> int:
    """Return by how many timers one moment may differ from another.

    In a cluster it is drawn when the Lease is renewed and when a watch begins anew. So requests differ, too.
    """
    return 0 if node.cluster is None else 2
