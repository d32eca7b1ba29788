"""Who follows the Node hears of it, though the registrar crashes while it tells them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from actors.node.followers import Followers, FollowersMemory
from kernel import Port
from messages.node import FollowNode, NodeFact, NodeIsGone
from messages.units import Seconds

GONE = NodeIsGone(name="node1")
REASON = NodeIsGone(name="node1", reason="it is somebody else's")
PERIOD = Seconds(10.0)


class CrashError(Exception):
    """The registrar crashes."""


@dataclass(eq=False)
class Follower(Port[NodeFact]):
    """Keeps what it hears."""

    heard: list[NodeFact] = field(default_factory=list)
    is_fatal: bool = False
    """Who tells it something crashes."""

    @override
    def tell(self, message: NodeFact, /) -> None:
        if self.is_fatal:
            raise CrashError
        self.heard.append(message)


def test_all_are_told_again_what_a_life_crashed_over_and_nobody_what_all_have_heard() -> None:
    memory, first, second = FollowersMemory(), Follower(), Follower()
    followers = Followers(PERIOD, memory)
    for each in (first, second):
        followers.add(FollowNode(subscriber=each))
    assert followers.tell(GONE)
    second.is_fatal = True
    with pytest.raises(CrashError):
        followers.tell(REASON)
    second.is_fatal = False
    next_life = Followers(PERIOD, memory)
    assert next_life.tell(REASON)
    assert not next_life.tell(REASON)
    assert first.heard == [GONE, REASON, REASON]
    assert second.heard == [GONE, REASON]


def test_who_subscribes_while_the_registrar_crashes_over_it_is_told_by_its_next_life() -> None:
    memory, late = FollowersMemory(), Follower(is_fatal=True)
    followers = Followers(PERIOD, memory)
    assert followers.tell(GONE)
    with pytest.raises(CrashError):
        followers.add(FollowNode(subscriber=late))
    late.is_fatal = False
    next_life = Followers(PERIOD, memory)
    next_life.add(FollowNode(subscriber=Follower()))
    assert next_life.tell(GONE)
    assert late.heard == [GONE]
