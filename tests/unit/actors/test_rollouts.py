"""Turns in a group: one at a time, in order, and never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pods.rollout_keeper import RolloutTurns
from messages.change_hooks import ReturnRollout, RolloutGranted, RolloutGroup, WantRollout
from messages.pods import PodUid
from messages.units import Seconds
from tests.support.kernel.probe import Probe

GROUP = RolloutGroup("default", "web")
NOW = Seconds(100.0)
LONGEST = Seconds(600.0)


def wants(pod: str, group: RolloutGroup = GROUP) -> WantRollout:
    answers: Probe[RolloutGranted] = Probe()
    return WantRollout(
        group=group, pod=PodUid(pod), pod_name=pod, container="main", reply_to=answers
    )


def returns(pod: str) -> ReturnRollout:
    return ReturnRollout(group=GROUP, pod=PodUid(pod), container="main")


def granted(turns: RolloutTurns) -> list[str]:
    found, turns.granted = turns.granted, []
    return [each.pod_name for each in found]


def test_turns_come_one_after_another_in_the_order_of_the_questions() -> None:
    turns = RolloutTurns()
    for pod in ("a", "b", "c"):
        turns.want(wants(pod), NOW)
    assert (granted(turns), turns.waiting()) == (["a"], 2)
    turns.want(wants("a"), NOW)
    turns.want(wants("c"), NOW)
    assert granted(turns) == ["a"]
    turns.give_back(returns("b"), NOW)
    turns.give_back(returns("a"), NOW)
    assert granted(turns) == ["c"]
    turns.give_back(returns("c"), NOW)
    turns.give_back(returns("c"), NOW)
    assert (granted(turns), turns.groups) == ([], {})


def test_a_turn_that_nobody_returns_is_over_some_time() -> None:
    turns = RolloutTurns()
    turns.want(wants("a"), NOW)
    turns.want(wants("b"), NOW)
    assert turns.next_due(LONGEST) == NOW + LONGEST
    assert turns.overdue(Seconds(NOW + LONGEST - 1), LONGEST) == []
    granted(turns)
    (late,) = turns.overdue(Seconds(NOW + LONGEST), LONGEST)
    assert (late.pod_name, granted(turns)) == ("a", ["b"])
    assert [each.pod_name for each in turns.holders()] == ["b"]


@given(st.lists(st.tuples(st.sampled_from("wr"), st.sampled_from("abcd"))))
def test_whatever_happens_one_has_its_turn_if_anybody_wants_one(
    history: list[tuple[str, str]],
) -> None:
    turns, wanted = RolloutTurns(), set[str]()
    for what, pod in history:
        if what == "w":
            wanted.add(pod)
            turns.want(wants(pod), NOW)
        else:
            wanted.discard(pod)
            turns.give_back(returns(pod), NOW)
        holders = {each.pod_name for each in turns.holders()}
        assert len(holders) == min(1, len(wanted))
        assert holders <= wanted
        assert turns.waiting() == len(wanted) - len(holders)
