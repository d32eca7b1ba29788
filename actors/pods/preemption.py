"""Which pods have to go so that a critical pod can run. Pure (rule L14).

The choice is a kubelet's: nothing of a better class goes that pods of a worse one can make up for, and of one
class as few as possible. It is greedy, one pod at a time, so "as few as possible" is not exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from manifests.qos import QosClass, is_critical, priority_of, qos_class
from manifests.requests import CPU, MEMORY, Amounts
from messages.pods import Pod
from messages.statuses import PodFailure

PREEMPTED: Final = PodFailure(
    reason="Preempting", message="Preempted in order to admit critical pod"
)
"""The status, and the event, of a pod that has to go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pod that might have to go, and what that would free."""

    pod: Pod
    requests: Amounts


def is_ever_preemptable(pod: Pod) -> bool:
    """Return whether there could be a pod that this one has to go for."""
    return not is_critical(pod) or priority_of(pod) is not None


def victims(pod: Pod, lacking: Amounts, held: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the pods of ``held`` that free all that ``pod`` is ``lacking``. Empty if no pods can."""
    groups: dict[QosClass, list[Candidate]] = {each: [] for each in QosClass}
    for each in held:
        if _goes_before(pod, each.pod):
            groups[qos_class(each.pod.document["spec"])].append(each)
    best_effort, burstable = groups[QosClass.BEST_EFFORT], groups[QosClass.BURSTABLE]
    guaranteed = groups[QosClass.GUARANTEED]
    if _remaining(lacking, [*best_effort, *burstable, *guaranteed]):
        return ()
    first = _fewest(_remaining(lacking, [*best_effort, *burstable]), guaranteed)
    second = _fewest(_remaining(lacking, [*best_effort, *first]), burstable)
    third = _fewest(_remaining(lacking, [*second, *first]), best_effort)
    return (*third, *second, *first)


def _goes_before(pod: Pod, other: Pod) -> bool:
    """Return whether ``other`` has to go for ``pod``."""
    if is_critical(pod) and not is_critical(other):
        return True
    ours, theirs = priority_of(pod), priority_of(other)
    return ours is not None and theirs is not None and ours > theirs


def _fewest(lacking: Amounts, group: Collection[Candidate]) -> list[Candidate]:
    """Return pods of ``group`` that free all of ``lacking``: always the next one that frees most of it."""
    left = list(group)
    chosen: list[Candidate] = []
    while lacking:
        best = min(left, key=lambda each: _distance(lacking, each))
        left.remove(best)
        chosen.append(best)
        lacking = _remaining(lacking, [best])
    return chosen


def _distance(lacking: Amounts, one: Candidate) -> tuple[float, int, int, int]:
    """Return how far the pod is from freeing everything; of equally far ones the smallest comes first."""
    shares = (
        max(0, amount - one.requests.get(name, 0)) / amount for name, amount in lacking.items()
    )
    return (
        sum(share * share for share in shares),
        one.requests.get(MEMORY, 0),
        one.requests.get(CPU, 0),
        priority_of(one.pod) or 0,
    )


def _remaining(lacking: Amounts, gone: Iterable[Candidate]) -> Mapping[str, int]:
    left = dict(lacking)
    for each in gone:
        for name in lacking:
            left[name] -= each.requests.get(name, 0)
    return {name: amount for name, amount in left.items() if amount > 0}
