"""Gets one whole list of a target: from the server's cache or from etcd, in pages or at once.

``queries`` decides what is asked for, and in which order. This module goes through the queries within bounds,
so that a server whose list never ends costs neither all memory nor endless requests. A one-off list stands
beside a watch, for a subscriber that must know the newest state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kube.errors import ApiError
from kube.streams.parsing import ListPage, malformed, page_of
from kube.streams.queries import MATCH, attempt, is_cut, list_queries, next_query
from kube.streams.rules import WatchRules
from kube.streams.shared import WatchContext
from kube.streams.target_requests import TargetRequests
from messages.api import ApiFailure, FailureKind
from messages.watches import ListTarget, ObjectsAre, TargetListed, WatchTarget


class FetchPage(Protocol):
    """Sends one request of the target."""

    async def __call__(self, query: Mapping[str, str], limit: int, *, paced: bool) -> bytes:
        """Return the body of the answer, or a little more than ``limit`` bytes of it. Raises ``ApiError``."""
        ...


async def whole_list(
    fetch: FetchPage, target: WatchTarget, seen: str, rules: WatchRules
) -> ListPage:
    """Return all objects of ``target`` as one page. ``seen`` is as in ``list_queries``.

    Raises ``ApiError``.
    """
    *others, last = list_queries(target, seen, rules.page_size)
    for query in others:
        try:
            return await _all_pages(fetch, query, rules)
        except ApiError as error:
            if not _asks_for_another(error, query):
                raise
    return await _all_pages(fetch, last, rules)


def _asks_for_another(error: ApiError, query: Mapping[str, str]) -> bool:
    """Return whether to try the next query after the server refused this one.

    The server does not have the requested version, any longer or yet. Or it has forgotten the pages. Or it
    does not know the parameter ``resourceVersionMatch``.
    """
    refuses_match = error.kind is FailureKind.INVALID and MATCH in query
    return error.kind is FailureKind.GONE or refuses_match


async def _all_pages(fetch: FetchPage, query: Mapping[str, str], rules: WatchRules) -> ListPage:
    pages: list[ListPage] = []
    tokens = {""}
    room = rules.most_list_bytes
    while len(pages) < rules.most_pages:
        most = min(room, rules.most_bytes) if is_cut(query) else room
        # Only the first page counts as an attempt.
        body = await fetch(query, most, paced=not pages)
        room -= len(body)
        if room < 0:
            raise malformed(f"the list is longer than {rules.most_list_bytes} bytes")
        if len(body) > most:
            raise malformed(f"a page of the list is longer than {most} bytes")
        pages.append(page_of(body))
        token = pages[-1].next
        if not token:
            return _joined(pages)
        if token in tokens:
            raise malformed("the list goes in circles: a token for its next page came twice")
        tokens.add(token)
        query = next_query(query, token)
    raise malformed(f"the list has more than {rules.most_pages} pages")


def _joined(pages: list[ListPage]) -> ListPage:
    objects = tuple(item for page in pages for item in page.objects)
    return ListPage(objects=objects, version=pages[-1].version, next="")


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
