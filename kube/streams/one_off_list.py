"""One list of a target beside its watch, for a subscriber that must know the newest state."""

from __future__ import annotations

from kube.errors import ApiError
from kube.streams.context import WatchContext
from kube.streams.listing import whole_list
from kube.streams.queries import attempt
from kube.streams.target_requests import TargetRequests
from messages.api import ApiFailure, FailureKind
from messages.watches import ListTarget, ObjectsAre, TargetListed


async def one_off_list(asked: ListTarget, context: WatchContext) -> TargetListed:
    """List the target that was ``asked`` for and return the answer. Never raises ``ApiError``.

    Only the asker is told of a failure. It says nothing about the watch and is not logged.
    """
    # A few at a time, and a slot only while it runs: a thousand one-off lists beside full connections
    # then need one connection more.
    async with context.one_off_lists:
        return _answer(asked, await _outcome(asked, context))


def lost_answer(asked: ListTarget) -> TargetListed:
    """Return the answer LOST: the keeper ended before it had listed."""
    error = ApiError("the keeper of watches ended", kind=FailureKind.LOST)
    return _answer(asked, error.failure(attempt("list", asked.target), None))


def _answer(asked: ListTarget, outcome: ObjectsAre | ApiFailure) -> TargetListed:
    return TargetListed(target=asked.target, mark=asked.mark, outcome=outcome)


async def _outcome(asked: ListTarget, context: WatchContext) -> ObjectsAre | ApiFailure:
    requests = TargetRequests(asked.target, context)
    try:
        found = await whole_list(requests.fetch, asked.target, "", context.rules)
    except ApiError as error:
        return error.failure(attempt("list", asked.target), requests.access)
    finally:
        requests.close()
    return ObjectsAre(
        target=asked.target,
        objects=found.objects,
        resource_version=found.version,
        mark=asked.mark,
    )
