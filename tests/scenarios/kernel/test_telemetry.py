"""What the kernel counts and describes."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from kernel import (
    SECONDS_BUCKETS,
    DynamicSpec,
    Key,
    OnExhausted,
    Runtime,
    StartChild,
    SupervisorSpec,
)
from tests.support.kernel.players import Say, Troupe, crash, key
from tests.support.kernel.stage import stage

A, B = key("web/a"), key("web/b")


def test_actors_of_one_role_are_counted_together(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(A), troupe.child(B)))
    with stage(spec, runtime) as play:
        play.tell(A, Say(word="one"))
        play.tell_all(B, Say(word="two"), Say(word="three"))
        (statistics,) = play.system.telemetry.statistics()

        assert (statistics.role, statistics.handled) == ("web", 3)
        assert statistics.seconds > 0
        # Each message is in one bucket; one more bucket is for those above the last bound.
        assert sum(statistics.buckets) == 3
        assert len(statistics.buckets) == len(SECONDS_BUCKETS) + 1


def test_restarts_are_counted_by_their_reason(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(A), troupe.child(B)))
    with stage(spec, runtime) as play:
        play.tell(A, crash())
        play.tell(B, crash())
        play.advance(1.0)

        assert play.system.telemetry.statistics()[0].restarts == {"failed": 2}
        assert play.describe()["web/a"].restarts == 1


def test_roles_come_in_order(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(
        name="root", children=(troupe.child(key("web")), troupe.child(key("disk")))
    )
    with stage(spec, runtime) as play:
        roles = [statistics.role for statistics in play.system.telemetry.statistics()]
        assert roles == ["disk", "web"]


def test_the_tree_is_described_from_the_root_down(troupe: Troupe, runtime: Runtime) -> None:
    pool = Key[Any]("pool")
    inner = SupervisorSpec(name="inner", children=(troupe.child(A), DynamicSpec(key=pool)))
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        play.tell(pool, StartChild(spec=troupe.child(B)))
        play.tell(A, Say(word="one"))
        play.tell(A, crash(ValueError("a bug")))
        play.tell_all(A, Say(word="two"), Say(word="three"))
        tree = play.system.describe()

        kind = troupe.kind.__name__
        assert [(node.name, node.parent, node.type, node.state) for node in tree] == [
            ("root", "", "supervisor", "running"),
            ("inner", "root", "supervisor", "running"),
            ("web/a", "inner", kind, "backoff"),
            ("pool", "inner", "supervisor", "running"),
            ("web/b", "pool", kind, "running"),
        ]
        node = tree[2]
        assert (node.handled, node.mailbox, node.last_error) == (1, 2, "ValueError: a bug")


def test_the_tree_says_what_happens_when_somebody_fails_too_often(
    troupe: Troupe, runtime: Runtime
) -> None:
    alone = troupe.child(B, on_exhausted=OnExhausted.ISOLATE)
    with stage(SupervisorSpec(name="root", children=(troupe.child(A), alone)), runtime) as play:
        tree = play.system.describe()
    assert [(node.name, node.on_exhausted) for node in tree] == [
        ("root", "escalate"),
        ("web/a", "escalate"),
        ("web/b", "isolate"),
    ]


def test_a_dead_letter_is_logged_by_its_type_and_never_by_its_content(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(A),)), runtime) as play:
        play.stop()
        play.port(A).tell(Say(word="the secret"))

    letter = next(event for event in logs if event["event"] == "dead letter")
    assert (letter["actor"], letter["message"], letter["why"]) == ("web/a", "Say", "address closed")
    assert "the secret" not in str(logs)


def test_a_crash_is_logged_without_what_was_being_handled(
    troupe: Troupe, runtime: Runtime, logs: list[MutableMapping[str, Any]]
) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(A),)), runtime) as play:
        play.tell(A, crash(ValueError("a bug")))

    failed = [event for event in logs if event["event"] == "actor failed"]
    assert [(event["actor"], event["message"], event["error"]) for event in failed] == [
        ("web/a", "Do", "ValueError: a bug")
    ]


def test_a_tree_that_is_down_can_still_be_described(troupe: Troupe, runtime: Runtime) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(A),)), runtime) as play:
        play.stop()

        assert {node.state for node in play.system.describe()} == {"stopped"}
