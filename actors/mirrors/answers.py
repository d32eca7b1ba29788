"""What the API server's answer to a call shows about one name. Knows no time and sends nothing.

``learn`` updates the record of the name, and returns a ``RetryLater`` if the next attempt has to wait.
Transport errors are handled elsewhere: they say nothing about the mirror.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from actors.mirrors.index import MirrorRecord
from actors.mirrors.plan import (
    NAME_BACKOFF,
    REFUSAL_BACKOFF,
    Ask,
    CreateMirror,
    DeleteMirror,
    NoCall,
    Step,
    is_right,
)
from actors.mirrors.pod import is_mirror_of_node
from kernel import Backoff
from messages.api import ApiFailure, FailureKind
from messages.pods import JsonObject, Pod, PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLater:
    """The next attempt has to wait, and why."""

    backoff: Backoff
    sentence: str = ""
    """Why there is no right mirror; empty if nothing was refused."""
    reason: str = ""
    """Label of the metric of failed creations; empty if this is not one."""


NAME_TAKEN = RetryLater(
    backoff=NAME_BACKOFF,
    sentence="its name is taken by a pod that is no mirror of this node",
    reason="name_taken",
)


def learn(
    record: MirrorRecord, step: Step, outcome: JsonObject | ApiFailure, node_name: str
) -> RetryLater | None:
    """Update ``record`` with the answer to ``step``. Return whether the next attempt has to wait."""
    match step:
        case CreateMirror():
            return _learn_of_creation(record, step, outcome, node_name)
        case DeleteMirror(uid=uid):
            return _learn_of_deletion(record, uid, outcome)
        case Ask.LOOK:
            return _learn_of_look(record, outcome, node_name)
        case NoCall():
            return None
        case _:
            assert_never(step)


def _learn_of_creation(
    record: MirrorRecord, step: CreateMirror, outcome: JsonObject | ApiFailure, node_name: str
) -> RetryLater | None:
    if isinstance(outcome, ApiFailure):
        return _learn_of_refusal(record, outcome)
    pod = Pod.of(outcome)
    if pod.uid in record.gone:
        return None  # the watch was faster and has shown its deletion
    # Where the watch was faster, it may have shown later versions, too: the answer is the first one.
    record.believe(record.mirrors.get(pod.uid, pod))
    if is_mirror_of_node(pod, node_name) and is_right(pod, step.static, step.node):
        return None
    return RetryLater(
        backoff=REFUSAL_BACKOFF,
        sentence="the API server changes it, by a webhook perhaps, so that it shows another pod",
        reason="altered",
    )


def _learn_of_refusal(record: MirrorRecord, failure: ApiFailure) -> RetryLater | None:
    match failure.kind:
        case FailureKind.ALREADY_EXISTS:
            record.is_in_doubt = True  # its name is taken, perhaps by itself (fixes K15)
            record.collisions += 1
            return None
        case FailureKind.CONFLICT:
            return RetryLater(backoff=NAME_BACKOFF)  # two requests changed one quota, for example
        case FailureKind.NOT_FOUND:
            return RetryLater(backoff=NAME_BACKOFF, sentence=failure.sentence, reason=failure.kind)
        case FailureKind.SERVER_ERROR:
            record.is_in_doubt = True  # it may have been created all the same
            return RetryLater(backoff=NAME_BACKOFF, sentence=failure.sentence, reason=failure.kind)
        case _:
            return RetryLater(
                backoff=REFUSAL_BACKOFF, sentence=failure.sentence, reason=failure.kind
            )


def _learn_of_deletion(
    record: MirrorRecord, uid: PodUid, outcome: JsonObject | ApiFailure
) -> RetryLater | None:
    if not isinstance(outcome, ApiFailure) or outcome.kind is FailureKind.NOT_FOUND:
        record.depart(uid)
        return None
    if outcome.kind is FailureKind.CONFLICT:
        record.is_in_doubt = True  # somebody created another pod of this name meanwhile (fixes K17)
        return None
    is_broken = outcome.kind is FailureKind.SERVER_ERROR
    backoff = NAME_BACKOFF if is_broken else REFUSAL_BACKOFF
    return RetryLater(backoff=backoff, sentence=outcome.sentence)


def _learn_of_look(
    record: MirrorRecord, outcome: JsonObject | ApiFailure, node_name: str
) -> RetryLater | None:
    if isinstance(outcome, ApiFailure):
        return _learn_of_nothing(record, outcome)
    pod = Pod.of(outcome)
    record.collisions = 0
    if not is_mirror_of_node(pod, node_name):
        record.clear()
        record.is_in_doubt = record.wants_mirror
        return NAME_TAKEN if record.wants_mirror else None
    if pod.uid in record.gone:
        # It was deleted and still exists: finalizers keep it, or the answer is late. Look again.
        record.gone.remove(pod.uid)
        record.is_in_doubt = True
        sentence = "its former mirror is being deleted and not gone yet" if pod.is_deleting else ""
        return RetryLater(backoff=NAME_BACKOFF, sentence=sentence)
    record.believe(pod)
    record.origin = (pod.uid, pod.source)
    record.is_in_doubt = False
    return None


def _learn_of_nothing(record: MirrorRecord, failure: ApiFailure) -> RetryLater | None:
    if failure.kind is FailureKind.NOT_FOUND:
        record.clear()
        record.is_in_doubt = False
        # Once: the other pod went between the two answers. Twice: the API server hides it from us.
        return NAME_TAKEN if record.wants_mirror and record.collisions > 1 else None
    if failure.kind is FailureKind.FORBIDDEN:
        return _learn_of_blindness(record, failure)
    return RetryLater(backoff=NAME_BACKOFF, sentence=failure.sentence)


def _learn_of_blindness(record: MirrorRecord, failure: ApiFailure) -> RetryLater:
    """Note that the API server forbids the look, so it does not show whether a pod has the name.

    Since 1.32 a node may get its own pods only, and a pod that does not exist is forbidden in the same
    words. So a pod of this name is not the node's, and only a creation shows whether there is one.
    """
    record.is_in_doubt = False
    record.disbelieve()
    if record.static is None:
        return RetryLater(backoff=NAME_BACKOFF, sentence=failure.sentence)
    is_taken = record.wants_mirror and record.collisions
    return NAME_TAKEN if is_taken else RetryLater(backoff=NAME_BACKOFF)
