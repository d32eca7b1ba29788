"""One list of a target, whole, however the server gives it: from its cache or from etcd, in pages or not.

What is asked for, and in which order, is decided in ``queries``; this goes through it, within bounds: a
server that never comes to an end costs neither the machine's memory nor requests without number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kube.errors import ApiError
from kube.streams.parsing import ListPage, malformed, page_of
from kube.streams.queries import MATCH, is_cut, list_queries, next_query
from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.watches import WatchTarget


class FetchPage(Protocol):
    """Sends one request of the target."""

    async def __call__(self, query: Mapping[str, str], limit: int, *, paced: bool) -> bytes:
        """Return the body of the answer, or a little more than ``limit`` bytes. Raises ``ApiError``."""
        ...


async def whole_list(
    fetch: FetchPage, target: WatchTarget, seen: str, rules: WatchRules
) -> ListPage:
    """Return everything that ``target`` has, as one page; ``seen`` as in ``list_queries``.

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
    """Return whether the server may well answer the next query after it refused this one.

    It does not have that version (any longer, or yet), as for pages whose token is too old, or it
    does not know the parameter.
    """
    refuses_match = error.kind is FailureKind.INVALID and MATCH in query
    return error.kind is FailureKind.GONE or refuses_match


async def _all_pages(fetch: FetchPage, query: Mapping[str, str], rules: WatchRules) -> ListPage:
    pages: list[ListPage] = []
    tokens = {""}
    room = rules.most_list_bytes
    while len(pages) < rules.most_pages:
        most = min(room, rules.most_bytes) if is_cut(query) else room
        # A further page is the answer's other half, and not another attempt.
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
