"""What a node costs at rest: a while as much as the one before, and a change as much as in a fresh node.

Both are exact, but for what the agent draws by chance: when it renews its Lease and tells the Node's status.
So of these requests one more or less may be in a while, and one may be under way when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from actors.node.lease_keeper import LEASE_KEEPER
from actors.node.registrar import NODE_REGISTRAR
from kube.calls.actor import API_CALLS
from tests.environment.node import Node

BETWEEN: Final = 0.0007
"""Seconds by which a while begins beside what is due again and again. Of a timer that is due in the very
moment in which a while ends, rounding decides whether it counts.
"""
LOOKS: Final = frozenset({"ListContainers", "ListPodSandbox", "observe"})
"""A look that something has asked for puts off those that are due each second, of a class: so there may be
one more or less of them.
"""
MOST_LOOKS: Final = 4
"""At a new pod with one container: the runtime tells that a sandbox and it are created and started."""
DRAWN: Final = frozenset({"UPDATE leases", "PATCH nodes"})
"""Requests whose times are drawn."""
DRAW: Final = frozenset({API_CALLS.path, LEASE_KEEPER.path, NODE_REGISTRAR.path})
"""The actors that draw them, and who sends them: they have messages and timers for each."""
MORE_OR_LESS: Final = 2
"""So many of the requests that are drawn may be in one while and not in another."""
PER_REQUEST: Final = 2
"""Messages that a request costs who sends it: that it is to be sent, and that it is answered."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a while has cost."""

    calls: Mapping[str, int]
    """By method; and jobs of the disk."""
    asked: Mapping[str, int]
    """Requests to the API server and to the URL, by what they ask for."""
    handled: Mapping[str, int]
    """Messages, by actor."""
    timers: Mapping[str, int]
    """That there are at its end, by actor and what is due."""


@dataclass(frozen=True, slots=True)
class CostOfChange:
    """What a while with a change has cost more than as long a while without."""

    calls: Mapping[str, int]
    timers: Mapping[str, int]
    rewritten: frozenset[str] = frozenset()
    """The records of pods that were there before and are another file now."""


def cost_of(node: Node, seconds: float) -> Cost:
    """Let time pass, and return what it has cost."""
    calls, asked, handled = node.runtime.work(), node.asked, node.handled()
    node.advance(seconds)
    return Cost(
        node.runtime.work() - calls, node.asked - asked, node.handled() - handled, node.timers()
    )


def dearer(first: Cost, then: Cost) -> Iterator[str]:
    """Yield what a while at rest has cost more than as long a while before it, or less."""
    for method, now, before in unlike(then.calls, first.calls):
        yield f"a while at rest has {now} of {method}, the one before {before}"
    for what, now, before in unlike(then.asked, first.asked):
        if what not in DRAWN or abs(now - before) > MORE_OR_LESS:
            yield f"a while at rest has {now} requests to {what}, the one before {before}"
    for actor, now, before in unlike(then.handled, first.handled):
        if actor not in DRAW:
            yield f"a while at rest costs {actor} {now} messages, the one before {before}"
    for timer, now, before in unlike(then.timers, first.timers):
        if timer.partition(" ")[0] not in DRAW or abs(now - before) > 1:
            yield f"after a while at rest there are {now} timers of {timer}, before it {before}"
    yield from _dear_requests(then)


def _dear_requests(cost: Cost) -> Iterator[str]:
    """Yield what the requests to the API server have cost more than that they are sent and answered."""
    asked = sum(count for what, count in cost.asked.items() if what not in {"URL", "LIST"})
    handled = cost.handled.get(API_CALLS.path, 0)
    if abs(handled - asked * PER_REQUEST) > 1:  # one may be under way
        yield f"{asked} requests cost who sends them {handled} messages"


def cost_of_change(
    node: Node, change: Callable[[], None], before: Cost, seconds: float
) -> CostOfChange:
    """Have something changed, let time pass, and return what the change has cost.

    ``before`` is what the while until now has cost, of so many seconds, too.
    """
    records = _records(node)
    calls = node.runtime.work()
    node.advance(BETWEEN)
    change()
    node.advance(seconds - BETWEEN)
    more, timers = node.runtime.work() - calls, node.timers()
    more.subtract(before.calls)
    timers.subtract(before.timers)
    now = _records(node)
    rewritten = {name for name in records.keys() & now.keys() if records[name] != now[name]}
    return CostOfChange(more, timers, frozenset(rewritten))


def _records(node: Node) -> dict[str, int]:
    """Return which file the record of each pod is: another one after each time that it is written."""
    return {each.name: each.stat().st_ino for each in (node.folder / "root/pod-records").glob("*")}


def unlike_fresh(aged: CostOfChange, fresh: CostOfChange) -> Iterator[str]:
    """Yield what a change costs otherwise than in a fresh node.

    That may ask again about an image which the aged one knows. Looks may be one for several events. No record
    of another pod is written for it.
    """
    for method, calls, there in unlike(aged.calls, fresh.calls):
        may_be_less = method in LOOKS or method == "ImageStatus"
        most = MOST_LOOKS if method in LOOKS else there
        if calls > most or (calls < there and not may_be_less):
            yield f"a new pod costs {calls} of {method}, in a fresh node {there}"
    yield from (f"for a new pod {each} is written, too" for each in sorted(aged.rewritten))
    for timer, count, there in unlike(aged.timers, fresh.timers):
        if timer.partition(" ")[0] not in DRAW or abs(count - there) > 1:
            yield f"a new pod costs {count} timers of {timer}, in a fresh node {there}"


def unlike(one: Mapping[str, int], other: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield what is not as often in one as in the other, and how often it is in each."""
    for what in sorted(one.keys() | other.keys()):
        counts = one.get(what, 0), other.get(what, 0)
        if counts[0] != counts[1]:
            yield what, *counts
