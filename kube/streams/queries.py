"""The query parameters and paths of list and watch requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from messages.watches import WatchTarget

VERSION: Final = "resourceVersion"
MATCH: Final = "resourceVersionMatch"
LIMIT: Final = "limit"
TOKEN: Final = "continue"  # noqa: S105  # a parameter's name

_PLAIN = re.compile(r"[\w.~=,/-]*", re.ASCII)
"""Texts that need no escaping, in a path or as the value of a parameter."""


def list_queries(target: WatchTarget, seen: str, page_size: int) -> tuple[dict[str, str], ...]:
    """Return the queries that list ``target``, best first. Each is for when the one before is refused.

    ``seen`` is the last version seen of the target; empty when there is none.

    One object: the list has no resourceVersion, so it is read from etcd and nothing is fresher. By name
    this reads one key: 1,000 objects cost the API server 0.4 s, where watches from version 0 cost 5 s.

    Anything else: the list is read from the API server's cache, as kubelets read their pods. etcd has no
    index for ``spec.nodeName=n1``: each node's list, at each start and after each 410, would read every pod
    of the cluster from etcd. A ``limit`` makes some servers read etcd all the same, so there is none. The
    first list takes whatever the cache has. Later lists demand at least the version seen: what subscribers
    are told must not go back in time, even when another API server lags.

    When the server does not have that version (its etcd was restored, perhaps), the next query reads etcd
    in pages. The last query asks for everything at once, for a server that forgets the pages meanwhile.
    """
    selected = _selected(target)
    paged, at_once = {**selected, LIMIT: str(page_size)}, selected
    if is_one_object(target):
        return paged, at_once
    cached = {VERSION: seen, MATCH: "NotOlderThan"} if seen else {VERSION: "0"}
    return {**selected, **cached}, paged, at_once


def next_query(query: Mapping[str, str], token: str) -> dict[str, str]:
    """Return the query of the next page. ``query`` asked for the last page, which gave ``token``."""
    # The token contains the version; servers refuse a second one.
    kept = {name: value for name, value in query.items() if name not in {VERSION, MATCH}}
    return {**kept, TOKEN: token}


def is_cut(query: Mapping[str, str]) -> bool:
    """Return whether ``query`` asks for a page and not for the whole list."""
    return LIMIT in query


def watch_query(target: WatchTarget, version: str, timeout: int) -> dict[str, str]:
    """Return the query of a watch from ``version`` on. ``timeout`` is in seconds.

    ``version`` must be neither empty nor 0. With these the server walks its whole cache for the watch, and
    its answer proves neither that an object is the newest nor that there is none.
    """
    return {
        **_selected(target),
        "watch": "true",
        "allowWatchBookmarks": "true",
        VERSION: version,
        "timeoutSeconds": str(timeout),
    }


def is_one_object(target: WatchTarget) -> bool:
    """Return whether the field selector of ``target`` names one object."""
    parts = target.field_selector.split(",")
    return any(part.strip().startswith("metadata.name=") for part in parts)


def url_path(target: WatchTarget) -> str:
    """Return the path of ``target`` as URLs have it."""
    return target.path if _PLAIN.fullmatch(target.path) else quote(target.path)


def query_text(query: Mapping[str, str]) -> str:
    """Return ``query`` as URLs have it. The names need no escaping, and the values hardly ever do."""
    return "&".join([f"{name}={_escaped(value)}" for name, value in query.items()])


def attempt(verb: str, target: WatchTarget) -> str:
    """Return what is attempted, for people: ``watch /api/v1/pods (spec.nodeName=n1)``."""
    selector = f" ({target.field_selector})" if target.field_selector else ""
    return f"{verb} {target.path}{selector}"


def _escaped(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else quote(value, safe="")


def _selected(target: WatchTarget) -> dict[str, str]:
    return {"fieldSelector": target.field_selector} if target.field_selector else {}
