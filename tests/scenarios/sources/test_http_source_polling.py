"""When the URL is asked, what is heard of it, and what is said meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from kernel import ChildSpec, Runtime, SupervisorSpec
from messages.pods import HTTP, PodUid
from messages.sources import (
    Epoch,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    SourceListed,
    Verdict,
)
from messages.units import Seconds
from sources.http.asking import Body, Fetcher, FetchError, Unmodified, Validators
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import live_stage
from tests.support.patience import PATIENCE
from tests.support.sources.http_source_stage import (
    SHOWN,
    HttpSourceStage,
    bad_item,
    http_rules,
    http_source_stage,
    list_body,
    pod_body,
    pod_item,
)
from tests.support.sources.questions import described

Logs = list[MutableMapping[str, Any]]


# --- when it asks --------------------------------------------------------------------------------------


def test_rule_h1_it_asks_at_once_and_then_every_check_frequency(source: HttpSourceStage) -> None:
    assert len(source.website.asked) == 1
    source.play.advance(19.9)
    assert len(source.website.asked) == 1
    source.play.advance(0.2)
    assert len(source.website.asked) == 2
    source.play.advance(200.0)
    assert len(source.website.asked) == 12


def test_failures_are_met_with_the_same_frequency(source: HttpSourceStage) -> None:
    source.fails()
    source.play.advance(200.0)
    assert len(source.website.asked) == 12


def test_told_to_look_it_asks_at_once_and_counts_the_time_from_there(
    source: HttpSourceStage,
) -> None:
    source.play.advance(10.0)
    source.rescans()
    assert len(source.website.asked) == 2
    source.play.advance(19.9)
    assert len(source.website.asked) == 2
    source.play.advance(0.2)
    assert len(source.website.asked) == 3


def test_there_is_one_request_at_a_time_and_what_is_asked_for_meanwhile_follows_once(
    source: HttpSourceStage,
) -> None:
    source.helper.waits = True
    source.rescans()
    source.rescans()
    source.rescans()
    assert source.helper.todo == 1

    source.helper.works()
    source.play.settle()
    assert source.helper.todo == 1

    source.helper.works()
    source.play.settle()
    assert source.helper.todo == 0


def test_a_request_that_takes_longer_than_the_check_frequency_is_followed_at_once(
    source: HttpSourceStage,
) -> None:
    source.helper.waits = True
    source.play.advance(50.0)
    assert source.helper.todo == 1
    source.helper.works()
    source.play.settle()
    assert source.helper.todo == 1


def test_while_it_asks_it_says_how_it_is_and_tells_its_listing(source: HttpSourceStage) -> None:
    source.serves(pod_body("web"))
    source.listings()
    source.helper.waits = True
    source.rescans()
    assert source.described().ready
    source.asks_for_listing()
    assert source.listings() == [["web"]]


# --- crashes and stops -----------------------------------------------------------------------------------


@pytest.fixture
def crashing(runtime: Runtime) -> Iterator[HttpSourceStage]:
    with http_source_stage(runtime, first=pod_body("web")) as source:
        yield source


def test_a_new_life_tells_the_identical_pods_with_a_higher_epoch(
    crashing: HttpSourceStage,
) -> None:
    (before,) = crashing.told.drain()
    crashing.crashes()
    (after,) = crashing.told.drain()
    assert before.epoch < after.epoch == Epoch(2, 1)
    assert before.pods[0] is after.pods[0]


@pytest.mark.parametrize("answer", [FetchError("no connection"), b"", b"garbage"])
def test_a_new_life_keeps_the_pods_while_the_url_has_none(
    crashing: HttpSourceStage, answer: bytes | Exception
) -> None:
    crashing.listings()
    crashing.website.answer = answer
    crashing.crashes()
    assert crashing.listings() == [["web"]]
    assert crashing.described().ready


def test_a_new_life_asks_whether_the_last_good_body_is_the_present_one(
    crashing: HttpSourceStage,
) -> None:
    crashing.serves(pod_body("shop"), etag="a")
    crashing.listings()
    crashing.crashes()
    assert crashing.website.asked[-1] == "a"
    assert crashing.listings() == [["shop"]]


def test_what_an_earlier_life_asked_for_is_not_heard(crashing: HttpSourceStage) -> None:
    crashing.listings()
    crashing.helper.waits = True
    crashing.website.answer = pod_body("late")
    crashing.rescans()
    crashing.goes_down()
    crashing.helper.works()
    crashing.play.settle()
    assert crashing.listings() == []

    crashing.helper.waits = False
    crashing.website.answer = pod_body("web")
    crashing.play.advance(1.0)
    assert crashing.listings() == [["web"]]


def test_a_request_that_has_not_begun_when_the_source_crashes_never_begins(
    crashing: HttpSourceStage, caplog: pytest.LogCaptureFixture
) -> None:
    crashing.helper.is_late = True
    crashing.rescans()
    crashing.goes_down()
    assert crashing.helper.todo == 0
    crashing.helper.is_late = False
    crashing.play.advance(1.0)
    assert len(crashing.website.asked) == 2
    assert caplog.records == []  # the library's, of callbacks that fail


def test_each_life_breaks_off_its_request_and_lets_its_helper_go(
    crashing: HttpSourceStage,
) -> None:
    crashing.crashes()
    assert (crashing.website.closed, crashing.helper.shut_down) == (1, 1)
    assert crashing.play.stop() == 0
    assert (crashing.website.closed, crashing.helper.shut_down) == (2, 2)


def test_a_bug_in_asking_is_a_crash_that_shows_no_text(source: HttpSourceStage) -> None:
    source.serves(RuntimeError("http://me:hunter2@pods.example"))
    (ending,) = source.play.endings
    assert "RuntimeError" in ending.error
    assert "hunter2" not in ending.error + ending.details
    source.website.answer = pod_body("web")
    source.play.advance(1.0)
    assert source.listings()[-1] == ["web"]


class SilentServer(Fetcher):
    """Never answers; a request ends only by being broken off."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._broken_off = threading.Event()

    def make(self, _url: str, _headers: Mapping[str, object], _ca_file: Path | None) -> Fetcher:
        return self

    @override
    def fetch(self, known: Validators | None) -> Body | Unmodified:
        self.asked.set()
        assert self._broken_off.wait(2 * PATIENCE)
        raise FetchError("broken off")

    @override
    def close(self) -> None:
        self._broken_off.set()


def test_on_real_threads_it_answers_and_stops_in_the_middle_of_a_request() -> None:
    server = SilentServer()
    told: Probe[SourceListed] = Probe()
    child = ChildSpec(
        key=HTTP_SOURCE, factory=lambda: HttpSource(http_rules(), told, HttpMemory(), server.make)
    )
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        assert server.asked.wait(PATIENCE)
        assert not described(play, HTTP_SOURCE).ready
        play.system.stop()
        assert play.system.wait(Seconds(PATIENCE)) == 0


# --- what is logged --------------------------------------------------------------------------------------


def failures(logs: Logs) -> list[tuple[str, str]]:
    """Return level and reason of each line about a failed poll, and forget all lines."""
    told = [
        (event["log_level"], event.get("reason", "can be read again"))
        for event in logs
        if "verdict" not in event and "url" in event
    ]
    logs.clear()
    return told


def test_rule_h10_three_warnings_then_debug_and_one_line_when_it_is_over(
    logs: Logs, source: HttpSourceStage
) -> None:
    source.fails("answered with status 500")
    source.play.advance(80.0)
    assert failures(logs) == [
        ("warning", "answered with status 500"),
        ("warning", "answered with status 500"),
        ("warning", "answered with status 500"),
        ("debug", "answered with status 500"),
        ("debug", "answered with status 500"),
    ]

    source.serves(list_body())
    source.polls()
    assert failures(logs) == [("info", "can be read again")]

    source.fails("answered with status 500")
    assert failures(logs) == [("warning", "answered with status 500")]


def test_another_failure_is_warned_of_again(logs: Logs, source: HttpSourceStage) -> None:
    source.fails()
    source.play.advance(80.0)
    logs.clear()
    source.serves(b"")
    assert failures(logs) == [("warning", "the body is empty")]

    # The first one comes back: it was warned of often enough, and nothing was good in between.
    source.fails()
    assert [level for level, _ in failures(logs)] == ["debug"]


def fails_in_new_ways(source: HttpSourceStage, first: int, last: int) -> list[tuple[str, str]]:
    """Let polls fail, each in its own way; return how they are told."""
    ways = [f"way {number}" for number in range(first, last + 1)]
    for way in ways:
        source.fails(way)
    return [("warning", way) for way in ways]


def test_of_a_server_that_fails_in_ever_new_ways_only_so_many_are_warned_of_and_remembered(
    logs: Logs, source: HttpSourceStage
) -> None:
    assert fails_in_new_ways(source, 1, 20) == failures(logs)
    fails_in_new_ways(source, 21, 40)
    assert {level for level, _ in failures(logs)} == {"debug"}
    assert len(source.memory.failures) == 20

    # Those that were warned of go on as they would by themselves, and after a good poll all do.
    source.fails("way 20")
    assert failures(logs) == [("warning", "way 20")]
    source.serves(list_body())
    failures(logs)
    source.fails("way 21")
    assert failures(logs) == [("warning", "way 21")]


def test_a_verdict_is_logged_when_it_changes(logs: Logs, source: HttpSourceStage) -> None:
    def verdicts() -> list[tuple[str, str, str]]:
        told = [
            (e["log_level"], e["path"].removeprefix(SHOWN), e["verdict"])
            for e in logs
            if "verdict" in e
        ]
        logs.clear()
        return told

    source.serves(list_body(pod_item("web"), bad_item("bad")))
    assert verdicts() == [
        ("warning", "#items[0]", "rejected"),
        ("warning", "#items[1]", "rejected"),
    ]
    source.polls()
    source.crashes()
    assert verdicts() == []
    source.serves(list_body(pod_item("web")))
    assert verdicts() == [("info", "#items[0]", "accepted")]
    assert source.described().rejected == {RejectReason.INVALID: 2}


def test_neither_the_url_s_secrets_nor_headers_nor_values_are_shown(
    logs: Logs, source: HttpSourceStage
) -> None:
    secret = pod_item("web")
    secret["spec"]["containers"][0]["env"] = [{"name": "A", "value": ["hunter2"]}]
    source.serves(list_body(secret))
    source.serves(b"hunter2: [")
    source.serves(b"hunter2")
    source.fails()
    source.crashes()
    assert "hunter2" not in repr(logs) + repr(source.described()) + repr(http_rules())


# --- what others say of its pods ---------------------------------------------------------------------------


def test_what_pod_manager_and_mirror_keeper_say_is_shown_also_after_a_crash(
    logs: Logs, source: HttpSourceStage
) -> None:
    source.serves(list_body(pod_item("a", uid="1"), pod_item("b", uid="2")))
    logs.clear()
    shadowed = {PodUid("1"): "another was there first"}
    refused = {PodUid("1"): "no priority", PodUid("2"): "no priority"}
    source.tell(PodsJudged(source=HTTP, shadowed=shadowed, rejected={}))
    source.tell(MirrorsJudged(source=HTTP, refused=refused))
    source.crashes()
    a, b = source.described().manifests
    assert (a.verdict, a.reason, a.warnings) == (Verdict.SHADOWED, "another was there first", ())
    assert b.verdict is Verdict.ACCEPTED
    assert b.warnings == ("the cluster does not show this version: no priority",)
    assert [event["verdict"] for event in logs if "verdict" in event] == ["shadowed", "accepted"]

    source.tell(MirrorsJudged(source=HTTP, refused={}))
    assert source.described().manifests[1].warnings == ()
