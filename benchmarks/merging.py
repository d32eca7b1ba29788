"""What PodManager takes in per second: merge, indices and one subscriber, with 10,000 pods known.

Beside it stands the same work without actors: ``Plain`` below is what one writes who needs the
changes between two listings, an index by UID and one by name, and nothing of crashes, claims or mirrors.
Both get the same listings, and have to tell the same changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count, cycle, islice
from statistics import median
from time import perf_counter, time
from typing import Any, NamedTuple, Protocol

from typing_extensions import override

from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.pods import decoded_pod
from benchmarks.row import Peer, Row, Target, rates, tail
from kernel import ActorSystem, ChildSpec, Key, PooledActor, SupervisorSpec
from messages.changes import Op, PodChange
from messages.pod_manager import PodFact, PodsChanged, Subscribe
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE, FILE, FullName, Pod, PodUid
from messages.sources import Epoch, SourceListed, SourceMessage
from messages.units import Seconds

Pods = tuple[Pod, ...]

_DEADLINE = Seconds(60.0)
_PEER = "plain dictionaries, no actors"


class Contestant(Protocol):
    """Whoever takes listings in and tells the changes."""

    def take(self, pods: Pods) -> None:
        """Return once ``pods`` are merged, indexed, and their changes told."""
        ...

    def told(self) -> Counter[Op]:
        """Return how many changes were told since it was made, the first listing apart."""
        ...

    def close(self) -> None:
        """End."""
        ...


class Sizes(NamedTuple):
    """How much is measured."""

    known: int
    """Pods."""
    rounds: int
    """Listings in which every pod changed; of others there are more, as they take less."""


class Measured(NamedTuple):
    """What one contestant did, each listing by itself."""

    all_changed: list[float]
    """Changed pods per second when every pod changed."""
    tenth_changed: list[float]
    """Changed pods per second when a tenth of the pods changed."""
    unchanged: list[float]
    """Seconds for the same pods once more."""


def merge_rows(*, quick: bool) -> list[Row]:
    """Return the rates for a change of all pods and of a tenth, and the time for no change."""
    sizes = Sizes(2_000, 3) if quick else Sizes(10_000, 5)
    ours, plain = [], []
    for _ in range(1 if quick else 2):
        # By turns, so that a machine that is busy for a while is unfair to both.
        ours.append(apart(measure, Actors, sizes))
        plain.append(apart(measure, Plain, sizes))
    known, tenth = sizes.known, sizes.known // 10
    return [
        _changed_row(
            f"PodManager: {known:,} of {known:,} pods changed, merged, indexed, told",
            [rate for each in ours for rate in each.all_changed],
            [rate for each in plain for rate in each.all_changed],
        ),
        _changed_row(
            f"PodManager: {tenth:,} of {known:,} pods changed, merged, indexed, told",
            [rate for each in ours for rate in each.tenth_changed],
            [rate for each in plain for rate in each.tenth_changed],
        ),
        _unchanged_row(
            f"PodManager: listing of {known:,} unchanged pods",
            [seconds for each in ours for seconds in each.unchanged],
            [seconds for each in plain for seconds in each.unchanged],
        ),
    ]


def _changed_row(what: str, ours: list[float], plain: list[float]) -> Row:
    return Row(
        what=what,
        unit="/s",
        figures=rates(ours),
        samples=len(ours),
        target=Target(10_000.0, at_least=True),
        peer=Peer(_PEER, median(plain)),
    )


def _unchanged_row(what: str, ours: list[float], plain: list[float]) -> Row:
    return Row(
        what=what,
        unit="ms",
        figures=tail(ours, 1e3),
        samples=len(ours),
        target=Target(5.0),
        peer=Peer(_PEER, median(plain) * 1e3),
    )


def measure(contestant: Callable[[], Contestant], sizes: Sizes) -> Measured:
    """Return how a contestant does, after a first listing that does not count."""
    behave_like_the_agent()
    taking, known = contestant(), sizes.known
    listings = _Listings(known)
    taking.take(listings.next(changed=0))
    measured = Measured(
        [known / _seconds(taking, listings.next(known)) for _ in range(sizes.rounds)],
        [known // 10 / _seconds(taking, listings.next(known // 10)) for _ in range(20)],
        [_seconds(taking, listings.next(changed=0)) for _ in range(100)],
    )
    told = taking.told()
    assert told == {Op.UPDATE: sizes.rounds * known + 20 * (known // 10)}, told
    taking.close()
    return measured


def _seconds(taking: Contestant, pods: Pods) -> float:
    began = perf_counter()
    taking.take(pods)
    return perf_counter() - began


class _Listings:
    """What a source lists, one listing after the other: unchanged pods are the identical objects."""

    def __init__(self, known: int) -> None:
        self._pods = [decoded_pod(number, revision=0) for number in range(known)]
        self._numbers = cycle(range(known))
        self._revisions = count(1)

    def next(self, changed: int) -> Pods:
        """Return a listing in which the next ``changed`` pods are others than before."""
        revision = next(self._revisions)
        for number in islice(self._numbers, changed):
            self._pods[number] = decoded_pod(number, revision)
        return tuple(self._pods)


class Subscriber(PooledActor[PodFact]):
    """Hears what PodManager tells, and counts it."""

    def __init__(self, heard: Counter[Op]) -> None:
        self._heard = heard

    @override
    def receive(self, message: PodFact, /) -> None:
        if isinstance(message, PodsChanged):
            self._heard.update(change.op for change in message.changes)


class _Source:
    """The source behind the listings: does not care what PodManager tells it."""

    def tell(self, message: SourceMessage, /) -> None:
        """Ignore ``message``."""


class Actors(Contestant):
    """PodManager as it runs in the agent, and a subscriber, told and awaited from outside."""

    def __init__(self) -> None:
        key = Key[PodFact]("subscriber")
        self._heard: Counter[Op] = Counter()
        self._sequence = 0
        sources, memory = {FILE: _Source()}, PodMemory()
        children = (
            ChildSpec(key=POD_MANAGER, factory=lambda: PodManager(sources, memory)),
            ChildSpec(key=key, factory=lambda: Subscriber(self._heard)),
        )
        self._system = ActorSystem(SupervisorSpec(name="root", children=children))
        self._system.start()
        assert self._system.wait_started(_DEADLINE)
        self._pod_manager = self._system.address(POD_MANAGER)
        self._subscriber = self._system.address(key)
        self._pod_manager.tell(Subscribe(subscriber=self._subscriber))

    @override
    def take(self, pods: Pods) -> None:
        self._sequence += 1
        epoch = Epoch(1, self._sequence)
        self._pod_manager.tell(SourceListed(source=FILE, epoch=epoch, pods=pods))
        self._system.fence(self._pod_manager, _DEADLINE)
        self._system.fence(self._subscriber, _DEADLINE)

    @override
    def told(self) -> Counter[Op]:
        return self._heard

    @override
    def close(self) -> None:
        self._system.stop()
        assert self._system.wait(_DEADLINE) == 0


class Plain(Contestant):
    """The same with two dictionaries and a loop, on the caller's thread."""

    def __init__(self) -> None:
        self._listed: dict[PodUid, Pod] = {}
        self._by_uid: dict[PodUid, Pod] = {}
        self._by_name: dict[FullName, Pod] = {}
        self._seen: dict[PodUid, float] = {}
        self._heard: Counter[Op] = Counter()
        self._is_first = True

    @override
    def take(self, pods: Pods) -> None:
        changes = self._merge(pods)
        if not self._is_first:
            self._heard.update(change.op for change in changes)
        self._is_first = False

    def _merge(self, pods: Pods) -> list[PodChange]:
        listed = {pod.uid: pod for pod in pods}
        gone = [uid for uid in self._listed if uid not in listed]
        changes = [PodChange(op=Op.REMOVE, pod=self._forget(uid)) for uid in gone]
        for uid, told in listed.items():
            if self._listed.get(uid) is told:
                continue
            before, pod = self._by_uid.get(uid), self._stamped(told)
            if before is not None and before.full_name != pod.full_name:
                del self._by_name[before.full_name]
            self._by_uid[uid] = self._by_name[pod.full_name] = pod
            op = Op.ADD if before is None else _difference(before, pod)
            if op is not None:
                changes.append(PodChange(op=op, pod=pod))
        self._listed = listed
        order = list(Op)
        return sorted(changes, key=lambda change: order.index(change.op))

    def _forget(self, uid: PodUid) -> Pod:
        pod = self._by_uid.pop(uid)
        del self._by_name[pod.full_name], self._seen[uid]
        return pod

    def _stamped(self, pod: Pod) -> Pod:
        seen = datetime.fromtimestamp(self._seen.setdefault(pod.uid, time()), UTC)
        stamps = {CONFIG_SOURCE: FILE, CONFIG_SEEN: seen.isoformat()}
        metadata = pod.document["metadata"]
        annotated = {**metadata, "annotations": {**pod.annotations, **stamps}}
        return Pod.of({**pod.document, "metadata": annotated})

    @override
    def told(self) -> Counter[Op]:
        return self._heard

    @override
    def close(self) -> None:
        """There is nothing to end."""


def _difference(old: Pod, new: Pod) -> Op | None:
    for part in ("spec", "metadata"):
        if _meaning(old.document[part]) != _meaning(new.document[part]):
            return Op.DELETE if new.is_deleting else Op.UPDATE
    return Op.RECONCILE if old.document.get("status") != new.document.get("status") else None


def _meaning(part: Any) -> Any:
    return {key: value for key, value in part.items() if key != "resourceVersion"}
