"""What a request asks for is read once, and a target that could be read in two ways is refused."""

from __future__ import annotations

import pytest

from messages.access import AccessVerb
from server.access.asked import LONGEST_PATH, ROOTS, Asked, RefusedTarget, read_request

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "BREW")
COMMANDS = ("/exec/ns/p/c", "/attach/ns/p/c", "/portForward/ns/p", "/run/ns/p/c")


def asked(target: str, method: str = "GET") -> Asked:
    found = read_request(method, target)
    assert isinstance(found, Asked), found
    return found


# --- rights --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "subresources"),
    [
        ("/containerLogs/ns/p/c", "proxy"),
        ("/exec/ns/p/c", "proxy"),
        ("/attach/ns/p/c", "proxy"),
        ("/portForward/ns/p", "proxy"),
        ("/run/ns/p/c", "proxy"),
        ("/pods", "pods proxy"),
        ("/runningpods/", "pods proxy"),
        ("/healthz", "healthz proxy"),
        ("/healthz/syncloop", "healthz proxy"),
        ("/configz", "configz proxy"),
        ("/metrics", "metrics"),
        ("/metrics/cadvisor", "metrics"),
        ("/stats/summary", "stats"),
        ("/logs/", "log"),
        ("/logs/syslog", "log"),
        ("/checkpoint/ns/p/c", "checkpoint"),
        ("/debug/pprof/", "proxy"),
        ("/debug/flags/v", "proxy"),
        ("/statusz", "statusz"),
        ("/flagz", "configz"),
    ],
)
def test_each_path_asks_for_its_subresources_in_their_order(target: str, subresources: str) -> None:
    assert asked(target).subresources == tuple(subresources.split())


@pytest.mark.parametrize(
    ("method", "verb"),
    [
        ("GET", AccessVerb.GET),
        ("HEAD", AccessVerb.GET),
        ("POST", AccessVerb.CREATE),
        ("PUT", AccessVerb.UPDATE),
        ("PATCH", AccessVerb.PATCH),
        ("DELETE", AccessVerb.DELETE),
        ("OPTIONS", None),
        ("get", None),
    ],
)
def test_the_verb_is_that_of_the_method(method: str, verb: AccessVerb | None) -> None:
    assert asked("/pods", method).verb is verb


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", COMMANDS)
def test_what_acts_in_a_container_is_create_whatever_the_method(target: str, method: str) -> None:
    assert asked(target, method).verb is AccessVerb.CREATE


def test_only_what_reads_may_go_by_a_decision_that_has_expired() -> None:
    never = {"exec", "attach", "portForward", "run", "debug", "checkpoint"}
    reading = {root for root in ROOTS if asked(f"/{root}").may_be_stale}
    assert reading == ROOTS.keys() - never
    assert not any(
        asked(f"/{root}", method).may_be_stale for root in ROOTS for method in METHODS[2:]
    )


# --- paths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target", ["/", "/spec/", "/Pods", "/podsx", "/exec%20/ns/p/c", "/favicon.ico"]
)
def test_a_path_below_no_root_is_not_found(target: str) -> None:
    assert read_request("GET", target) is None


@pytest.mark.parametrize(
    ("target", "segments"),
    [
        ("/pods", ("pods",)),
        ("/pods/", ("pods",)),
        ("/exec/ns/p/c?command=ls", ("exec", "ns", "p", "c")),
        ("/logs/a%20b", ("logs", "a b")),
        ("/logs/%C3%BC", ("logs", "ü")),
        ("/logs/100%25", ("logs", "100%")),
        ("/logs/%252e%252E", ("logs", "%2e%2E")),
        ("/logs/%252f", ("logs", "%2f")),
        ("/logs/...", ("logs", "...")),
        ("/l%6Fgs/x", ("logs", "x")),
    ],
)
def test_segments_are_decoded_once(target: str, segments: tuple[str, ...]) -> None:
    assert asked(target).segments == segments


@pytest.mark.parametrize(
    "target",
    [
        "",
        "*",
        "pods",
        "https://node:10250/pods",
        "//pods",
        "/pods//",
        "/exec//p/c",
        "/.",
        "/logs/..",
        "/logs/%2e%2e/x",
        "/logs/.%2E",
        "/logs/a%2Fb",
        "/logs/a%5cb",
        "/logs/a\\b",
        "/logs/a%00",
        "/logs/a%0a",
        "/logs/a%7f",
        "/logs/a%C2%85",
        "/logs/%",
        "/logs/%2",
        "/logs/%zz",
        "/logs/%ff",
        "/logs/%C3",
        "/logs/ü",
        "/logs/a b",
        "/logs/a\n",
        "/pods#x",
        "/pods?a=%",
        "/pods?%ff",
        "/pods?a=b c",
        "/pods?a#b",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(target: str) -> None:
    found = read_request("GET", target)
    assert isinstance(found, RefusedTarget)
    assert found.sentence.isprintable()


def test_a_path_has_a_longest_length_and_the_query_does_not_count() -> None:
    longest = "/logs/" + (LONGEST_PATH - 6) * "a"
    assert asked(f"{longest}?since=1").segments[1] == longest[6:]
    assert isinstance(read_request("GET", f"{longest}a"), RefusedTarget)


# --- queries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("", ()),
        ("?command=a&command=b", (("command", "a"), ("command", "b"))),
        ("?command=a+b%2Bc%26", (("command", "a b+c&"),)),
        ("?command=a=b&tty", (("command", "a=b"), ("tty", ""))),
        ("?command=%2541", (("command", "%41"),)),
        ("?a=/../%2F?b", (("a", "/..//?b"),)),
        ("?&a=1&&", (("a", "1"),)),
        ("?a=x%0Ay", (("a", "x\ny"),)),
    ],
)
def test_parameters_are_decoded_once_in_their_order(
    query: str, pairs: tuple[tuple[str, str], ...]
) -> None:
    assert asked(f"/exec/ns/p/c{query}").query == pairs


def test_no_repr_shows_a_parameter() -> None:
    assert "hush" not in repr(asked("/exec/ns/p/c?command=hush"))
