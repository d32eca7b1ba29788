"""Turns in a group: one at a time, in order, and never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pods.rollout_keeper import RolloutLedger
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


def granted(ledger: RolloutLedger) -> list[str]:
    found, ledger.granted = ledger.granted, []
    return [each.pod_name for each in found]


def test_turns_come_one_after_another_in_the_order_of_the_questions() -> None:
    ledger = RolloutLedger()
    for pod in ("a", "b", "c"):
        ledger.want(wants(pod), NOW)
    assert (granted(ledger), ledger.waiting()) == (["a"], 2)
    ledger.want(wants("a"), NOW)
    ledger.want(wants("c"), NOW)
    assert granted(ledger) == ["a"]
    ledger.give_back(returns("b"), NOW)
    ledger.give_back(returns("a"), NOW)
    assert granted(ledger) == ["c"]
    ledger.give_back(returns("c"), NOW)
    ledger.give_back(returns("c"), NOW)
    assert (granted(ledger), ledger.groups) == ([], {})


def test_a_turn_that_nobody_returns_is_over_some_time() -> None:
    ledger = RolloutLedger()
    ledger.want(wants("a"), NOW)
    ledger.want(wants("b"), NOW)
    assert ledger.next_due(LONGEST) == NOW + LONGEST
    assert ledger.overdue(Seconds(NOW + LONGEST - 1), LONGEST) == []
    granted(ledger)
    (late,) = ledger.overdue(Seconds(NOW + LONGEST), LONGEST)
    assert (late.pod_name, granted(ledger)) == ("a", ["b"])
    assert [each.pod_name for each in ledger.holders()] == ["b"]


@given(st.lists(st.tuples(st.sampled_from("wr"), st.sampled_from("abcd"))))
def test_whatever_happens_one_has_its_turn_if_anybody_wants_one(
    history: list[tuple[str, str]],
) -> None:
    ledger, wanted = RolloutLedger(), set[str]()
    for what, pod in history:
        if what == "w":
            wanted.add(pod)
            ledger.want(wants(pod), NOW)
        else:
            wanted.discard(pod)
            ledger.give_back(returns(pod), NOW)
        holders = {each.pod_name for each in ledger.holders()}
        assert len(holders) == min(1, len(wanted))
        assert holders <= wanted
        assert ledger.waiting() == len(wanted) - len(holders)
