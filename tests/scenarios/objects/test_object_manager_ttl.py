"""The holders of objects hear from the manager for how long what they fetch is current."""

from __future__ import annotations

import pytest

from messages.node import NodeIs, NodeIsGone, NodeUid
from messages.pods import API
from stores.objects.node_ttl import NODE_TTL
from tests.support.objects.manager_players import needing, secret
from tests.support.objects.manager_stage import ManagerStage

DB = secret("db")


@pytest.fixture
def manager(manager: ManagerStage) -> ManagerStage:
    """Return a manager that knows of a pod with a Secret."""
    manager.serves(API, needing("web", "db"))
    return manager


def says(manager: ManagerStage, ttl: str | None) -> None:
    """Have the Node say a time to live, or be gone."""
    document = {"metadata": {"annotations": {NODE_TTL: ttl}}}
    there_is = NodeIs(name="n1", uid=NodeUid("u"), is_deleting=False, document=document)
    manager.node.says(NodeIsGone(name="n1") if ttl is None else there_is)
    manager.play.settle()


def test_holders_hear_of_another_time_to_live_at_once(manager: ManagerStage) -> None:
    assert manager.records[DB].references.time_to_live == 60.0
    says(manager, "300")
    assert manager.records[DB].references.time_to_live == 300.0
    says(manager, None)
    assert manager.records[DB].references.time_to_live == 60.0


def test_a_node_of_which_something_else_changed_is_nothing_to_them(manager: ManagerStage) -> None:
    says(manager, "300")
    heard = len(manager.records[DB].heard)
    says(manager, "300")
    assert len(manager.records[DB].heard) == heard


def test_it_outlives_a_crash_of_the_manager(manager: ManagerStage) -> None:
    says(manager, "300")
    heard = len(manager.records[DB].heard)
    manager.crashes()
    lives = [told.time_to_live for told in manager.records[DB].heard[heard:]]
    assert set(lives) == {300.0}
