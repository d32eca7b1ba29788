"""The pod index against a plain model: what each source told, and nothing else.

Whoever holds what is found by looking at everything, every time.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from messages.pods import API, FILE, HTTP, FullName, Pod, PodUid, SourceName
from stores.pods.claims import Claims
from stores.pods.index import PodCounts, PodIndex, Turnover, is_mirror_pod_of
from tests.support.builders import make_pod

SOURCES = st.sampled_from((FILE, HTTP, API))
UIDS = st.sampled_from(("u1", "u2", "u3", "u4", "u5"))
NAMES = ("a", "b", "c")
HASHES = st.sampled_from(("", "h1", "h2"))


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Few sources, UIDs and names, so that they meet."""
    name, uid, source = draw(st.sampled_from(NAMES)), draw(UIDS), draw(SOURCES)
    count, deleting = draw(st.integers(0, 2)), draw(st.booleans())
    if draw(st.booleans()):
        return make_pod(
            name,
            uid=uid,
            source=source,
            mirror=draw(HASHES),
            deleting=deleting,
            ephemeral_containers=count,
        )
    return make_pod(
        name, uid=uid, source=source, config_hash=draw(HASHES), ephemeral_containers=count
    )


class Place(NamedTuple):
    """What a pod keeps its age for."""

    uid: PodUid
    full_name: FullName
    is_mirror: bool


def place_of(pod: Pod) -> Place:
    return Place(pod.uid, pod.full_name, pod.is_mirror)


class PodIndexModel(RuleBasedStateMachine):
    """The model: the pods told, when each source told it there, and since when any did."""

    def __init__(self) -> None:
        super().__init__()
        self.claims = Claims()
        self.index = PodIndex(self.claims)
        self.tick = 0
        self.told: dict[tuple[str, PodUid], Pod] = {}
        self.told_at: dict[tuple[str, Place], int] = {}
        self.since: dict[Place, int] = {}

    # The model

    def model_add(self, pod: Pod) -> None:
        self.tick += 1
        old = self.told.get((pod.source, pod.uid))
        if old is not None and place_of(old) != place_of(pod):
            self.model_remove(old.source, old.uid)
        self.told[pod.source, pod.uid] = pod
        self.told_at.setdefault((pod.source, place_of(pod)), self.tick)
        self.since.setdefault(place_of(pod), self.tick)

    def model_remove(self, source: str, uid: PodUid) -> None:
        old = self.told.pop((source, uid), None)
        if old is None:
            return
        del self.told_at[source, place_of(old)]
        if place_of(old) not in {place_of(pod) for pod in self.told.values()}:
            del self.since[place_of(old)]

    def age(self, pod: Pod) -> tuple[int, int]:
        return self.since[place_of(pod)], self.told_at[pod.source, place_of(pod)]

    def known(self) -> dict[PodUid, Pod]:
        """Who holds each UID."""
        by_age = sorted(self.told.values(), key=self.age, reverse=True)
        return {pod.uid: pod for pod in by_age}

    def holders(self) -> dict[FullName, Pod]:
        """Who holds each name."""
        by_age = sorted(self.known().values(), key=self.age, reverse=True)
        return {pod.full_name: pod for pod in by_age if not pod.is_mirror}

    def served(self) -> dict[PodUid, Pod]:
        return {pod.uid: pod for pod in self.holders().values()}

    # What can happen

    @rule(pod=pods())
    def adds(self, pod: Pod) -> None:
        before = self.served()
        turnover = self.index.add(pod)
        self.model_add(pod)
        self.check_turnover(before, turnover)

    @rule(source=SOURCES, uid=UIDS)
    def removes(self, source: SourceName, uid: str) -> None:
        before = self.served()
        turnover = self.index.remove(make_pod("any", uid=uid, source=source))
        self.model_remove(source, PodUid(uid))
        self.check_turnover(before, turnover)

    @rule(random=st.randoms(use_true_random=False), absent=st.sets(UIDS))
    def crashes_and_is_told_again_in_any_order(self, random: object, absent: set[str]) -> None:
        """Some pods of the file source went meanwhile."""
        for uid in absent:
            self.model_remove(FILE, PodUid(uid))
        self.index = PodIndex(self.claims)
        self.claims.retain(FILE, {uid for source, uid in self.told if source == FILE})
        again = list(self.told.values())
        random.shuffle(again)  # type: ignore[attr-defined]  # hypothesis' Random has no public type
        for pod in again:
            self.index.add(pod)

    def check_turnover(self, before: dict[PodUid, Pod], turnover: Turnover) -> None:
        after = self.served()
        assert {p.uid: p for p in turnover.revealed} == {
            uid: pod for uid, pod in after.items() if uid not in before
        }
        assert {p.uid: p for p in turnover.hidden} == {
            uid: pod for uid, pod in before.items() if uid not in after
        }

    # What always holds

    @invariant()
    def every_uid_is_known_once(self) -> None:
        pods, mirrors = self.index.pods(), self.index.mirrors()
        counted = Counter(pod.uid for pod in (*pods, *mirrors))
        assert counted == Counter(self.known().keys())
        assert all(self.known()[pod.uid] is pod for pod in (*pods, *mirrors))
        assert all(self.index.holder(uid) is pod for uid, pod in self.known().items())
        assert not any(pod.is_mirror for pod in pods)
        assert all(pod.is_mirror for pod in mirrors)

    @invariant()
    def the_oldest_claimant_holds_each_name(self) -> None:
        holders = self.holders()
        for name in NAMES:
            full_name = FullName(f"{name}_default")
            assert self.index.get_by_full_name(full_name) is holders.get(full_name)

    @invariant()
    def everybody_else_waits_behind_a_holder(self) -> None:
        known, holders = self.known(), self.holders()
        expected: dict[tuple[str, PodUid], Pod] = {}
        for key, pod in self.told.items():
            if known[pod.uid] is not pod:
                expected[key] = known[pod.uid]
            elif not pod.is_mirror and holders[pod.full_name] is not pod:
                expected[key] = holders[pod.full_name]
        assert {(s.pod.source, s.pod.uid): s.holder for s in self.index.shadowed()} == expected
        for key, pod in self.told.items():
            assert self.index.shadow_of(pod) is expected.get(key)

    @invariant()
    def the_claims_on_record_tell_the_same_holders(self) -> None:
        holders = self.claims.holders()
        assert holders.uid_holders == {uid: pod.source for uid, pod in self.known().items()}
        assert holders.name_holders == {name: pod.source for name, pod in self.holders().items()}

    @invariant()
    def mirrors_agree_with_the_names(self) -> None:
        known, holders = self.known(), self.holders()
        to_mirror = self.index.static_to_mirror()
        mirrors = [pod for pod in known.values() if pod.is_mirror]
        to_static = {m.uid: holders[m.full_name].uid for m in mirrors if m.full_name in holders}
        assert to_mirror.keys() == {
            p.uid for p in known.values() if p.is_static and not p.is_mirror
        }
        for static, mirror in to_mirror.items():
            candidates = [m for m in mirrors if to_static.get(m.uid) == static]
            assert mirror == (self.best(candidates, known[static]).uid if candidates else None)

    def best(self, mirrors: list[Pod], pod: Pod) -> Pod:
        oldest_first = sorted(mirrors, key=self.age)
        staying = [m for m in oldest_first if not m.is_deleting]
        exact = [m for m in staying or oldest_first if is_mirror_pod_of(m, pod)]
        return (exact or staying or oldest_first)[0]

    @invariant()
    def counts_equal_a_recount(self) -> None:
        pods = self.index.pods()
        assert self.index.counts() == PodCounts(
            static_pods=sum(pod.is_static for pod in pods),
            regular_pods=sum(not pod.is_static for pod in pods),
            ephemeral_containers=sum(
                len(pod.document["spec"].get("ephemeralContainers", ())) for pod in pods
            ),
        )


TestPodIndexModel = PodIndexModel.TestCase
