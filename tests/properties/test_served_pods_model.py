"""The served pods against a plain model: several sources, any order of listings, crashes in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from messages.changes import Op, PodChange
from messages.pod_manager import PodFact, PodsAre, PodsChanged
from messages.pods import API, FILE, HTTP, FullName, Pod, PodUid, SourceName
from messages.units import Timestamp
from stores.pods.index import is_to_be_ended
from stores.pods.served_pods import ServedPods, ServedPodsMemory, Taken
from tests.support.builders import make_pod
from tests.support.pods.pod_picture import PodPicture

SOURCES = (FILE, HTTP, API)
SHARED = {"shared-1": "a", "shared-2": "b"}
"""UIDs that several sources tell, and the name of each: one manifest in several places."""


@st.composite
def listings(draw: st.DrawFn, source: SourceName) -> tuple[Pod, ...]:
    """Few UIDs and few names, so that sources meet in them and manifests change theirs."""
    own = [f"{source}-1", f"{source}-2"]
    uids = draw(st.lists(st.sampled_from([*SHARED, *own]), unique=True, max_size=4))
    return tuple(
        make_pod(
            SHARED.get(uid) or draw(st.sampled_from("abc")),
            uid=uid,
            image=draw(st.sampled_from(["registry.example/a", "registry.example/b"])),
            phase=draw(st.sampled_from(["", "Running", "Failed"])),
            deleting=draw(st.sampled_from([False, False, True])),
            metadata=draw(st.sampled_from([{}, {"resourceVersion": "7"}])),
        )
        for uid in uids
    )


class Model:
    """Who claims what since when, as a table that is searched from top to bottom."""

    def __init__(self) -> None:
        self.lists: dict[SourceName, dict[PodUid, FullName]] = {}
        """What each source told last, in this life or in an earlier one."""
        self.to_be_ended: set[PodUid] = set()
        """Pods that are being deleted at the API server. They need no name."""
        self.claims: dict[tuple[SourceName, PodUid], tuple[int, int, FullName]] = {}
        self._tick = 0

    def take(self, source: SourceName, pods: dict[PodUid, FullName], order: list[PodUid]) -> None:
        """Note a listing, whose pods make their claims in this order."""
        for key in [(s, uid) for s, uid in self.claims if s == source and uid not in pods]:
            del self.claims[key]
        for uid in order:
            place = pods[uid]
            mine = self.claims.get((source, uid))
            if mine is None or mine[2] != place:
                self._tick += 1
                rivals = [c[0] for (_, u), c in self.claims.items() if u == uid and c[2] == place]
                self.claims[source, uid] = (min([*rivals, self._tick]), self._tick, place)
        self.lists[source] = pods

    def served(self) -> dict[PodUid, SourceName]:
        """Return the pods that hold both their UID and their name, and whose version counts."""
        by_age = sorted((claim, key) for key, claim in self.claims.items())
        holders: dict[PodUid, SourceName] = {}
        names: dict[FullName, PodUid] = {}
        for (_, _, name), (source, uid) in by_age:
            if uid not in holders:
                holders[uid] = source
                names.setdefault(name, uid)
        ending = {uid for uid in self.to_be_ended if holders.get(uid) == API}
        return {uid: holders[uid] for uid in {*names.values(), *ending}}


class LedgerModel(RuleBasedStateMachine):
    """Beside the pods a model of it, and a subscriber's picture that outlives crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = ServedPodsMemory()
        self.pods = ServedPods(self.memory)
        self.model = Model()
        self.picture = PodPicture()
        self.told: dict[SourceName, tuple[Pod, ...]] = {}
        """The objects of each source's newest listing."""
        self.now = 0

    @rule(source=st.sampled_from(SOURCES), data=st.data())
    def lists(self, source: SourceName, data: st.DataObject) -> None:
        self.take(source, data.draw(listings(source)))

    @rule(source=st.sampled_from(SOURCES), data=st.data())
    def lists_some_of_it_again(self, source: SourceName, data: st.DataObject) -> None:
        known = self.told.get(source, ())
        self.take(source, tuple(pod for pod in known if data.draw(st.booleans())))

    @rule(source=st.sampled_from(SOURCES))
    def lists_a_pod_twice(self, source: SourceName) -> None:
        self.take(source, (*self.told.get(source, ()), *self.told.get(source, ())[:1]))

    @rule()
    def crashes(self) -> None:
        self.pods = ServedPods(self.memory)

    @precondition(lambda self: self.told.keys() - self.pods.listed)
    @rule(data=st.data())
    def tells_its_listing_again(self, data: st.DataObject) -> None:
        missing = sorted(self.told.keys() - self.pods.listed)
        source = data.draw(st.sampled_from(missing))
        self.take(source, self.told[source])

    @precondition(lambda self: self.complete)
    @rule(order=st.permutations(SOURCES))
    def crashes_and_recovers(self, order: list[SourceName]) -> None:
        before, removals = dict(self.picture.pods), len(self.picture.removed)
        self.crashes()
        for source in order:
            if source in self.told:
                self.take(source, self.told[source])
        # Whatever the order: nobody was stopped, and no name has another holder.
        assert meanings(self.picture.pods.values()) == meanings(before.values())
        assert len(self.picture.removed) == removals

    @property
    def complete(self) -> bool:
        return self.pods.listed == self.told.keys()

    def take(self, source: SourceName, pods: tuple[Pod, ...]) -> None:
        self.now += 1
        removals_before = len(self.picture.removed)
        taken = self.pods.take(source, pods, Timestamp(self.now))
        for fact in facts(source, taken, self.pods.served(source)):
            self.picture.apply(fact)
        self.told[source] = pods
        self.model.take(source, admitted(pods), claim_order(taken.listed))
        if source == API:
            # Two of one UID in a listing: the first one counts.
            first = {pod.uid: pod for pod in reversed(pods)}
            kept = [first[uid] for uid in admitted(pods)]
            self.model.to_be_ended = {pod.uid for pod in kept if pod.is_deleting}
        for pod in self.picture.removed[removals_before:]:
            if is_to_be_ended(pod):
                continue  # whoever listed it again took its deletion back, and another has its name
            # Only if no source, in this life or an earlier one, told it there last.
            tellers = [key for key, name in self.places().items() if (key[1], name) == place(pod)]
            assert tellers == []

    def places(self) -> dict[tuple[SourceName, PodUid], FullName]:
        return {
            (source, uid): name
            for source, pods in self.model.lists.items()
            for uid, name in pods.items()
        }

    @invariant()
    def what_a_subscriber_knows_is_what_is_served(self) -> None:
        listed = self.pods.listed
        served = [pod for source in listed for pod in self.pods.served(source)]
        known = [pod for pod in self.picture.pods.values() if pod.source in listed]
        assert meanings(known) == meanings(served)

    @invariant()
    def served_pods_are_those_of_the_oldest_claims(self) -> None:
        if self.complete:
            served = {uid: SourceName(pod.source) for uid, pod in self.picture.pods.items()}
            assert served == self.model.served()

    @invariant()
    def whoever_is_listed_is_served_or_waits(self) -> None:
        for source in self.pods.listed:
            listed = {pod.uid for pod in self.told[source]}
            served = {pod.uid for pod in self.pods.served(source)}
            waiting = self.pods.waiting(source).keys()
            assert listed <= served | waiting
            # Who went, or waits, is served on only as long as another source may tell it still.
            silent = self.told.keys() - self.pods.listed
            may_be_told = {uid for s, uid in self.places() if s in silent}
            assert (served - listed) | (served & waiting) <= may_be_told

    @invariant()
    def questions_are_answered_as_if_there_had_been_no_crash(self) -> None:
        shown = self.pods.shown()
        assert set(self.pods.known) == self.told.keys()
        assert {pod.uid for pod in shown.pods()} == {uid for _, uid in self.places()}
        holders = {pod.uid: pod.source for pod in shown.pods() if shown.shadow_of(pod) is None}
        assert holders == self.model.served()


def facts(source: SourceName, taken: Taken, served: tuple[Pod, ...]) -> Iterator[PodFact]:
    """Yield what PodManager tells of a listing."""
    changes = taken.served
    if taken.first:
        others = tuple(change for change in changes if change.pod.source != source)
        before = tuple(change for change in others if change.op is not Op.ADD)
        if before:
            yield PodsChanged(source=source, changes=before)
        yield PodsAre(source=source, pods=served)
        changes = tuple(change for change in others if change.op is Op.ADD)
    if changes:
        yield PodsChanged(source=source, changes=changes)


def place(pod: Pod) -> tuple[PodUid, FullName]:
    return pod.uid, pod.full_name


def meanings(pods: Iterable[Pod]) -> dict[PodUid, object]:
    """Return the pods without what no change tells of alone: their version and when they came."""
    return {
        pod.uid: (
            pod.full_name,
            pod.source,
            pod.document["spec"],
            pod.document.get("status"),
            pod.is_deleting,
        )
        for pod in pods
    }


def admitted(pods: tuple[Pod, ...]) -> dict[PodUid, FullName]:
    """Return the pods that the merge takes in: the first of each UID and of each name."""
    places: dict[PodUid, FullName] = {}
    for pod in pods:
        if pod.uid not in places and pod.full_name not in places.values():
            places[pod.uid] = pod.full_name
    return places


def claim_order(changes: tuple[PodChange, ...]) -> list[PodUid]:
    """Return who claims its place in which order: as the changes are listed."""
    return [change.pod.uid for change in changes if change.op is not Op.REMOVE]


TestLedgerModel = LedgerModel.TestCase
