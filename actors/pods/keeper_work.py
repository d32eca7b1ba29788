"""What the keeper of pods carries out a few pods at a time, so that no list holds up anybody.

A part of the keeper, for one life of it. Each piece of work is an iterator that yields after each pod.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice

import structlog

from actors.pods.keeper_parts import PodKeeperMemory, PodKeeperPorts
from actors.pods.launcher import WorkerLauncher
from actors.pods.orders import CommandAgain, worker_key
from actors.pods.pod_workers import PodWorkers
from messages.changes import Op
from messages.pod_manager import PodsAre, PodsChanged
from messages.pod_runtime import PodsObserved
from messages.pods import Pod, PodUid
from messages.volumes import ReleaseOtherVolumes

_log = structlog.get_logger("pods")


class KeeperWork:
    """The work that waits, in the order in which it is carried out."""

    def __init__(
        self,
        ports: PodKeeperPorts,
        memory: PodKeeperMemory,
        pod_workers: PodWorkers,
        launcher: WorkerLauncher,
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._pod_workers = pod_workers
        self._launcher = launcher
        self._waiting: deque[Iterator[None]] = deque()
        self._leaving: Counter[tuple[PodUid, str]] = Counter()
        """The pods that are told removed by work that waits: until then none of them is begun."""
        self._has_announced = False
        self._has_released = False

    @property
    def is_there(self) -> bool:
        """Whether anything is to be done."""
        return bool(self._waiting)

    def carry_on(self) -> None:
        """Look after the next few pods."""
        left = self._memory.pods_at_once
        while self._waiting and left > 0:
            done = sum(1 for _ in islice(self._waiting[0], left))
            if done < left:
                self._waiting.popleft()
            left -= max(done, 1)

    def replace(self, listing: PodsAre) -> None:
        """Take the whole listing of a source."""
        self._waiting.append(self._replacing(listing))

    def change(self, changed: PodsChanged) -> None:
        """Take what changed."""
        self._leaving.update(
            (each.pod.uid, each.pod.source) for each in changed.changes if each.op is Op.REMOVE
        )
        self._waiting.append(self._changing(changed))

    def take_runtime_pods(self, observed: PodsObserved) -> None:
        """Take what the runtime has, before everything that waits."""
        self._waiting.appendleft(self._taking_runtime_pods(observed))

    def command_again(self) -> None:
        """Have the commands repeated that an earlier life of the runtime may have lost."""
        self._waiting.append(self._commanding_again())

    def repeat(self) -> None:
        """Do what follows from all records, for a keeper that has begun a new life."""
        self._waiting.append(self._repeating())

    def repeat_statuses(self) -> None:
        """Have the status of each pod told once more."""
        self._waiting.append(self._repeating_statuses())

    # --- pod by pod ------------------------------------------------------------------------------------

    def _replacing(self, listing: PodsAre) -> Iterator[None]:
        source = listing.source
        if not listing.is_provisional:
            for uid in self._pod_workers.missing_of(source, listing.pods):
                self._pod_workers.remove_pod(uid, source)
                yield
        for pod in _by_creation(listing.pods):
            self._list(pod)
            yield
        if not listing.is_provisional:
            self._memory.listed.add(source)
            self._pod_workers.look_at_resizes()
            yield from self._sweeping()

    def _changing(self, changed: PodsChanged) -> Iterator[None]:
        """Take what changed, removals first, and what was added in the order of its creation (rule L8)."""
        for change in changed.changes:
            if change.op is Op.REMOVE:
                self._remove(change.pod)
                yield
        others = [change for change in changed.changes if change.op is not Op.REMOVE]
        statuses = {change.pod.uid for change in others if change.op is Op.RECONCILE}
        for pod in _by_creation(change.pod for change in others):
            self._list(pod, is_status_alone=pod.uid in statuses)
            yield

    def _remove(self, pod: Pod) -> None:
        """Take that a pod was removed. No other work waits for that any more, unless it is told again."""
        key = (pod.uid, pod.source)
        self._leaving[key] -= 1
        if not self._leaving[key]:
            del self._leaving[key]
        self._pod_workers.remove_pod(pod.uid, pod.source)

    def _list(self, pod: Pod, *, is_status_alone: bool = False) -> None:
        """Take a pod that is listed; not a new one of which it is told already that it is removed."""
        is_over = self._leaving[pod.uid, pod.source] > 0 and not pod.is_mirror
        if not is_over or self._pod_workers.has(pod.uid):
            self._pod_workers.list_pod(pod, is_status_alone=is_status_alone)

    def _taking_runtime_pods(self, observed: PodsObserved) -> Iterator[None]:
        for found in observed.pods:
            self._pod_workers.note_runtime_pod(found)
            yield
        self._memory.has_runtime_listed = True
        self._pod_workers.note_listing()
        yield from self._sweeping()

    def _sweeping(self) -> Iterator[None]:
        """Stop the pods that only the runtime has, and that no source will list."""
        orphans = tuple(self._pod_workers.orphans(frozenset(self._memory.listed)))
        self._announce(self._pod_workers.replaced(orphans))
        for uid in orphans:
            self._pod_workers.stop_orphan(uid)
            yield
        if self._memory.sources <= self._memory.listed:
            self._launcher.drop_strange_records()
            self._release_other_volumes()

    def _release_other_volumes(self) -> None:
        """Have volumes taken away that earlier processes left. What this one makes, its workers release."""
        volumes = self._ports.worker.volumes
        if volumes is not None and not self._has_released:
            self._has_released = True
            known = frozenset(self._memory.pod_workers.records)
            volumes.tell(ReleaseOtherVolumes(known=known))

    def _announce(self, replaced: list[str]) -> None:
        """Say which pods are about to be stopped and started, before the first one is."""
        if replaced and not self._pod_workers.is_replacing and not self._has_announced:
            self._has_announced = True
            _log.warning(
                "static pods that a kubelet started are stopped and started once, one after the other: "
                "under this agent they have other UIDs",
                pods=replaced,
            )

    def _commanding_again(self) -> Iterator[None]:
        for uid in tuple(self._memory.workers):
            self._ports.address(worker_key(uid)).tell(CommandAgain())
            yield

    def _repeating(self) -> Iterator[None]:
        for uid in tuple(self._memory.pod_workers.records):
            self._pod_workers.repeat(uid)
            yield

    def _repeating_statuses(self) -> Iterator[None]:
        for uid, record in tuple(self._memory.pod_workers.records.items()):
            self._launcher.tell_status(uid, record)
            yield


def _by_creation(pods: Iterable[Pod]) -> list[Pod]:
    """Return ``pods`` from the oldest to the newest. Those without a moment come first, as they are."""
    return sorted(pods, key=_created)


def _created(pod: Pod) -> str:
    moment = (pod.document.get("metadata") or {}).get("creationTimestamp")
    return moment if isinstance(moment, str) else ""
