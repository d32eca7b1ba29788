"""The tables of the page: what is found, where a page starts, and who should be looked at."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kernel import ActorDescription, DynamicSummary, TreeSummary
from messages.events import EventType, NotedEvent, PastEvent, PastEventsDescribed
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodObserved,
)
from messages.pods import FILE, HTTP, Pod, PodPhase, PodUid
from messages.sources import Epoch, ManifestVerdict, SourceDescribed, Verdict
from messages.statuses import PodCondition, PodStatus
from messages.units import Timestamp
from server.health import HealthCheck
from server.health_pages import AgentHealth
from server.pod_questions import PodsBackground
from server.questions import Unanswered
from server.ui.paging import MOST, PageAsked, PagedTable, WrongPageError, page_of
from server.ui.pod_table import (
    ORDERS,
    PodsChosen,
    pod_counts,
    pod_row,
    pods_found,
)
from server.ui.tables import (
    EVENT_ORDERS,
    OBJECT_ORDERS,
    actors_page,
    events_page,
    manifests_page,
    objects_page,
    report_shown,
    sources_shown,
    tree_document,
)

NOW: Final = Timestamp(10_000.0)


def page(rows: list[str], **asked: Any) -> dict[str, Any]:
    return page_of(
        rows,
        PageAsked(**asked),
        PagedTable(
            name="rows",
            key=lambda row: row,
            text=lambda row: row,
            shown=lambda row: {"row": row},
        ),
    )


def names(document: dict[str, Any], table: str, field: str) -> list[Any]:
    return [row[field] for row in document[table]]


# Pages.


def test_pages_follow_each_other_without_a_gap() -> None:
    rows = [f"pod-{number}" for number in (3, 1, 5, 2, 4)]
    first = page(rows, limit=2)
    second = page(rows, limit=2, after=first["next"])
    third = page(rows, limit=2, after=second["next"])
    assert names(first, "rows", "row") == ["pod-1", "pod-2"]
    assert names(second, "rows", "row") == ["pod-3", "pod-4"]
    assert names(third, "rows", "row") == ["pod-5"]
    assert (second["before"], second["matching"], third["next"]) == (2, 5, None)


def test_a_search_finds_rows_with_all_of_its_words_in_any_case() -> None:
    found = page(["Web one", "web two", "db one"], search="  WEB one ")
    assert names(found, "rows", "row") == ["Web one"]
    assert (found["total"], found["matching"]) == (3, 1)


@pytest.mark.parametrize(
    "limit", ["0", str(MOST + 1), "-1", "x", "", "²", "9" * 5000, "0000000005123"]
)
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(WrongPageError, match="limit is a number from 1 to"):
        PageAsked.of({"limit": limit})


def test_what_is_not_asked_for_has_a_default() -> None:
    assert PageAsked.of({}) == PageAsked(search="", after="", limit=50)
    assert PageAsked.of({"limit": str(MOST)}).limit == MOST


def test_a_page_may_start_anywhere_and_says_where() -> None:
    rows = [f"pod-{number}" for number in (3, 1, 5, 2, 4)]
    second = page(rows, limit=2, skip=1)
    assert names(second, "rows", "row") == ["pod-2", "pod-3"]
    assert (second["before"], second["next"]) == (1, "pod-3")
    beyond = page(rows, limit=2, skip=9)
    assert (beyond["rows"], beyond["before"], beyond["next"]) == ([], 5, None)


def test_rows_are_sorted_as_somebody_wants_and_by_their_keys_where_that_says_nothing() -> None:
    asked = PageAsked.of({"sort": "-length", "limit": "2"}, ["length"])
    first = page_of(
        ["b", "ccc", "a", "dd"],
        asked,
        PagedTable(
            name="rows",
            key=lambda row: row,
            text=lambda row: row,
            shown=lambda row: {"row": row},
            orders={"length": len},
        ),
    )
    assert (names(first, "rows", "row"), first["next"]) == (["ccc", "dd"], None)
    by_key = PageAsked.of({"sort": "-"})
    assert (by_key.sort, by_key.is_reversed) == ("", True)
    assert names(page(["a", "c", "b"], is_reversed=True), "rows", "row") == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"sort": "colour"}, "sort is one of age, state"),
        ({"sort": "-colour"}, "sort is one of age, state"),
        ({"sort": "age", "after": "x"}, "sort goes with skip"),
        ({"skip": "-1"}, "skip is a number"),
        ({"skip": "9" * 5000}, "skip is a number"),
    ],
)
def test_an_order_that_is_none_is_refused(query: dict[str, str], why: str) -> None:
    with pytest.raises(WrongPageError, match=why):
        PageAsked.of(query, ["age", "state"])


# Manifests and sources.


def source(*verdicts: ManifestVerdict, seen: Timestamp | None = None) -> SourceDescribed:
    return SourceDescribed(
        name=FILE,
        ready=True,
        epoch=Epoch(1, 1),
        last_listed=seen,
        rejected={},
        error="",
        manifests=verdicts,
    )


GOOD: Final = ManifestVerdict(path="/m/good.yaml", verdict=Verdict.ACCEPTED, pod="a/good")
ODD: Final = ManifestVerdict(path="/m/odd.yaml", verdict=Verdict.ACCEPTED, warnings=("odd",))
BAD: Final = ManifestVerdict(path="/m/bad.yaml", verdict=Verdict.REJECTED, reason="(line 4)")
SILENT: Final = Unanswered(name=HTTP, reason="did not answer")


def test_manifests_that_are_served_as_they_are_need_no_look() -> None:
    sources: list[SourceDescribed | Unanswered] = [source(GOOD, ODD, BAD), SILENT]
    every = manifests_page(sources, PageAsked(), only_troubled=False)
    troubled = manifests_page(sources, PageAsked(), only_troubled=True)
    assert names(every, "manifests", "path") == ["/m/bad.yaml", "/m/good.yaml", "/m/odd.yaml"]
    assert names(troubled, "manifests", "path") == ["/m/bad.yaml", "/m/odd.yaml"]
    assert troubled["manifests"][0]["reason"] == "(line 4)"


def test_sources_are_shown_in_short() -> None:
    shown = sources_shown([source(GOOD, BAD, seen=Timestamp(9_998.5)), source(), SILENT], NOW)
    assert [each["seenSecondsAgo"] for each in shown] == [1.5, None, None]
    assert (shown[0]["verdicts"], shown[0]["troubled"]) == ({"accepted": 1, "rejected": 1}, 1)
    assert (shown[2]["ready"], shown[2]["error"]) == (False, "did not answer")


# Objects.


def test_objects_that_are_absent_or_cannot_be_read_need_a_look() -> None:
    row = {"kind": "Secret", "namespace": "shop", "origin": "api", "lastError": ""}
    rows = [
        {**row, "name": "well", "state": "synced"},
        {**row, "name": "none", "state": "absent"},
        {**row, "name": "forbidden", "state": "synced", "lastError": "forbidden"},
    ]
    troubled = objects_page(rows, PageAsked(), only_troubled=True)
    assert names(troubled, "objects", "name") == ["forbidden", "none"]
    found = objects_page(rows, PageAsked(search="secret shop/well"), only_troubled=False)
    assert names(found, "objects", "name") == ["well"]


def test_objects_that_were_never_known_are_older_than_all_others() -> None:
    row = {"kind": "Secret", "namespace": "shop", "origin": "api", "lastError": "", "state": ""}
    ages = {"now": 0.0, "never": None, "late": 9.5}
    rows = [
        {**row, "name": name, "ageSeconds": age, "references": len(name)}
        for name, age in ages.items()
    ]

    def by(sort: str) -> list[Any]:
        asked = PageAsked.of({"sort": sort}, OBJECT_ORDERS)
        return names(objects_page(rows, asked, only_troubled=False), "objects", "name")

    assert by("-age") == ["never", "late", "now"]
    assert by("-references") == ["never", "late", "now"]


# Actors and checks.

ACTOR: Final = ActorDescription(
    name="pods/1",
    parent="pods",
    type="PodWorker",
    state="backoff",
    restarts=2,
    mailbox=3,
    handled=4,
    last_error="ValueError: no",
    on_exhausted="isolate",
)


def test_dynamic_actors_are_counted_and_those_that_do_not_run_are_named() -> None:
    group = DynamicSummary(
        name="pods/*",
        supervisor="pods",
        states={"running": 9, "backoff": 1},
        mailbox=3,
        is_failing=False,
        not_running=(ACTOR,),
    )
    document = tree_document(TreeSummary(loops=(), dynamic=(group,)))
    (shown,) = document["groups"]
    assert (shown["parent"], shown["states"]) == ("pods", {"running": 9, "backoff": 1})
    assert names(shown, "notRunning", "lastError") == ["ValueError: no"]


def test_actors_are_found_by_their_errors() -> None:
    assert names(actors_page([ACTOR], PageAsked(search="valueerror")), "actors", "restarts") == [2]
    assert actors_page([ACTOR], PageAsked(search="running"))["matching"] == 0


def test_what_is_outdated_is_not_well() -> None:
    checks = [HealthCheck(name="a", ok=True), HealthCheck(name="b", ok=True, is_outdated=True)]
    shown = report_shown(AgentHealth(ok=True, checks=checks))
    assert [each["ok"] for each in shown["checks"]] == [True, False]


# Pods.


def pod(name: str, phase: str = "") -> Pod:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {"a": "b"}}
    return Pod.of({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": phase}})


def status(phase: PodPhase = PodPhase.RUNNING, ready: str = "True", **history: Any) -> PodStatus:
    seen = {"main": ContainerHistory(name="main", **history)} if history else {}
    return PodStatus(
        phase=phase,
        conditions=(PodCondition(type="Ready", status=ready, since=Timestamp(1.0)),),
        observed=PodObserved(uid=PodUid("u"), mark=NO_MARK, containers=seen),
    )


def ended(code: int, at: float) -> ContainerObserved:
    return ContainerObserved(
        id="x://1",
        name="main",
        attempt=1,
        state=ContainerState.EXITED,
        exit_code=code,
        finished_at=Timestamp(at),
    )


def test_pods_are_found_by_name_phase_and_what_they_wait_for() -> None:
    waits = status(
        PodPhase.PENDING, "False", wait=ContainerWait(reason="ImagePullBackOff", message="no")
    )
    pods = [pod("web"), pod("db"), pod("old", "Failed")]
    statuses = {PodUid("uid-web"): status(), PodUid("uid-db"): waits}

    def found(search: str = "", phase: str = "", *, only_troubled: bool = False) -> list[str]:
        page = pods_found(
            pods,
            statuses,
            PageAsked(search=search),
            NOW,
            PodsChosen(phase=phase, only_troubled=only_troubled),
        )
        return [each.name for each in page.rows]

    assert found() == ["db", "old", "web"]
    assert found("imagepull") == ["db"]
    assert found("shop/w") == ["web"]
    assert found(phase="Failed") == ["old"]
    assert found(phase="Pending") == ["db"]
    assert found(only_troubled=True) == ["db", "old"]


def test_a_row_has_of_the_specification_only_which_containers_there_are() -> None:
    container = {"name": "main", "image": "x", "env": [{"name": "TOKEN", "value": "hidden"}]}
    spec = {"initContainers": [{**container, "restartPolicy": "Always"}], "containers": [container]}
    metadata = {"name": "web", "namespace": "shop", "uid": "1", "labels": {"a": "b"}}
    with_env = Pod.of({"metadata": metadata, "spec": spec})
    row = pod_row(with_env, None, PodsBackground(), NOW)
    assert set(row) == {"metadata", "spec", "source", "status", "summary", "why", "lastEvent"}
    assert set(row["metadata"]) == {"name", "namespace", "uid"}
    assert row["spec"] == {
        "initContainers": [{"name": "main", "restartPolicy": "Always"}],
        "containers": [{"name": "main"}],
    }


def test_pods_are_sorted_by_age_restarts_and_state() -> None:
    pods = [pod("b"), pod("a"), pod("c")]
    for each, year in zip(pods, (2021, 2022, 2020), strict=True):
        each.document["metadata"]["creationTimestamp"] = f"{year}-01-01T00:00:00Z"
    statuses = {
        PodUid("uid-a"): status(last=ended(1, 1.0)),
        PodUid("uid-b"): status(PodPhase.PENDING),
    }

    def by(sort: str) -> list[str]:
        asked = PageAsked.of({"sort": sort}, ORDERS)
        page = pods_found(pods, statuses, asked, NOW, PodsChosen())
        return [each.name for each in page.rows]

    assert by("age") == ["a", "b", "c"]
    assert by("-age") == ["c", "b", "a"]
    assert by("-restarts")[0] == "a"
    assert by("state") == ["b", "c", "a"]


def test_the_pods_that_refer_to_an_object_are_found() -> None:
    needing = Pod.of(
        {
            "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
            "spec": {"volumes": [{"name": "v", "secret": {"secretName": "keys"}}]},
        }
    )

    def found(uses: str) -> int:
        asked = PageAsked()
        every = [needing, pod("db")]
        page = pods_found(every, {}, asked, NOW, PodsChosen(uses=uses))
        return page.total

    assert found("Secret/shop/keys") == 1
    assert found("ConfigMap/shop/keys") == 0
    assert found("Secret/other/keys") == 0
    assert found("nonsense") == 0


def test_pods_are_counted_by_phase_and_those_that_need_a_look() -> None:
    statuses = {PodUid("uid-a"): status(), PodUid("uid-b"): status(ready="False")}
    counts = pod_counts([pod("a"), pod("b"), pod("c")], statuses, NOW)
    assert counts == {"total": 3, "phases": {"Running": 2, "Pending": 1}, "troubled": 2}


def test_a_row_has_the_last_event_of_its_pod_and_why_it_is_in_trouble() -> None:
    pulled = NotedEvent(Timestamp(1.0), Timestamp(2.5), 3, EventType.NORMAL, "Pulled", "it is", "")
    background = PodsBackground(events={PodUid("uid-web"): (pulled,)}, runtime_trouble="it is away")
    row = pod_row(pod("web"), status(ready="False"), background, NOW)
    assert row["lastEvent"] == {
        "at": "1970-01-01T00:00:02.500Z",
        "reason": "Pulled",
        "message": "it is",
        "type": "Normal",
        "count": 3,
    }
    assert row["why"][0]["text"] == "No container can be started at present: it is away"
    assert pod_row(pod("web"), status(), background, NOW)["why"] == []


def past(number: int, times: int = 1, **data: Any) -> PastEvent:
    first, last = Timestamp(number * 10.0), Timestamp(number * 10.0 + times - 1)
    return PastEvent(number, first, last, times, "event", {"kind": "Pod", **data})


PAST: Final = PastEventsDescribed(
    since=Timestamp(5.0),
    forgotten=7,
    events=(
        past(4, 3, name="web", reason="BackOff", type="Warning", count=3),
        past(2, name="db", reason="Started", type="Normal", count=1),
        past(1, name="web", reason="Created", type="Normal", count=1),
    ),
)


def test_past_events_say_how_far_back_they_reach_and_each_when_it_was() -> None:
    document = events_page(PAST, PageAsked(), only_troubled=False)
    assert (document["since"], document["forgotten"]) == ("1970-01-01T00:00:05.000Z", 7)
    assert [each["reason"] for each in document["events"]] == ["BackOff", "Started", "Created"]
    first = document["events"][0]
    assert (first["event"], first["count"]) == ("event", 3)
    assert (first["first"], first["last"]) == (
        "1970-01-01T00:00:40.000Z",
        "1970-01-01T00:00:42.000Z",
    )


def test_pages_of_past_events_go_back_in_time_whatever_happens_meanwhile() -> None:
    begin = events_page(PAST, PageAsked(limit=1), only_troubled=False)
    later = PastEventsDescribed(
        since=PAST.since, forgotten=7, events=(past(5, name="new"), *PAST.events)
    )
    rest = events_page(later, PageAsked(after=begin["next"]), only_troubled=False)
    assert [each["reason"] for each in rest["events"]] == ["Started", "Created"]


def test_past_events_are_found_by_words_chosen_by_warnings_and_sorted() -> None:
    for asked, only_troubled, reasons in (
        (PageAsked(search="web created"), False, ["Created"]),
        (PageAsked(), True, ["BackOff"]),
        (PageAsked(sort="about"), False, ["Started", "BackOff", "Created"]),
        (PageAsked(sort="count", is_reversed=True, limit=1), False, ["BackOff"]),
        (PageAsked(sort="reason"), False, ["BackOff", "Created", "Started"]),
    ):
        document = events_page(PAST, asked, only_troubled=only_troubled)
        assert [each["reason"] for each in document["events"]] == reasons
    assert {"count", "about", "reason"} == set(EVENT_ORDERS)
