"""What the API server's answer to a call teaches about one name. Knows no time and sends nothing.

``learn`` writes what is known into the entry and returns a setback where something is in the way. What
a transport error means is decided elsewhere: it says nothing about the mirror.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from actors.mirrors.book import Entry
from actors.mirrors.plan import (
    NAME_BACKOFF,
    REFUSAL_BACKOFF,
    Ask,
    Create,
    Delete,
    Idle,
    Step,
    is_right,
)
from actors.mirrors.pod import is_mirror_of_node
from kernel import Backoff
from messages.api import ApiFailure, FailureKind
from messages.pods import JsonObject, Pod, PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class Setback:
    """Why to wait with the next try."""

    backoff: Backoff
    sentence: str = ""
    """Why there is no right mirror; empty while nobody has refused anything."""
    reason: str = ""
    """One word for the metric of mirrors that could not be created; empty where it is not one."""


NAME_TAKEN = Setback(
    backoff=NAME_BACKOFF,
    sentence="its name is taken by a pod that is no mirror of this node",
    reason="name_taken",
)


def learn(
    entry: Entry, step: Step, outcome: JsonObject | ApiFailure, node_name: str
) -> Setback | None:
    """Bring ``entry`` up to date with the answer to ``step``; return what is in the way, if anything."""
    match step:
        case Create():
            return _learn_of_creation(entry, step, outcome, node_name)
        case Delete(uid=uid):
            return _learn_of_deletion(entry, uid, outcome)
        case Ask.LOOK:
            return _learn_of_look(entry, outcome, node_name)
        case Idle():
            return None
        case _:
            assert_never(step)


def _learn_of_creation(
    entry: Entry, step: Create, outcome: JsonObject | ApiFailure, node_name: str
) -> Setback | None:
    if isinstance(outcome, ApiFailure):
        return _learn_of_refusal(entry, outcome)
    pod = Pod.of(outcome)
    if pod.uid in entry.gone:
        return None  # the watch was faster: it is there no more
    entry.believe(pod)
    if is_mirror_of_node(pod, node_name) and is_right(pod, step.static, step.node):
        return None
    return Setback(
        backoff=REFUSAL_BACKOFF,
        sentence="the API server changes it, by a webhook perhaps, so that it shows another pod",
        reason="altered",
    )


def _learn_of_refusal(entry: Entry, failure: ApiFailure) -> Setback | None:
    match failure.kind:
        case FailureKind.ALREADY_EXISTS:
            entry.is_in_doubt = True  # its name is taken, perhaps by itself (fixes K15)
            entry.collisions += 1
            return None
        case FailureKind.CONFLICT:
            return Setback(backoff=NAME_BACKOFF)  # two requests met at a quota, say: try again
        case FailureKind.NOT_FOUND:
            return Setback(backoff=NAME_BACKOFF, sentence=failure.sentence, reason=failure.kind)
        case FailureKind.SERVER_ERROR:
            entry.is_in_doubt = True  # the API server does not know itself whether it is there
            return Setback(backoff=NAME_BACKOFF, sentence=failure.sentence, reason=failure.kind)
        case _:
            return Setback(backoff=REFUSAL_BACKOFF, sentence=failure.sentence, reason=failure.kind)


def _learn_of_deletion(
    entry: Entry, uid: PodUid, outcome: JsonObject | ApiFailure
) -> Setback | None:
    if not isinstance(outcome, ApiFailure) or outcome.kind is FailureKind.NOT_FOUND:
        entry.depart(uid)
        return None
    if outcome.kind is FailureKind.CONFLICT:
        entry.is_in_doubt = True  # somebody made another one of this name meanwhile (fixes K17)
        return None
    is_broken = outcome.kind is FailureKind.SERVER_ERROR
    backoff = NAME_BACKOFF if is_broken else REFUSAL_BACKOFF
    return Setback(backoff=backoff, sentence=outcome.sentence)


def _learn_of_look(
    entry: Entry, outcome: JsonObject | ApiFailure, node_name: str
) -> Setback | None:
    if isinstance(outcome, ApiFailure):
        return _learn_of_nothing(entry, outcome)
    pod = Pod.of(outcome)
    entry.collisions = 0
    if not is_mirror_of_node(pod, node_name):
        entry.clear()
        entry.is_in_doubt = entry.wants_mirror
        return NAME_TAKEN if entry.wants_mirror else None
    if pod.uid in entry.gone:
        # It was deleted and is still there: finalizers, or an answer that is late. Look again.
        entry.gone.remove(pod.uid)
        entry.is_in_doubt = True
        sentence = "its former mirror is being deleted and not gone yet" if pod.is_deleting else ""
        return Setback(backoff=NAME_BACKOFF, sentence=sentence)
    entry.believe(pod)
    entry.origin = (pod.uid, pod.source)
    entry.is_in_doubt = False
    return None


def _learn_of_nothing(entry: Entry, failure: ApiFailure) -> Setback | None:
    if failure.kind is FailureKind.NOT_FOUND:
        entry.clear()
        entry.is_in_doubt = False
        # Once, the pod in the way went between the two answers. Twice, it is kept from our sight.
        return NAME_TAKEN if entry.wants_mirror and entry.collisions > 1 else None
    if failure.kind is FailureKind.FORBIDDEN:
        return _learn_of_blindness(entry, failure)
    return Setback(backoff=NAME_BACKOFF, sentence=failure.sentence)


def _learn_of_blindness(entry: Entry, failure: ApiFailure) -> Setback:
    """Take it that the API server does not show what has the name, if anything has it.

    Since 1.32 it shows a node its own pods only, and forbids a look at none in the same words. So what
    is there is not ours, and whether something is there only a creation finds out.
    """
    entry.is_in_doubt = False
    entry.disbelieve()
    if entry.static is None:
        return Setback(backoff=NAME_BACKOFF, sentence=failure.sentence)
    is_taken = entry.wants_mirror and entry.collisions
    return NAME_TAKEN if is_taken else Setback(backoff=NAME_BACKOFF)
