"""One list of a target beside its watch: for who must know that what it has is not older than now."""

from __future__ import annotations

from actors.messages.api import ApiFailure, FailureKind
from actors.messages.port import Port
from actors.messages.watches import ObjectsAre, TargetListed, WatchTarget
from kube.errors import ApiError
from kube.streams.listing import whole_list
from kube.streams.queries import attempt
from kube.streams.sending import Sending
from kube.streams.surroundings import Surroundings


async def run_errand(
    target: WatchTarget, mark: int, reply_to: Port[TargetListed], shared: Surroundings
) -> None:
    """List ``target`` and tell ``reply_to`` what came of it: LOST when this is cancelled before that.

    A failure is the asker's business alone: it says nothing of the watch, and is not in the log.
    """
    # Few at a time, and a place on a client only for its turn: a thousand errands beside full clients
    # then take one client more.
    outcome: ObjectsAre | ApiFailure = _lost(target)
    try:
        async with shared.errands:
            outcome = await _outcome(target, mark, shared)
    finally:
        reply_to.tell(TargetListed(target=target, mark=mark, outcome=outcome))


def _lost(target: WatchTarget) -> ApiFailure:
    error = ApiError("the keeper of watches ended", kind=FailureKind.LOST)
    return error.failure(attempt("list", target), None)


async def _outcome(target: WatchTarget, mark: int, shared: Surroundings) -> ObjectsAre | ApiFailure:
    sending = Sending(target, shared)
    try:
        found = await whole_list(sending.fetch, target, "", shared.rules)
    except ApiError as error:
        return error.failure(attempt("list", target), sending.access)
    finally:
        sending.close()
    return ObjectsAre(
        target=target, objects=found.objects, resource_version=found.version, mark=mark
    )
