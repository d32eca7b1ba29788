"""CgroupKeeper: limits the classes of pods by what their pods request, and removes what is left of pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Failure, Key, PooledActor, Port, Timer
from messages.container_runtime import (
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    RuntimeFact,
    RuntimeIsAway,
)
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import SourceName
from messages.units import Seconds
from runtimes.cri.cgroup_pods import CgroupPods
from runtimes.cri.cgroups.pod_cgroups import Orphans, PodCgroups, turn_of
from runtimes.cri.messages import ForgetPodsBut
from runtimes.cri.operations.flow import Disk, DiskLane, trouble_of

SYNC_AFTER: Final = Seconds(0.2)
"""From the first change until classes have other limits: pods often come together."""
SYNC_EVERY: Final = Seconds(60.0)
"""Somebody else may have changed them."""
SWEEP_EVERY: Final = Seconds(60.0)
SWEEP_AGAIN: Final = Seconds(10.0)
"""While there is a cgroup that seems to belong to no pod."""

_log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True)
class CgroupSyncDue:
    """Timer: it is time to give classes the limits that they should have."""


@dataclass(frozen=True, slots=True)
class CgroupSweepDue:
    """Timer: it is time to look for cgroups without a pod."""


@dataclass(frozen=True, slots=True)
class CgroupsSynced:
    """The classes have their limits, or not: the outcome of that work."""

    outcome: object


@dataclass(frozen=True, slots=True)
class CgroupsSwept:
    """The outcome of that work: the cgroups without a pod."""

    outcome: object


@dataclass(frozen=True, slots=True)
class CgroupRemoved:
    """A cgroup was removed, or not: the outcome of that work."""

    uid: str
    outcome: object


CgroupKeeperMessage: TypeAlias = (
    PodFact
    | RuntimeFact
    | PodLivesDescribed
    | CgroupSyncDue
    | CgroupSweepDue
    | CgroupsSynced
    | CgroupsSwept
    | CgroupRemoved
)

CGROUP_KEEPER = Key[CgroupKeeperMessage]("runtime/cgroups")


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupKeeperPorts:
    """Whom it talks to."""

    me: Port[CgroupKeeperMessage]
    """Its own address, which outlives a crash: where outcomes go."""
    containers: Port[FollowContainers | ForgetPodsBut]
    pod_manager: Port[Subscribe]
    pod_keeper: Port[DescribePodLives]
    sources: frozenset[SourceName]
    """All sources of pods that there are. No cgroup is removed before each has told what it wants."""


class CgroupKeeper(PooledActor[CgroupKeeperMessage]):
    """Keeps the cgroups that those of pods are in, and removes those whose pod is gone.

    Owns: which cgroups seemed to have no pod at the last look.
    Hears: ``PodFact``, ``RuntimeFact``, ``PodLivesDescribed``; outcomes of work on cgroups; its own timers.
    Tells: PodManager ``Subscribe`` and the runtime ``FollowContainers`` when it starts; the keeper of pods
    ``DescribePodLives`` before it looks for cgroups without a pod, and the runtime ``ForgetPodsBut`` then.
    Fails when: it has a bug. The next life asks for everything, and begins anew.

    Order: work on the cgroup of one pod is done in the order in which it was asked for, by whomever, and a
    removal keeps no other pod waiting. A cgroup is removed when two looks in a row, ``SWEEP_AGAIN`` apart,
    find that its pod has no sandbox, no life on this node, and no source that wants it: a pod that has just
    come may be unknown here for a moment. Nothing is removed while the runtime is away, nor of a pod that has
    come since the look began. What could not be removed is tried again. Repetition: everything may repeat.
    """

    def __init__(self, ports: CgroupKeeperPorts, cgroups: PodCgroups, disk: Disk) -> None:
        self._ports = ports
        self._cgroups = cgroups
        self._disk = disk
        self._pods = CgroupPods(ports.sources)
        self._is_sync_due = False
        self._is_syncing = False
        self._next_sync: Timer | None = None
        self._next_sweep: Timer | None = None
        self._suspects: frozenset[str] = frozenset()
        """UIDs of the cgroups that seemed to have no pod at the last look."""

    @override
    def started(self) -> None:
        self._ports.containers.tell(FollowContainers(subscriber=self._ports.me))
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        self._set_sync(SYNC_EVERY)
        self._set_sweep(SWEEP_AGAIN)

    @override
    def receive(self, message: CgroupKeeperMessage, /) -> None:
        match message:
            case PodsAre() | PodsChanged():
                if self._pods.take(message):
                    self._sync_soon()
            case ContainersAre() | PodContainersAre() | RuntimeIsAway():
                self._pods.see(message)
            case CgroupSyncDue() | CgroupsSynced():
                self._handle_sync(message)
            case CgroupSweepDue() | PodLivesDescribed() | CgroupsSwept() | CgroupRemoved():
                self._handle_sweep(message)
            case _:
                assert_never(message)

    # --- limits of classes -----------------------------------------------------------------------------

    def _sync_soon(self) -> None:
        if not self._is_sync_due:
            self._is_sync_due = True
            if not self._is_syncing:
                self._set_sync(SYNC_AFTER)

    def _set_sync(self, delay: Seconds) -> None:
        if self._next_sync is not None:
            self._next_sync.cancel()
        self._next_sync = self.after(delay, CgroupSyncDue())

    def _handle_sync(self, message: CgroupSyncDue | CgroupsSynced) -> None:
        if isinstance(message, CgroupSyncDue):
            self._sync()
            return
        self._is_syncing = False
        trouble = _trouble(message.outcome)
        if trouble:
            _log.warning("cgroups of pods cannot be limited", trouble=trouble)
        self._set_sync(SYNC_AFTER if self._is_sync_due else SYNC_EVERY)

    def _sync(self) -> None:
        if not self._pods.has_any:
            self._set_sync(SYNC_EVERY)
        elif not self._is_syncing:
            self._is_sync_due, self._is_syncing = False, True
            pods = self._pods.all()
            self._do(lambda: self._cgroups.sync_qos(pods), CgroupsSynced)

    # --- cgroups without a pod -------------------------------------------------------------------------

    def _handle_sweep(
        self, message: CgroupSweepDue | PodLivesDescribed | CgroupsSwept | CgroupRemoved
    ) -> None:
        match message:
            case CgroupSweepDue():
                self._set_sweep(SWEEP_EVERY)
                if self._pods.are_known:
                    self._ports.pod_keeper.tell(DescribePodLives(reply_to=self._ports.me))
            case PodLivesDescribed(lives=lives):
                if self._pods.are_known:
                    known = frozenset(self._pods.uids() | lives.keys())
                    self._ports.containers.tell(ForgetPodsBut(known))
                    self._do(lambda: self._cgroups.orphans(known), CgroupsSwept)
            case CgroupsSwept(outcome=outcome):
                self._handle_orphans(outcome)
            case CgroupRemoved(uid=uid, outcome=outcome):
                if outcome is True:
                    _log.info("the cgroup of a pod that is gone is removed", uid=uid)
            case _:
                assert_never(message)

    def _set_sweep(self, delay: Seconds) -> None:
        if self._next_sweep is not None:
            self._next_sweep.cancel()
        self._next_sweep = self.after(delay, CgroupSweepDue())

    def _handle_orphans(self, outcome: object) -> None:
        look = outcome if isinstance(outcome, Orphans) else Orphans(frozenset(), 0)
        found = look.uids
        still = found & self._suspects
        self._suspects = found
        self._set_sweep(SWEEP_AGAIN if found else SWEEP_EVERY)
        if not self._pods.are_known:
            return
        # Since the look began a pod may have come, a static one with the UID that it had before.
        known = {_written(uid) for uid in self._pods.uids()}
        for uid in sorted(each for each in still if _written(each) not in known):
            self._remove(uid, look.look)

    # --- work ------------------------------------------------------------------------------------------

    def _do(
        self, work: Callable[[], object], told: Callable[[object], CgroupKeeperMessage]
    ) -> None:
        me = self._ports.me
        self._disk[DiskLane.CGROUPS].start(work, lambda outcome: me.tell(told(outcome)))

    def _remove(self, uid: str, look: int) -> None:
        me, work = self._ports.me, partial(self._cgroups.remove_orphan, uid, look)
        self._disk[DiskLane.CGROUP_REMOVALS].start(
            work, lambda outcome: me.tell(CgroupRemoved(uid, outcome)), turn_of(uid)
        )


def _written(uid: str) -> str:
    """Return a UID as every driver of cgroups writes it alike."""
    return uid.replace("-", "_")


def _trouble(outcome: object) -> str:
    return trouble_of(outcome) if isinstance(outcome, Failure) else str(outcome or "")
