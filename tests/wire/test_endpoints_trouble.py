"""Health and documents while something in the agent is not well: each says so, and of itself only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from typing_extensions import override

from kernel import (
    ChildSpec,
    DynamicMessage,
    DynamicSpec,
    Key,
    OnExhausted,
    PooledActor,
    StartChild,
    SupervisorSpec,
    isolated,
)
from messages.objects import (
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectsDescribed,
    ObjectState,
)
from messages.pods import FILE, HTTP, PodUid
from messages.sources import DescribeSource, Epoch, SourceDescribed, SourceMessage
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.units import Timestamp
from messages.watches import DescribeWatches, WatchesDescribed
from tests.support.agent.process import eventually
from tests.support.agent.served import IMPATIENT, NO_PODS, SOON, Served, StandIns, served_tree
from tests.support.builders import make_mirror, make_pod
from tests.support.kernel.players import Gate, Say
from tests.support.wire.client import fetch


class Source(PooledActor[SourceMessage]):
    """A source without manifests."""

    def __init__(self, before: Callable[[], object], *, ready: bool) -> None:
        self._before = before
        self._ready = ready

    @override
    def receive(self, message: SourceMessage, /) -> None:
        self._before()
        if isinstance(message, DescribeSource):
            described = SourceDescribed(
                name=FILE,
                ready=self._ready,
                epoch=Epoch(1, 1),
                last_listed=Timestamp(0.0) if self._ready else None,
                rejected={},
                error="" if self._ready else "is away",
                manifests=(),
            )
            message.reply_to.tell(described)


def source(
    name: str, before: Callable[[], object] = lambda: None, *, ready: bool = True
) -> ChildSpec[Any]:
    """Return the spec of a source that does ``before`` whenever it is told something."""
    return ChildSpec(
        key=Key[SourceMessage](name),
        factory=lambda: Source(before, ready=ready),
        on_exhausted=OnExhausted.ISOLATE,
    )


def raises(error: BaseException) -> Callable[[object], None]:
    """Return a handler that raises ``error``."""

    def handler(_message: object) -> None:
        raise error

    return handler


def body_of_failed_health(agent: Served) -> list[str]:
    """Return the lines of ``/healthz`` that are not well; fails when it says that it is."""
    answer = agent.get_health("/healthz")
    assert answer.status == 500
    assert answer.text.endswith("healthz check failed\n")
    return [line for line in answer.text.splitlines() if line.startswith("[-]")]


def test_a_stuck_pod_manager_is_said_to_be_stuck_within_the_deadline_and_the_rest_goes_on(
    gate: Gate,
) -> None:
    file = source("file")
    with served_tree(file, sources=(FILE,), pod_manager=gate, stand_ins=IMPATIENT) as agent:
        assert body_of_failed_health(agent) == [
            "[-]pod-manager/answers failed: pod-manager did not answer within 0.25 s"
        ]
        # Its pods cannot be shown; everything else is.
        answer = agent.get("/pods")
        assert answer.status == 503
        assert answer.json == {
            "error": "pod-manager: pod-manager did not answer within 0.25 s",
            "code": 503,
        }
        assert agent.get("/readyz").status == 200
        assert agent.get("/sourcez").json["sources"][0]["name"] == "file"
        metrics = agent.get("/metrics").text
        assert "kubelet_desired_pods" not in metrics
        assert 'actorlet_source_ready{source="file"} 1.0' in metrics
        gate.open()
        eventually(lambda: agent.get("/healthz").status == 200)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("hush"), "crashed with ValueError"),
        (StopIteration(), "crashed with StopIteration"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_a_pod_manager_that_crashes_over_a_question_is_said_to_crash(
    error: BaseException, said: str
) -> None:
    with served_tree(pod_manager=raises(error)) as agent:
        answer = agent.get("/pods")
        assert answer.status == 503
        assert answer.json["error"] == f"pod-manager: {said}"
        assert body_of_failed_health(agent) == [f"[-]pod-manager/answers failed: {said}"]
        assert agent.get("/actorz").status == 200


def test_an_actor_that_is_being_restarted_is_well_and_one_that_failed_too_often_is_not() -> None:
    sources = SupervisorSpec(name="sources", children=(source("file"),), intensity=1)
    with served_tree(sources) as agent:
        # Once is what restarts are for.
        agent.get("/debug/actors/file/crash", "POST")
        eventually(lambda: agent.actor("file").restarts == 1)
        assert agent.get("/healthz").status == 200
        eventually(lambda: agent.actor("file").state == "running")
        # Twice is more than its supervisor tolerates.
        agent.get("/debug/actors/file/crash", "POST")
        eventually(lambda: agent.actor("file").state == "failed")
        (line,) = body_of_failed_health(agent)
        assert line.startswith("[-]file failed: failed: ")
        assert "crashed on request" in line


CROWD = Key[DynamicMessage]("objects")
# None is tolerated: the next attempt of one that fails comes after the test.
HOLDERS = SupervisorSpec(name="holders", children=(DynamicSpec(key=CROWD, intensity=0),))


class Bystander(PooledActor[Say]):
    """Lives, and says nothing."""

    @override
    def receive(self, message: Say, /) -> None:
        """Hear nothing."""


def start(agent: Served, *names: str, fails: bool = False) -> None:
    """Have children of the crowd started."""
    port = agent.system.address(CROWD)
    for name in names:
        port.tell(_start(name, fails=fails))


def _start(name: str, *, fails: bool) -> StartChild:

    def broken() -> NoReturn:
        raise ValueError("a bug")

    return StartChild(
        spec=isolated(Key[Say](f"objects/secrets/shop/{name}"), broken if fails else Bystander)
    )


def test_one_bad_object_of_many_makes_nobody_unwell_and_is_shown() -> None:
    with served_tree(HOLDERS) as agent:
        start(agent, "bad", fails=True)
        start(agent, "good")
        eventually(lambda: agent.actor("objects/secrets/shop/bad").state == "failed")
        eventually(lambda: agent.actor("objects/secrets/shop/good").state == "running")
        assert (agent.get("/healthz").status, agent.get("/healthz").text) == (200, "ok")

        verbose = agent.get("/healthz?verbose")
        assert verbose.status == 200
        assert verbose.text.splitlines()[-3:] == [
            "[+]objects/* ok: 1 running, 1 failed",
            "[-]objects/secrets/shop/bad failed: failed: ValueError: a bug",
            "healthz check passed",
        ]
        shown = {each["name"]: each["state"] for each in agent.get("/actorz").json["actors"]}
        assert shown["objects/secrets/shop/bad"] == "failed"
        metrics = agent.get("/metrics").text
        assert 'actorlet_actors{actor="objects",state="running"} 2.0' in metrics
        assert 'actorlet_actors{actor="objects",state="failed"} 1.0' in metrics


def test_objects_that_all_fail_make_the_agent_unwell() -> None:
    with served_tree(HOLDERS) as agent:
        start(agent, "a", fails=True)
        eventually(lambda: agent.actor("objects/secrets/shop/a").state == "failed")
        assert agent.get("/healthz").status == 200
        start(agent, *"bcde", fails=True)
        eventually(lambda: agent.get("/healthz").status == 500)
        assert body_of_failed_health(agent)[0] == "[-]objects/* failed: 5 failed"


def test_readiness_is_of_each_source_by_itself(gate: Gate) -> None:
    children = (source("file"), source("http", gate))
    with served_tree(*children, sources=(FILE, HTTP), stand_ins=IMPATIENT) as agent:
        verbose = agent.get("/readyz?verbose")
        assert verbose.status == 200
        assert "[-]source/http failed: http did not answer within 0.25 s" in verbose.text
        assert "[+]source/file ok: seen " in verbose.text
        assert agent.get("/readyz/file").status == 200
        assert agent.get("/readyz/http").status == 500
        gate.open()
        eventually(lambda: agent.get("/readyz/http").status == 200)


SECRETS = ObjectsDescribed(
    kind=ObjectKind.SECRET,
    objects=(
        ObjectDescribed(
            object=ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db"),
            state=ObjectState.SYNCED,
            references=1,
            is_known=True,
        ),
    ),
    states={ObjectState.SYNCED: 1},
    references=1,
    pods=1,
    changes={},
    decisions={},
    looks=0,
)
CONFIG_MAPS = replace(SECRETS, kind=ObjectKind.CONFIG_MAP, objects=())
WATCHES = WatchesDescribed(watches=(), connections=1, streams=2, reconnects={}, requests={})


def test_watchz_is_what_managers_and_the_keeper_of_watches_say() -> None:
    stand_ins = StandIns(objects=(SECRETS, CONFIG_MAPS), watches=WATCHES)
    with served_tree(stand_ins=stand_ins) as agent:
        document = agent.get("/watchz").json
        assert [row["name"] for row in document["objects"]] == ["db"]
        assert (document["connections"], document["streams"]) == (1, 2)
        metrics = agent.get("/metrics").text
        assert 'actorlet_objects{kind="Secret",state="synced"} 1.0' in metrics


def test_watchz_is_nothing_while_a_manager_is_stuck_and_the_rest_goes_on(gate: Gate) -> None:
    stand_ins = StandIns(objects=(SECRETS,), before=gate, answer_within=SOON)
    with served_tree(stand_ins=stand_ins) as agent:
        answer = agent.get("/watchz")
        assert answer.status == 503
        assert answer.json["error"] == (
            "the manager of Secrets: manager/Secret did not answer within 0.25 s"
        )
        assert "actorlet_objects{" not in agent.get("/metrics").text
        assert agent.get("/healthz").status == 200
        gate.open()
        eventually(lambda: agent.get("/watchz").status == 200)


def test_a_keeper_of_watches_that_is_stuck_hides_no_object(gate: Gate) -> None:
    def stuck(message: object) -> None:
        if isinstance(message, DescribeWatches):
            gate(message)

    stand_ins = StandIns(objects=(SECRETS,), watches=WATCHES, before=stuck, answer_within=SOON)
    with served_tree(stand_ins=stand_ins) as agent:
        document = agent.get("/watchz").json
        assert [row["reconnects"] for row in document["objects"]] == [None]
        assert (document["connections"], document["streams"]) == (None, None)
        gate.open()


def test_who_only_wants_to_know_whether_it_is_ready_has_nobody_describe_thousands_of_watches() -> (
    None
):
    asked: list[object] = []
    stand_ins = StandIns(watches=WATCHES, before=asked.append)
    with served_tree(stand_ins=stand_ins) as agent:
        assert agent.get("/readyz").text == "ok"
        assert asked == []
        assert "[+]api-server ok" in agent.get("/readyz?verbose").text
        assert DescribeWatches in {type(message) for message in asked}


def stuck_at_statuses(gate: Gate) -> Callable[[Any], None]:
    """Return what keeps the keeper of statuses from answering until ``gate`` is open."""

    def wait(message: object) -> None:
        if isinstance(message, DescribeStatuses):
            gate(message)

    return wait


def test_pods_are_told_without_the_keeper_of_statuses_and_the_answer_says_so(gate: Gate) -> None:
    web = make_pod("web", uid="web-1", config_hash="web-1")
    mirror = make_mirror(web, status={"phase": "Running"})
    pods = replace(NO_PODS, pods=(web,), mirrors=(mirror,), static_to_mirror={web.uid: mirror.uid})
    before = stuck_at_statuses(gate)
    running: dict[type, object] = {DescribeStatuses: StatusesDescribed(statuses={})}
    stand_ins = StandIns(pods=pods, running=running, before=before, answer_within=SOON)
    with served_tree(stand_ins=stand_ins) as agent:
        answer = agent.get("/pods")
        assert answer.status == 200
        assert [item["status"] for item in answer.json["items"]] == [{"phase": "Running"}]
        said = answer.headers["Actorlet-Statuses"]
        assert said == "last known, status-keeper does not answer"
        assert agent.get("/pods?pretty").headers["Actorlet-Statuses"] == said
        gate.open()
        eventually(lambda: "Actorlet-Statuses" not in agent.get("/pods").headers)


def test_a_status_that_is_refused_is_shown_and_makes_nothing_unready() -> None:
    troubles = {PodUid("a"): "cannot patch status of pod default/web", PodUid("b"): "no"}
    statuses = StatusesDescribed(statuses={}, troubles=troubles)
    stand_ins = StandIns(watches=WATCHES, running={DescribeStatuses: statuses})
    with served_tree(stand_ins=stand_ins) as agent:
        answer = agent.get("/readyz?verbose")
        assert answer.status == 200
        assert (
            "[-]pod-statuses failed: 2 refused, one of them: cannot patch status of pod default/web"
        ) in answer.text.splitlines()
        assert answer.text.endswith("readyz check passed\n")


def test_nothing_is_ready_before_any_source_has_listed() -> None:
    with served_tree(source("file", ready=False), sources=(FILE,)) as agent:
        answer = agent.get("/readyz")
        assert answer.status == 500
        assert answer.text == (
            "[-]source/file failed: not seen yet, is away\nreadyz check failed\n"
        )
        assert agent.get("/readyz/file").status == 500
        # Whoever asks for another host hears that, and not why.
        elsewhere = fetch(agent.health_port, "/readyz", Host="balancer.example")
        assert (elsewhere.status, elsewhere.text) == (500, "readyz check failed\n")
        # Which is no reason to restart the agent.
        assert agent.get("/healthz").status == 200


def test_with_nothing_to_wait_for_it_is_ready() -> None:
    with served_tree() as agent:
        assert agent.get("/readyz").status == 200
        assert agent.get("/readyz/file").status == 404


def test_a_source_that_does_not_answer_is_shown_as_such(gate: Gate) -> None:
    with served_tree(source("file", gate), sources=(FILE,), stand_ins=IMPATIENT) as agent:
        assert agent.get("/sourcez").json == {
            "sources": [
                {
                    "name": "file",
                    "ready": False,
                    "epoch": None,
                    "lastListed": None,
                    "error": "file did not answer within 0.25 s",
                    "verdicts": {},
                    "manifests": [],
                }
            ]
        }
        assert 'actorlet_source_ready{source="file"} 0.0' in agent.get("/metrics").text
        gate.open()
