"""The merge against a plain model, over arbitrary histories of listings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from messages.changes import Op
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE, FILE, Pod, PodUid
from messages.units import Timestamp
from stores.pods.merge import Merged
from tests.support.builders import edited, make_pod
from tests.support.pods.merging_source import MergingSource

UIDS = ("", "u1", "u2", "u3", "u4")


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Pods that meet again and again: few UIDs, few names, few of everything."""
    return make_pod(
        draw(st.sampled_from("abcd")),
        uid=draw(st.sampled_from(UIDS)),
        source=draw(st.sampled_from(("", "file", "api"))),
        image=draw(st.sampled_from(("registry.example/a", "registry.example/b"))),
        phase=draw(st.sampled_from(("", "Running", "Failed"))),
        deleting=draw(st.booleans()),
        resource_version=draw(st.sampled_from(("1", "2"))),
        metadata=draw(
            st.sampled_from(({}, {"labels": None}, {"labels": {}}, {"labels": {"a": "b"}}))
        ),
        annotations=draw(st.sampled_from(({}, {CONFIG_SEEN: "never"}, {"a": "b"}))),
    )


def admitted(listing: tuple[Pod, ...]) -> list[Pod]:
    """Return the pods that no earlier admitted one of the listing excludes."""
    taken: list[Pod] = []
    for pod in listing:
        rivals = [p for p in taken if p.uid == pod.uid or p.full_name == pod.full_name]
        if pod.uid and not rivals:
            taken.append(pod)
    return taken


def meaning(pod: Pod) -> tuple[Any, ...]:
    """Return what users say about a pod, without what the node or the API server notes."""
    metadata = pod.document["metadata"]
    annotations = dict(pod.annotations)
    for local in (CONFIG_SOURCE, CONFIG_SEEN):
        annotations.pop(local, None)
    return (
        pod.full_name,
        pod.document["spec"],
        metadata.get("labels") or {},
        annotations,
        metadata.get("deletionTimestamp"),
    )


def expected_op(old: Pod | None, new: Pod) -> Op | None:
    if old is None:
        return Op.ADD
    if meaning(old) != meaning(new):
        return Op.DELETE if new.is_deleting else Op.UPDATE
    status = new.document.get("status") or {}
    return Op.RECONCILE if (old.document.get("status") or {}) != status else None


class MergeModel(RuleBasedStateMachine):
    """The model: which pods were told last, and since when each UID is told."""

    def __init__(self) -> None:
        super().__init__()
        self.source = MergingSource(FILE)
        self.told: dict[PodUid, Pod] = {}
        self.since: dict[PodUid, Timestamp] = {}

    @rule(listing=st.lists(pods(), max_size=6))
    def lists(self, listing: list[Pod]) -> None:
        self.check(tuple(listing))

    @rule(data=st.data(), more=st.lists(pods(), max_size=2))
    def lists_some_identical_objects_again(self, data: st.DataObject, more: list[Pod]) -> None:
        known = list(self.told.values())
        again = data.draw(st.lists(st.sampled_from(known), unique_by=id)) if known else []
        self.check((*again, *more))

    @rule()
    def lists_equal_documents_anew(self) -> None:
        merged = self.check(tuple(edited(pod) for pod in self.told.values()))
        assert merged.changes == ()
        assert merged.refreshed == ()

    @rule()
    def lists_the_same_again(self) -> None:
        merged = self.check(self.source.memory.listed or ())
        assert merged.changes == ()
        assert merged.refreshed == ()

    @rule()
    def crashes(self) -> None:
        self.source.forgets()
        self.told = {}

    def check(self, listing: tuple[Pod, ...]) -> Merged:
        self.source.now = Timestamp(self.source.now + 1)
        was_ready = self.source.memory.ready
        before = {kept.pod.uid: kept.pod for kept in self.source.memory.kept.values()}
        merged = self.source.merges(*listing)
        now_told = {pod.uid: pod for pod in admitted(listing)}
        self.since = {uid: self.since.get(uid, self.source.now) for uid in now_told}

        expected = {uid: expected_op(self.told.get(uid), pod) for uid, pod in now_told.items()}
        expected |= dict.fromkeys(self.told.keys() - now_told.keys(), Op.REMOVE)
        assert merged.first is not was_ready
        assert {c.pod.uid: c.op for c in merged.changes} == {u: o for u, o in expected.items() if o}
        assert_well_formed(merged)
        assert replayed(before, merged) == {pod.uid: pod for pod in self.source.memory.pods}
        dropped = Counter(id(drop.pod) for drop in merged.memory.dropped)
        assert Counter(map(id, listing)) == dropped + Counter(map(id, now_told.values()))
        self.told = now_told
        return merged

    @invariant()
    def what_is_kept_is_what_was_told_under_the_nodes_annotations(self) -> None:
        kept = self.source.memory.pods
        assert [pod.uid for pod in kept] == list(self.told)
        for pod in kept:
            told = self.told[pod.uid]
            assert meaning(pod) == meaning(told)
            assert pod.document["metadata"].get("resourceVersion") == told.document["metadata"].get(
                "resourceVersion"
            )
            assert pod.phase == told.phase
            assert pod.source == FILE
            assert pod.annotations[CONFIG_SEEN] == seen_text(self.since[pod.uid])


def assert_well_formed(merged: Merged) -> None:
    ops = [list(Op).index(change.op) for change in merged.changes]
    assert ops == sorted(ops)
    spoken_of = [pod.uid for pod in (*(c.pod for c in merged.changes), *merged.refreshed)]
    assert len(spoken_of) == len(set(spoken_of))


def replayed(kept: Mapping[PodUid, Pod], merged: Merged) -> dict[PodUid, Pod]:
    """Return what a listener holds that goes by the changes and refreshed pods alone."""
    pods = dict(kept)
    for change in merged.changes:
        if change.op is Op.REMOVE:
            assert pods.pop(change.pod.uid) is change.pod
        else:
            pods[change.pod.uid] = change.pod
    pods.update({pod.uid: pod for pod in merged.refreshed})
    return pods


def seen_text(moment: Timestamp) -> str:
    """All times of this test are whole seconds of one hour, from 17:46:40 on."""
    seconds = int(moment) - 1_900_000_000 + 40
    return f"2030-03-17T17:{46 + seconds // 60}:{seconds % 60:02d}.000000000Z"


TestMergeModel = MergeModel.TestCase
