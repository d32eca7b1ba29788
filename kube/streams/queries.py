"""What the API server is asked for: lists and watches of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from messages.watches import WatchTarget

VERSION: Final = "resourceVersion"
MATCH: Final = "resourceVersionMatch"
LIMIT: Final = "limit"
TOKEN: Final = "continue"  # noqa: S105  # a parameter's name


def list_queries(target: WatchTarget, seen: str, page_size: int) -> tuple[dict[str, str], ...]:
    """Return how to ask for a list, best first: each for when the server cannot answer the one before.

    ``seen`` is the last version that was seen of the target; empty when there is none.

    One object is read from etcd, by a list without a resourceVersion: nothing is fresher, and by name
    it is one key (0.4 s of the API server's time for 1,000 objects, against 5 s of watches from
    version 0). Anything else is read from the server's cache, as kubelets read their pods: for
    ``spec.nodeName=n1`` etcd knows no index, so that each node's list would have every pod of the
    cluster read from it, at each start and each 410. With ``limit`` some servers ask etcd all the
    same. The first list takes what the cache has; later ones demand that it is no older than what was
    seen, since what is told must not go back in time, not even to another API server that lags.

    A server that has not got that version (its etcd was restored, perhaps) is asked for what etcd
    has, in pages; one that forgets the pages under way, for all of it at once.
    """
    selected = _selected(target)
    paged, at_once = {**selected, LIMIT: str(page_size)}, selected
    if is_one_object(target):
        return paged, at_once
    cached = {VERSION: seen, MATCH: "NotOlderThan"} if seen else {VERSION: "0"}
    return {**selected, **cached}, paged, at_once


def next_query(query: Mapping[str, str], token: str) -> dict[str, str]:
    """Return what asks for the page after the one that ``query`` asked for and that gave ``token``."""
    # The token knows the version; servers refuse one beside it.
    kept = {name: value for name, value in query.items() if name not in {VERSION, MATCH}}
    return {**kept, TOKEN: token}


def is_cut(query: Mapping[str, str]) -> bool:
    """Return whether ``query`` asks for a part of a list."""
    return LIMIT in query


def watch_query(target: WatchTarget, version: str, timeout: int) -> dict[str, str]:
    """Return the query of a watch from ``version`` on, which is never empty and never 0.

    Either would have the server walk through its whole cache for this watch, and would prove neither
    that an object is the newest nor that there is none.
    """
    return {
        **_selected(target),
        "watch": "true",
        "allowWatchBookmarks": "true",
        VERSION: version,
        "timeoutSeconds": str(timeout),
    }


def is_one_object(target: WatchTarget) -> bool:
    """Return whether the selector narrows ``target`` to one name."""
    parts = target.field_selector.split(",")
    return any(part.strip().startswith("metadata.name=") for part in parts)


def url_path(target: WatchTarget) -> str:
    """Return the path of a target as it stands in URLs."""
    return quote(target.path)


def query_text(query: Mapping[str, str]) -> str:
    """Return a query as it stands in URLs. ``urlencode`` takes twice as long: its names need no care."""
    return "&".join([f"{name}={quote(value, safe='')}" for name, value in query.items()])


def attempt(verb: str, target: WatchTarget) -> str:
    """Return for people what is done: ``watch /api/v1/pods (spec.nodeName=n1)``."""
    selector = f" ({target.field_selector})" if target.field_selector else ""
    return f"{verb} {target.path}{selector}"


def _selected(target: WatchTarget) -> dict[str, str]:
    return {"fieldSelector": target.field_selector} if target.field_selector else {}
