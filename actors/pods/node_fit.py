"""The node as admission sees it: whether a pod may run on it, and which pods have to go for one. Pure.

These are rules L14. Reasons and messages are a kubelet's, word for word: people and programs look for them.

Pods go so that a critical one can run. The choice is a kubelet's: nothing of a better class goes that pods of
a worse one can make up for, and of one class as few as possible. It is greedy, one pod at a time, so "as few
as possible" is not exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from manifests.qos import QosClass, is_critical, priority_of, qos_class
from manifests.requests import CPU, MEMORY, Amounts, amounts_of, is_extended
from messages.node import NodeIs
from messages.pods import JsonObject, Pod
from messages.statuses import PodFailure

OS_LABEL: Final = "kubernetes.io/os"
MOST_CONTAINERS: Final = 1000
"""Of one pod. The API server takes no status of more than a few thousand, and whatever happens to one of them
costs as much as there are."""
_NO_EXECUTE: Final = "NoExecute"
_MAX_DIGITS: Final = 19
"""Of a number of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """What pods are compared with."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()
    allocatable: Amounts = field(default_factory=dict)
    """What pods may request together. There is no limit of cpu, memory, ephemeral storage or pods where one
    of them is missing."""
    os: str = "linux"


def view_of(fact: NodeIs, configured: NodeView) -> NodeView:
    """Return the node as the API server shows it.

    Of the amounts only those of extended resources are taken from there, which others count on the Node. The
    agent's own are those of ``configured``: the Node may not show them yet.
    """
    document = fact.document
    shown = amounts_of((document.get("status") or {}).get("allocatable") or {})
    extended = {name: amount for name, amount in shown.items() if is_extended(name)}
    return replace(
        configured,
        labels=(document.get("metadata") or {}).get("labels") or {},
        taints=tuple((document.get("spec") or {}).get("taints") or ()),
        allocatable={**extended, **configured.allocatable},
    )


def predicate_failure(predicate: str, description: str) -> PodFailure:
    """Return the failure of one of the scheduler's predicates that the node checks again."""
    return PodFailure(reason=predicate, message=f"Predicate {predicate} failed: {description}")


WRONG_OS_LABEL: Final = PodFailure(
    reason="PodOSSelectorNodeLabelDoesNotMatch",
    message="Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
)
WRONG_OS: Final = PodFailure(
    reason="PodOSNotSupported",
    message="Failed to admit pod as the OS field doesn't match node OS",
)
NODE_AFFINITY: Final = predicate_failure(
    "NodeAffinity", "node(s) didn't match Pod's node affinity/selector"
)
NODE_NAME: Final = predicate_failure("NodeName", "node(s) didn't match the requested node name")
TAINTS: Final = predicate_failure(
    "TaintToleration", "node(s) had taints that the pod didn't tolerate"
)


def size_misfit(pod: Pod) -> PodFailure | None:
    """Return why the pod is too big for any node; None if it is not."""
    spec = pod.document["spec"]
    count = sum(len(spec.get(kind) or ()) for kind in ("initContainers", "containers"))
    if count <= MOST_CONTAINERS:
        return None
    message = f"Pod has {count} containers, and a pod may have at most {MOST_CONTAINERS} here"
    return PodFailure(reason="TooManyContainers", message=message)


def os_misfit(pod: Pod, node: NodeView) -> PodFailure | None:
    """Return why the node's operating system is not the pod's; None if it is."""
    labels = pod.document["metadata"].get("labels") or {}
    # The pod's own label, not its selector: a kubelet's rule.
    if labels.get(OS_LABEL, node.os) != node.os:
        return WRONG_OS_LABEL
    wanted = (pod.document["spec"].get("os") or {}).get("name", node.os)
    return WRONG_OS if wanted != node.os else None


def affinity_misfit(pod: Pod, node: NodeView) -> PodFailure | None:
    """Return why selector, required affinity or name rule out the node; None if they do not."""
    spec = pod.document["spec"]
    selector = spec.get("nodeSelector")
    if selector and any(node.labels.get(key) != value for key, value in selector.items()):
        return NODE_AFFINITY
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        terms = required.get("nodeSelectorTerms") or ()
        if not any(_matches(term, node) for term in terms):
            return NODE_AFFINITY
    named = spec.get("nodeName")
    return NODE_NAME if named and named != node.name else None


def taint_misfit(pod: Pod, node: NodeView) -> PodFailure | None:
    """Return why a NoExecute taint rules out the pod; None if it does not. Static pods tolerate all."""
    if not node.taints or pod.is_static:
        return None
    tolerations = pod.document["spec"].get("tolerations") or ()
    for taint in node.taints:
        if taint.get("effect") != _NO_EXECUTE:
            continue
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            return TAINTS
    return None


def _matches(term: JsonObject, node: NodeView) -> bool:
    """Return whether one term selects the node. A term without a condition selects none."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    named = {"metadata.name": node.name}
    return all(_holds(each, node.labels) for each in expressions) and all(
        _holds(each, named) for each in fields
    )


def _holds(requirement: JsonObject, labels: Mapping[str, str]) -> bool:
    present = labels.get(requirement.get("key", ""))
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return present is not None and present in values
        case "NotIn":
            return present is None or present not in values
        case "Exists":
            return present is not None
        case "DoesNotExist":
            return present is None
        case "Gt" | "Lt" as operator:
            return _is_beyond(present, values, operator)
        case _:
            return False


def _is_beyond(present: str | None, values: tuple[str, ...] | list[str], operator: str) -> bool:
    if present is None or len(values) != 1:
        return False
    number, bound = _integer(present), _integer(values[0])
    if number is None or bound is None:
        return False
    return number > bound if operator == "Gt" else number < bound


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    value = taint.get("value") or ""
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.get("value") or "") == value
        case "Gt" | "Lt" as operator:
            return _is_beyond(value, [toleration.get("value") or ""], operator)
        case _:
            return False


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"-", "+"} else text
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS
    return int(text) if is_number else None


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
