"""From what actors answered to what is shown: documents, health, metrics."""

from __future__ import annotations

import dataclasses

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kernel import (
    SECONDS_BUCKETS,
    ActorDescription,
    DynamicSummary,
    RoleStatistics,
    TreeSummary,
)
from messages.container_runtime_health import ContainerRuntimeDescribed, PlegDescribed
from messages.pods import API, FILE, HTTP, LOCAL_FILES, PodUid
from messages.releases import Release, ReleaseState
from messages.sources import (
    Epoch,
    ManifestVerdict,
    RejectReason,
    SourceDescribed,
    Verdict,
)
from messages.units import Seconds, TimesCounted, Timestamp
from server import documents, health
from server.health import HealthCheck
from server.metrics import Measurements, exposition
from server.questions import Unanswered
from tests.support.agent.served import NO_PODS
from tests.support.builders import make_pod

NOON = Timestamp(1_900_000_000.25)
SILENT = Unanswered(name="http", reason="did not answer")


def described(**more: object) -> SourceDescribed:
    """Return how the file source is when all is well."""
    well = SourceDescribed(
        name=FILE,
        ready=True,
        epoch=Epoch(2, 7),
        last_listed=NOON,
        rejected={},
        error="",
        manifests=(),
    )
    return dataclasses.replace(well, **more)  # type: ignore[arg-type]  # fields by name


def actor(name: str, state: str = "running", **more: object) -> ActorDescription:
    """Return how an actor is."""
    well = ActorDescription(
        name=name,
        parent="root",
        type="Web",
        state=state,
        restarts=0,
        mailbox=0,
        handled=0,
        last_error="",
        on_exhausted="escalate",
    )
    return dataclasses.replace(well, **more)  # type: ignore[arg-type]  # fields by name


def dynamic_children(**more: object) -> DynamicSummary:
    """Return how those who come and go are when they are well."""
    well = DynamicSummary(
        name="objects/*",
        supervisor="objects",
        states={"running": 4_998},
        mailbox=0,
        is_failing=False,
        not_running=(),
    )
    return dataclasses.replace(well, **more)  # type: ignore[arg-type]  # fields by name


def tree(*loops: ActorDescription, dynamic: tuple[DynamicSummary, ...] = ()) -> TreeSummary:
    """Return a tree of these."""
    return TreeSummary(loops=loops, dynamic=dynamic)


# Documents.


def test_actors_are_shown_in_the_words_of_the_outside_contract() -> None:
    shown = documents.actors(
        [actor("web", "failed", restarts=3, last_error="Oops", on_exhausted="isolate")]
    )
    assert shown == {
        "actors": [
            {
                "name": "web",
                "parent": "root",
                "type": "Web",
                "state": "failed",
                "restarts": 3,
                "mailbox": 0,
                "handled": 0,
                "lastError": "Oops",
                "onExhausted": "isolate",
            }
        ]
    }


def test_a_report_tells_each_check_and_the_outcome() -> None:
    checks = [
        HealthCheck(name="tree/answers", ok=True),
        HealthCheck(name="loop/web", ok=False, text="gone"),
    ]
    assert health.report(checks, "healthz", ok=False) == (
        "[+]tree/answers ok\n[-]loop/web failed: gone\nhealthz check failed\n"
    )
    assert health.report(checks[:1], "livez", ok=True) == (
        "[+]tree/answers ok\nlivez check passed\n"
    )


def test_the_last_listing_of_a_source_is_shown_to_the_millisecond() -> None:
    (shown,) = documents.sources([described()])["sources"]
    assert shown["lastListed"] == "2030-03-17T17:46:40.250Z"


def test_a_source_that_was_never_seen_has_no_last_listing() -> None:
    (shown,) = documents.sources([described(ready=False, last_listed=None, error="gone")])[
        "sources"
    ]
    assert (shown["ready"], shown["lastListed"], shown["error"]) == (False, None, "gone")
    assert shown["epoch"] == [2, 7]


def test_a_verdict_is_shown_whole() -> None:
    verdict = ManifestVerdict(
        path="/m/web.yaml",
        verdict=Verdict.KEPT,
        reason="line 3: bad",
        code=RejectReason.SYNTAX,
        warnings=("odd",),
        pod="default/web",
        uid=PodUid("1"),
    )
    (shown,) = documents.sources([described(manifests=(verdict,))])["sources"]
    assert shown["manifests"] == [
        {
            "path": "/m/web.yaml",
            "verdict": "kept",
            "reason": "line 3: bad",
            "warnings": ["odd"],
            "pod": "default/web",
            "uid": "1",
        }
    ]


def test_what_a_verdict_on_a_local_object_is_about_is_no_pod() -> None:
    verdict = ManifestVerdict(path="/o/db.yaml", verdict=Verdict.ACCEPTED, pod="Secret default/db")
    local = described(name=LOCAL_FILES, manifests=(verdict,))
    (shown,) = documents.sources([local])["sources"]
    assert shown["name"] == "local-objects"
    assert shown["manifests"] == [
        {
            "path": "/o/db.yaml",
            "verdict": "accepted",
            "reason": "",
            "warnings": [],
            "object": "Secret default/db",
            "uid": None,
        }
    ]


# Health.


@pytest.mark.parametrize(
    ("shown", "check"),
    [
        (actor("web"), HealthCheck(name="web", ok=True)),
        (
            actor("web", "backoff", last_error="a bug"),
            HealthCheck(name="web", ok=True, text="backoff: a bug"),
        ),
        (actor("web", "starting"), HealthCheck(name="web", ok=True, text="starting")),
        (
            actor("web", "failed", last_error="a bug"),
            HealthCheck(name="web", ok=False, text="failed: a bug"),
        ),
        # What it died of once is history.
        (actor("web", last_error="a bug", restarts=3), HealthCheck(name="web", ok=True)),
    ],
)
def test_only_an_actor_that_failed_too_often_is_not_well(
    shown: ActorDescription, check: HealthCheck
) -> None:
    assert health.loops(tree(shown)) == [check]


BAD = actor("objects/secrets/shop/db", "failed", last_error="a bug")


def test_those_who_come_and_go_are_one_line_and_another_for_who_does_not_run() -> None:
    objects = dynamic_children(
        states={"running": 4_998, "failed": 1, "backoff": 1},
        not_running=(BAD, actor("objects/secrets/shop/web", "backoff", last_error="a bug")),
    )
    shown = tree(actor("objects"), dynamic=(objects,))
    assert health.loops(shown) == [
        HealthCheck(name="objects", ok=True),
        HealthCheck(name="objects/*", ok=True, text="4,998 running, 1 failed, 1 backoff"),
    ]
    assert health.members(shown) == [
        HealthCheck(name="objects/secrets/shop/db", ok=False, text="failed: a bug"),
        HealthCheck(name="objects/secrets/shop/web", ok=True, text="backoff: a bug"),
    ]


def test_those_who_come_and_go_are_not_well_when_most_of_them_fail() -> None:
    failing = dynamic_children(states={"failed": 9}, is_failing=True)
    assert health.loops(tree(dynamic=(failing,))) == [
        HealthCheck(name="objects/*", ok=False, text="9 failed")
    ]


def test_where_nobody_came_there_is_no_line_of_them() -> None:
    assert health.loops(tree(dynamic=(dynamic_children(states={}),))) == []


@pytest.mark.parametrize(
    ("source", "check"),
    [
        (described(), HealthCheck(name="source/file", ok=True, text="seen 5.0 s ago")),
        (
            described(error="gone"),
            HealthCheck(name="source/file", ok=True, text="seen 5.0 s ago, gone"),
        ),
        (
            described(ready=False, last_listed=None),
            HealthCheck(name="source/file", ok=False, text="not seen yet"),
        ),
        (
            described(last_listed=None, error="/a does not exist, taken as empty"),
            HealthCheck(name="source/file", ok=True, text="/a does not exist, taken as empty"),
        ),
        # A clock that was set back makes nobody see into the future.
        (
            described(last_listed=Timestamp(NOON + 60)),
            HealthCheck(name="source/file", ok=True, text="seen 0.0 s ago"),
        ),
        (SILENT, HealthCheck(name="source/http", ok=False, text="did not answer")),
    ],
)
def test_a_source_is_ready_once_it_has_listed(
    source: SourceDescribed | Unanswered, check: HealthCheck
) -> None:
    assert health.readiness([source], Timestamp(NOON + 5)) == [check]


def test_a_source_whose_watch_fails_is_shown_as_failed_and_stays_ready() -> None:
    source = described(name=API, error="cannot watch pods: unreachable")
    checks = health.readiness([source], Timestamp(NOON + 5))
    assert health.is_ready(checks)
    assert health.report(checks, "readyz", ok=True).splitlines() == [
        "[-]source/api failed: seen 5.0 s ago, cannot watch pods: unreachable",
        "readyz check passed",
    ]
    assert "[+]source/api ok" in health.report(
        health.readiness([described(name=API)], NOON), "readyz", ok=True
    )


@pytest.mark.parametrize(
    ("sources", "ready"), [([], True), ([True], True), ([False, True], True), ([False], False)]
)
def test_the_agent_is_ready_when_one_of_its_sources_is_or_there_is_none(
    sources: list[bool], *, ready: bool
) -> None:
    assert health.is_ready([HealthCheck(name="source", ok=ok) for ok in sources]) is ready


@pytest.mark.parametrize(
    ("others", "local", "ready"),
    [((False,), True, False), ((True,), False, True), ((), True, True), ((), False, False)],
)
def test_local_objects_alone_make_ready_only_who_has_nothing_else(
    others: tuple[bool, ...], *, local: bool, ready: bool
) -> None:
    sources = [described(name=LOCAL_FILES, ready=local)]
    sources += [described(ready=other) for other in others]
    assert health.is_ready(health.readiness(sources, NOON)) is ready


def test_who_does_not_answer_is_not_well() -> None:
    assert health.answers("tree", ()) == HealthCheck(name="tree/answers", ok=True)
    assert health.answers("tree", SILENT) == HealthCheck(
        name="tree/answers", ok=False, text="did not answer"
    )


# Metrics.

NOTHING = Measurements(
    node_name="node1",
    releases=ReleaseState(Release("1.0", "aaa"), Release("1.1", "bbb")),
    pods=NO_PODS,
    sources=(),
    tree=tree(),
    roles=(),
    dead_letters={},
    objects=(),
    feed=SILENT,
)


def samples(measured: Measurements) -> dict[tuple[str, ...], float]:
    """Return all samples of the agent's own."""
    families = text_string_to_metric_families(exposition(measured).decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name.startswith(("kubelet_", "actorlet_"))
    }


def test_terminal_pods_are_desired_but_not_active() -> None:
    pods = dataclasses.replace(
        NO_PODS,
        pods=(make_pod("a"), make_pod("b", phase="Failed"), make_pod("c", source="api")),
        static_pods=2,
        regular_pods=1,
        shadowed={PodUid("b"): PodUid("a")},
        ephemeral_containers=4,
    )
    found = samples(dataclasses.replace(NOTHING, pods=pods))
    assert found["kubelet_desired_pods", "true"] == 2.0
    assert found["kubelet_active_pods", "true"] == 1.0
    assert found["kubelet_active_pods", ""] == 1.0
    assert found["actorlet_shadowed_pods",] == 1.0
    assert found["kubelet_managed_ephemeral_containers",] == 4.0


def test_who_does_not_answer_has_no_metrics_rather_than_zeros() -> None:
    measured = dataclasses.replace(NOTHING, pods=SILENT, tree=SILENT, sources=(SILENT,))
    assert samples(measured) == {
        ("kubelet_node_name", "node1"): 1.0,
        ("actorlet_build_info", "aaa", "1.0"): 1.0,
        ("actorlet_restart_due",): 1.0,
        ("actorlet_source_ready", "http"): 0.0,
    }


def test_a_source_that_was_never_seen_has_no_time_of_it() -> None:
    file, http = described(), described(name=HTTP, ready=False, last_listed=None)
    found = samples(dataclasses.replace(NOTHING, sources=(file, http)))
    assert found["actorlet_source_last_listed_timestamp_seconds", "file"] == NOON
    assert ("actorlet_source_last_listed_timestamp_seconds", "http") not in found
    assert (found["actorlet_source_ready", "file"], found["actorlet_source_ready", "http"]) == (
        1,
        0,
    )


def test_actors_are_counted_by_role_so_that_ten_thousand_are_one_row() -> None:
    measured = tree(
        actor("source/file", mailbox=2),
        actor("source/http", "backoff", mailbox=3),
        actor("objects"),
        dynamic=(dynamic_children(states={"running": 9_998, "failed": 2}, mailbox=7),),
    )
    found = samples(dataclasses.replace(NOTHING, tree=measured))
    assert {key[1:]: n for key, n in found.items() if key[0] == "actorlet_actors"} == {
        ("source", "running"): 1.0,
        ("source", "backoff"): 1.0,
        ("objects", "running"): 9_999.0,
        ("objects", "failed"): 2.0,
    }
    assert found["actorlet_mailbox_depth", "source"] == 5.0
    assert found["actorlet_mailbox_depth", "objects"] == 7.0


def test_what_the_kernel_counts_is_shown_by_role() -> None:
    role = RoleStatistics(
        role="web",
        handled=11,
        seconds=1.5,
        buckets=tuple([1] * (len(SECONDS_BUCKETS) + 1)),
        restarts={"failed": 2},
    )
    measured = dataclasses.replace(
        NOTHING, roles=(role,), dead_letters={("web", "address closed"): 3}
    )
    found = samples(measured)
    assert found["actorlet_messages_handled_total", "web"] == 11.0
    assert found["actorlet_actor_restarts_total", "web", "failed"] == 2.0
    assert found["actorlet_dead_letters_total", "web", "address closed"] == 3.0
    assert found["actorlet_message_seconds_sum", "web"] == 1.5
    assert found["actorlet_message_seconds_count", "web"] == 11.0
    assert found["actorlet_message_seconds_bucket", "web", "0.001"] == 3.0


# Container runtimes.


def runtime(**more: object) -> ContainerRuntimeDescribed:
    """Return how a container runtime is when it is well."""
    none = TimesCounted(bounds=(1.0,), buckets=(0, 0), seconds=0.0)
    well = ContainerRuntimeDescribed(
        name="containerd",
        version="1.6.20",
        endpoint="/run/c.sock",
        trouble="",
        network_trouble="",
        pleg=PlegDescribed(
            last_seen=NOON,
            silence=Seconds(2.0),
            relists=none,
            intervals=none,
            streams=1,
            stream_errors=0,
            latencies=none,
        ),
        operations={},
    )
    return dataclasses.replace(well, **more)  # type: ignore[arg-type]  # fields by name


def seen(silence: float, **more: object) -> ContainerRuntimeDescribed:
    """Return how a runtime is in which everything was seen so long ago."""
    pleg = dataclasses.replace(runtime().pleg, silence=Seconds(silence), **more)  # type: ignore[arg-type]
    return runtime(pleg=pleg)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (runtime(), (True, "last seen active 2.0 s ago")),
        (seen(180.0), (True, "last seen active 180.0 s ago")),
        (seen(180.5), (False, "last seen active 180.5 s ago")),
        (seen(3.0, last_seen=None), (True, "not yet successful")),
        (seen(181.0, last_seen=None), (False, "not yet successful")),
        (SILENT, (False, "did not answer")),
    ],
)
def test_rule_g8_everything_has_to_be_seen_within_three_minutes(
    answer: ContainerRuntimeDescribed | Unanswered, expected: tuple[bool, str]
) -> None:
    check = health.pleg(answer)
    assert (check.name, check.ok, check.text) == ("pleg", *expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (runtime(), "[+]container-runtime ok: containerd 1.6.20 at /run/c.sock"),
        (runtime(trouble="refused"), "[-]container-runtime failed: refused"),
        (SILENT, "[-]container-runtime failed: did not answer"),
    ],
)
def test_a_runtime_that_cannot_be_used_makes_the_agent_unready(
    answer: ContainerRuntimeDescribed | Unanswered, expected: str
) -> None:
    (check,) = health.container_runtime(answer)
    assert health.report([check], "readyz", ok=check.ok).splitlines()[0] == expected


def test_a_network_that_is_not_ready_is_shown_and_makes_nothing_unready() -> None:
    checks = health.container_runtime(runtime(network_trouble="no plugin"))
    assert all(check.ok for check in checks)
    shown = health.report(checks, "readyz", ok=True).splitlines()
    assert shown[1] == "[-]container-runtime-network failed: no plugin"
