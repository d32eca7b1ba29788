"""What is asked for: who is listed from etcd, who from the API server's cache, and what comes next."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.streams.queries import list_queries, next_query, query_text, watch_query
from messages.watches import WatchTarget

ON_N1 = "spec.nodeName=n1"
PODS = WatchTarget(path="/api/v1/pods", field_selector=ON_N1)
ALL = WatchTarget(path="/api/v1/secrets")
PAGED = {"fieldSelector": ON_N1, "limit": "500"}
AT_ONCE = {"fieldSelector": ON_N1}


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=web",
        "metadata.name==web",
        "metadata.namespace=a,metadata.name=web",
        "type=Opaque, metadata.name=web",
    ],
)
@pytest.mark.parametrize("seen", ["", "41"])
def test_one_object_is_read_from_etcd_whatever_was_seen(selector: str, seen: str) -> None:
    target = WatchTarget(path="/api/v1/secrets", field_selector=selector)
    assert list_queries(target, seen, 500) == (
        {"fieldSelector": selector, "limit": "500"},
        {"fieldSelector": selector},
    )


def test_the_first_list_of_a_collection_takes_what_the_cache_has() -> None:
    assert list_queries(PODS, "", 500) == (
        {"fieldSelector": ON_N1, "resourceVersion": "0"},
        PAGED,
        AT_ONCE,
    )


def test_a_later_list_does_not_go_back_in_time() -> None:
    not_older = {"resourceVersion": "41", "resourceVersionMatch": "NotOlderThan"}
    assert list_queries(PODS, "41", 500) == (
        {"fieldSelector": ON_N1, **not_older},
        PAGED,
        AT_ONCE,
    )


@pytest.mark.parametrize("selector", ["", "metadata.name!=web", "metadata.namespace=web"])
def test_whatever_has_no_one_name_is_a_collection(selector: str) -> None:
    target = WatchTarget(path="/api/v1/secrets", field_selector=selector)
    assert list_queries(target, "", 500)[0].get("resourceVersion") == "0"


def test_a_collection_as_a_whole_has_no_selector() -> None:
    assert list_queries(ALL, "", 2) == ({"resourceVersion": "0"}, {"limit": "2"}, {})


@pytest.mark.parametrize("first", list_queries(PODS, "41", 500))
def test_a_further_page_is_of_the_version_that_its_token_knows(first: dict[str, str]) -> None:
    versions = {"resourceVersion", "resourceVersionMatch"}
    kept = {name: value for name, value in first.items() if name not in versions}
    assert next_query(first, "more") == {**kept, "continue": "more"}


def test_the_page_after_the_next_has_its_own_token() -> None:
    assert next_query(next_query(PAGED, "2"), "3") == {**PAGED, "continue": "3"}


def test_a_watch_begins_at_a_version() -> None:
    assert watch_query(PODS, "41", 300)["resourceVersion"] == "41"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_whatever_a_query_says_arrives_as_it_was(values: list[str]) -> None:
    query = {f"name{number}": value for number, value in enumerate(values)}
    text = query_text(query)
    assert text.isascii()
    assert dict(parse_qsl(text, strict_parsing=True)) == query
