"""StatusKeeper: holds the status of every pod, tells it to followers, and writes it at the API server.

This file is the actor: what it holds and tells. ``status_writer`` sees to the API server. It is
level-triggered: whenever a status or an object there changes, and after each answer, it examines the pod
concerned again. Pods run whatever becomes of their status.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from typing_extensions import override

from actors.pods.status_records import StatusMemory, StatusRecord
from actors.pods.status_writer import StatusWriter
from kernel import Key, PooledActor, Port
from messages.api import CallApi
from messages.events import PostEvent
from messages.pod_lives import RepeatPodStatuses
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import PodUid
from messages.statuses import (
    DescribeStatuses,
    FollowStatuses,
    ForgetPodStatus,
    PodStatusChanged,
    PodStatusIs,
    StatusesDescribed,
    StatusKeeperMessage,
    UnfollowStatuses,
)
from stores.statuses.status import shows_same

StatusKeeperOwnMessage: TypeAlias = StatusKeeperMessage | PodFact


def _pod_of_status(message: StatusKeeperOwnMessage) -> Hashable | None:
    return message.pod.uid if isinstance(message, PodStatusIs) else None


STATUS_KEEPER = Key[StatusKeeperOwnMessage]("status-keeper", coalesce=_pod_of_status)
"""Of the statuses of one pod that wait, only the newest is handled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPorts:
    """The ports that StatusKeeper uses. A standalone agent has no API server: the last three are None."""

    me: Port[PodFact]
    """Its own address, which outlives a crash: what it subscribes with."""
    pod_keeper: Port[RepeatPodStatuses] | None = None
    """Tells all statuses again after a crash: one may have been lost with it."""
    pod_manager: Port[Subscribe] | None = None
    calls: Port[CallApi] | None = None
    events: Port[PostEvent] | None = None


class StatusKeeper(PooledActor[StatusKeeperOwnMessage]):
    """Holds the newest status of each pod, and sees to it that the API server has it.

    Owns: the statuses of all pods, and the calls that write them and that delete pods which have ended.
    Hears: ``PodStatusIs`` (coalesced per pod), ``ForgetPodStatus``, ``FollowStatuses``,
    ``UnfollowStatuses``, ``DescribeStatuses``, ``PodFact``; answers to its calls.
    Tells: followers ``PodStatusChanged``; PodKeeper ``RepeatPodStatuses`` when it starts; with an API
    server PodManager ``Subscribe`` when it starts, ``CallApi``, and ``PostEvent`` when a status is refused.
    Fails when: it has a bug. The next life has all statuses, and writes only what the API server lacks.

    Order: followers hear the statuses of one pod in their order; some may be left out while many come.
    Repetition: an equal status is told and written once. A status is written at once (rule V5), by a patch
    for one UID; one call is in flight for each pod, and a few in all; during an outage one in all. What
    somebody writes over is written again (rule V10). A pod that is being deleted is deleted at the API
    server as soon as it is finished and its last status is there (rule V9). What is told while it ends is
    held back for a second at most.
    """

    def __init__(self, ports: StatusPorts, memory: StatusMemory) -> None:
        self._ports = ports
        self._memory = memory

    @override
    def started(self) -> None:
        self._writer = StatusWriter(self._ports.calls, self._ports.events, self._memory, self)
        for record in self._memory.records.values():
            record.begin_life()
            self._writer.add(record)
        if self._ports.pod_keeper is not None:
            self._ports.pod_keeper.tell(RepeatPodStatuses())
        if self._ports.pod_manager is not None:
            self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))

    @override
    def receive(self, message: StatusKeeperOwnMessage, /) -> None:
        match message:
            case PodStatusIs():
                self._take(message)
            case ForgetPodStatus(uid=uid):
                self._forget(uid)
            case FollowStatuses() | UnfollowStatuses():
                self._note_follower(message)
            case DescribeStatuses(reply_to=reply_to):
                reply_to.tell(self._described())
            case PodsAre() | PodsChanged():
                self._writer.note_fact(message)
            case _:
                assert_never(message)
        self._writer.examine_some()

    # --- what it hears ---------------------------------------------------------------------------------

    def _take(self, told: PodStatusIs) -> None:
        pod, status = told.pod, told.status
        record = self._memory.records.get(pod.uid)
        before = None if record is None else record.status
        if record is None:
            record = StatusRecord(pod=pod, status=status, is_finished=told.is_finished)
            self._memory.records[pod.uid] = record
            self._writer.add(record)
        elif shows_same(record.status, status):
            if record.pod is pod and record.is_finished == told.is_finished:
                record.refresh(status)
                return
            record.take(status, pod, is_finished=told.is_finished)
            self._writer.touch(pod.uid)
            return
        else:
            record.take(status, pod, is_finished=told.is_finished)
        self._memory.starts.note(pod, before, status, self.clock.wall())
        changed = PodStatusChanged(pod=pod, status=status)
        for follower in self._memory.followers:
            follower.tell(changed)
        self._writer.note_status(record)

    def _note_follower(self, message: FollowStatuses | UnfollowStatuses) -> None:
        self._memory.followers.pop(message.subscriber, None)
        if isinstance(message, FollowStatuses):
            self._memory.followers[message.subscriber] = None

    def _forget(self, uid: PodUid) -> None:
        record = self._memory.records.pop(uid, None)
        if record is not None:
            self._writer.forget(record)

    def _described(self) -> StatusesDescribed:
        memory, is_joined = self._memory, self._writer.is_joined
        return StatusesDescribed(
            statuses={uid: record.status for uid, record in memory.records.items()},
            written=memory.written,
            waiting=sum(record.is_waiting for record in memory.records.values()),
            refused=dict(memory.refused),
            deleted=memory.deleted,
            starts=memory.starts.described(),
            latencies=memory.latencies.described() if is_joined else None,
            syncs=memory.syncs.described() if is_joined else None,
            troubles={
                uid: record.trouble for uid, record in memory.records.items() if record.trouble
            },
        )
