"""What has to be known of Secrets and ConfigMaps at rest. Functions return what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from agent.objects import MANAGERS
from messages.objects import Origin
from messages.pods import TERMINAL_PHASES, Pod
from tests.environment.node import Node
from tests.environment.oracle.references import references
from tests.environment.oracle.rule import Wishes
from tests.support.questions import describe_objects

Referenced: TypeAlias = Counter[tuple[Origin, str, str]]
"""How many pods reference an object, by its origin, kind and name."""


def miscounted(node: Node, wishes: Wishes) -> Iterator[str]:
    """Yield the objects that are known as referenced by more or fewer pods than name them."""
    if node.cluster is None and not node.sources.objects:
        return
    there = [] if node.cluster is None else map(Pod.of, node.cluster.store.pods())
    wanted = _referenced(Origin.API, (each for each in there if not each.is_mirror))
    if node.sources.objects:
        wanted += _referenced(Origin.LOCAL, wishes.statics())
    known: Referenced = Counter()
    for manager in MANAGERS.values():
        for each in node.play.ask(manager, describe_objects).objects:
            known[each.object.origin, each.object.kind.value, each.object.name] = each.references
    for key in sorted(wanted | known):
        if wanted[key] != known[key]:
            yield f"{key} is referenced by {wanted[key]} pods, and known to be by {known[key]}"


def _referenced(origin: Origin, pods: Iterator[Pod]) -> Referenced:
    return Counter(
        (origin, *key)
        for pod in pods
        if (pod.document.get("status") or {}).get("phase") not in TERMINAL_PHASES
        for key in {each.key for each in references(pod)}
    )
