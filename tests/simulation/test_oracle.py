"""The oracle says what is broken in words, whatever it sees."""

from __future__ import annotations

import random
from pathlib import Path

from tests.environment.node import Node, Sources
from tests.environment.oracle.cluster_rest import restless_cluster
from tests.environment.oracle.oracle import Oracle
from tests.environment.oracle.page import PAGE, with_table
from tests.simulation.events.event import World
from tests.simulation.workload import pod_of


def test_a_mirror_without_any_condition_is_said_not_to_be_ready(tmp_path: Path) -> None:
    node = Node(1, tmp_path, sources=Sources(cluster=True))
    world = World(node, Oracle(node), {}, random.Random(1))
    world.places["a"] = node.origins()[0]
    world.brings("a", pod_of("a", "a-1", "plain", world.random))
    world.tells(surely=True)
    node.advance(10.0)
    assert node.cluster is not None
    assert list(restless_cluster(node, world.oracle.wishes)) == []
    store = node.cluster.store
    mirror = dict(store.get("pods", "default", "a-node1"))
    del mirror["status"]["conditions"]
    store.remove("pods", "default", "a-node1", grace=0)
    store.add(mirror)
    said = list(restless_cluster(node, world.oracle.wishes))
    assert said == ["at the API server a-node1 is ready: , not True"]


def test_the_page_on_testing_has_each_rule_as_its_class_says_it() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_table(page), "make reference"


def test_an_actor_that_does_not_show_its_last_error_any_more_is_said(tmp_path: Path) -> None:
    oracle = Oracle(Node(1, tmp_path))
    oracle.fails(
        {"probe-keeper": (1, "it crashed"), "runtime": (0, ""), "pods/a": (1, "it crashed")}
    )
    oracle.fails({"probe-keeper": (2, "it crashed again"), "runtime": (1, ""), "pods/a": (0, "")})
    assert oracle.broken == []  # another worker has the name of the one that is gone
    oracle.fails({"probe-keeper": (3, ""), "runtime": (1, "")})
    assert oracle.broken == [
        "0.00 s: probe-keeper does not show any more that it failed with it crashed again"
    ]


def test_a_new_agent_knows_no_errors_also_if_the_one_before_began_in_the_same_moment(
    tmp_path: Path,
) -> None:
    oracle = Oracle(Node(1, tmp_path))
    for _ in range(2):
        oracle.wishes.note_kill(1.0)
        oracle.fails({"runtime": (1, "it crashed")})
        oracle.wishes.note_kill(1.0)
        oracle.fails({"runtime": (2, "")})
    assert oracle.broken == []
