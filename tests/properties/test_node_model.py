"""The Node's pure parts against models: times of conditions, and observed through two channels."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actors.node.conditions import (
    ConditionStatus,
    ConditionType,
    NodeCondition,
    condition_documents,
    conditions_differ,
)
from actors.node.observed import ObservedNode, uid_of
from manifests.times import rfc3339
from messages.pods import JsonObject
from messages.units import Timestamp
from messages.watches import ObjectOp

FOREIGN = {"type": "NetworkUnavailable", "status": "False", "lastTransitionTime": "then"}

reports = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=1000),
        st.fixed_dictionaries({kind: st.sampled_from(ConditionStatus) for kind in ConditionType}),
        st.sampled_from(["Fine", "Other"]),
    ),
    min_size=1,
)


@given(reports)
def test_a_time_of_change_changes_exactly_when_the_status_does(
    history: list[tuple[int, dict[ConditionType, ConditionStatus], str]],
) -> None:
    told: list[JsonObject] = [FOREIGN]
    changed: dict[ConditionType, tuple[ConditionStatus, str]] = {}
    now = 1_700_000_000
    for seconds, statuses, reason in history:
        now += seconds
        stamp = rfc3339(Timestamp(now))
        found = [
            NodeCondition(type=kind, status=statuses[kind], reason=reason, message="")
            for kind in ConditionType
        ]
        ours = condition_documents(found, told, Timestamp(now))
        for kind, status in statuses.items():
            if kind not in changed or changed[kind][0] is not status:
                changed[kind] = (status, stamp)
        assert [each["type"] for each in ours] == list(ConditionType)
        assert {each["lastHeartbeatTime"] for each in ours} == {stamp}
        assert {each["type"]: each["lastTransitionTime"] for each in ours} == {
            kind: time for kind, (_, time) in changed.items()
        }
        told = [FOREIGN, *ours]
        assert not conditions_differ(found, told)


class TwoChannels(RuleBasedStateMachine):
    """An API server whose watch and whose answers are told with delays, each in its own order.

    Whatever the delays: in the end what is known is the truth, and what is gone does not come back once
    every event of it was told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.observed = ObservedNode()
        self.version = 10
        self.serial = 0
        self.truth: dict[str, Any] | None = None
        self.watch: deque[tuple[str, Any]] = deque([("list", (None, "10"))])
        self.answers: deque[tuple[str, Any]] = deque()

    def _write(self, op: ObjectOp, *, uid: str = "") -> dict[str, Any]:
        self.version += 1
        document = {
            "metadata": {
                "uid": uid or uid_of(self.truth or {}),
                "resourceVersion": str(self.version),
            }
        }
        self.truth = None if op is ObjectOp.DELETED else document
        self.watch.append(("event", (op, document)))
        return document

    @rule(by_us=st.booleans())
    def somebody_creates_it(self, by_us: bool) -> None:  # noqa: FBT001  # hypothesis names arguments
        if self.truth is not None:
            return
        self.serial += 1
        document = self._write(ObjectOp.ADDED, uid=f"u{self.serial}")
        if by_us:
            self.answers.append(("node", document))

    @rule(by_us=st.booleans())
    def somebody_changes_it(self, by_us: bool) -> None:  # noqa: FBT001  # the same
        if self.truth is not None:
            document = self._write(ObjectOp.MODIFIED)
            if by_us:
                self.answers.append(("node", document))
        elif by_us:
            self.answers.append(("missing", None))

    @precondition(lambda self: self.truth is not None)
    @rule()
    def somebody_deletes_it(self) -> None:
        self._write(ObjectOp.DELETED)

    @rule()
    def the_watch_lists_anew(self) -> None:
        self.watch.append(("list", (self.truth, str(self.version))))

    @precondition(lambda self: self.watch)
    @rule()
    def the_watch_tells(self) -> None:
        kind, content = self.watch.popleft()
        if kind == "event":
            self.observed.changed(*content)
        else:
            document, version = content
            self.observed.listed([document] if document else [], version)

    @rule()
    def the_watch_fails(self) -> None:
        self.observed.unwatched()

    @precondition(lambda self: not self.watch)
    @rule()
    def the_watch_works_again(self) -> None:
        self.observed.watched()

    @rule()
    def the_machine_is_looked_at(self) -> None:
        self.observed.age()

    @precondition(lambda self: self.answers)
    @rule()
    def an_answer_comes(self) -> None:
        kind, content = self.answers.popleft()
        if kind == "node":
            self.observed.answered(content)
        elif kind == "missing":
            self.observed.missing()
        else:
            self.observed.looked(content)

    @precondition(lambda self: self.observed.needs_look and not self.answers)
    @rule()
    def we_look(self) -> None:
        self.observed.looking()
        self.answers.append(("look", self.truth))

    @invariant()
    def once_all_was_told_what_is_known_is_the_truth(self) -> None:
        told_all = not self.watch and not self.answers
        if told_all and not self.observed.needs_look:
            assert self.observed.node == self.truth


TestTwoChannels = TwoChannels.TestCase
