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


def test_an_actor_that_does_not_show_its_last_error_any_more_is_said_and_a_new_agent_knows_none(
    tmp_path: Path,
) -> None:
    oracle = Oracle(Node(1, tmp_path))
    oracle.fails({"probe-keeper": "it crashed", "runtime": ""})
    oracle.fails({"probe-keeper": "it crashed again", "runtime": ""})
    for _ in range(2):  # in one moment
        oracle.wishes.note_kill(1.0)
        oracle.fails({"probe-keeper": "", "runtime": "it crashed"})
        assert oracle.broken == []
        oracle.wishes.note_kill(1.0)
        oracle.fails({"probe-keeper": "", "runtime": ""})
        assert oracle.broken == []
    oracle.fails({"probe-keeper": "", "runtime": "it crashed"})
    oracle.fails({"probe-keeper": "", "runtime": ""})
    assert oracle.broken == [
        "0.00 s: runtime does not show any more that it failed with it crashed"
    ]
