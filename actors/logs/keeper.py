"""LogKeeper: links, rotates and removes the logs of containers. It may block."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.logs.housekeeping import LogHousekeeping, MovedLog
from actors.logs.layout import LogOptions
from actors.logs.messages import (
    LogKeeperMemory,
    LogKeeperMessage,
    LogKeeperPorts,
    RestOfLogs,
)
from actors.logs.upkeep import (
    LoggedContainer,
    WantedPods,
    link_of,
    logged_containers,
    strangers,
)
from kernel import Actor
from messages.container_logs import ContainerLogsDescribed, DescribeContainerLogs
from messages.container_runtime import (
    CallRuntime,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    ReopenLog,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeIsAway,
    SandboxContents,
)
from messages.pod_lives import DescribePodLives, PodLife, PodLivesDescribed
from messages.pod_manager import PodsAre, PodsChanged, Subscribe
from messages.pods import PodUid
from messages.units import Seconds

SWEEP_EVERY: Final = Seconds(60.0)
"""Between two looks for logs that nobody needs."""
SWEEP_SOON: Final = Seconds(1.0)
"""After a pod went: others may go with it."""
REOPEN_WITHIN: Final = Seconds(60.0)
GIVE_UP_AFTER: Final = Seconds(120.0)
"""When a call that was not answered counts as lost."""
LOOKS_PER_TURN: Final = 16
"""Logs that are looked at before other messages get their turn."""

_log = structlog.get_logger("logs")


class LogKeeper(Actor[LogKeeperMessage]):
    """Keeps the logs of containers on disk as a kubelet does.

    Owns: the links to logs, the rotated files, and the directories of logs of pods that are gone. It also
    says when the other directories of a pod can go.
    Hears: ``RuntimeFact`` (coalesced per pod) and ``RuntimeAnswered`` of the runtime of containers;
    ``PodFact``, ``PodLivesDescribed`` (both coalesced), ``DescribeContainerLogs``.
    Tells: the runtime ``FollowContainers`` when it starts and each time that it looks at sizes, and
    ``CallRuntime`` with ``ReopenLog``; PodManager ``Subscribe``; the keeper of pods ``DescribePodLives``
    before it removes anything of a pod.
    Fails when: it has a bug. What the disk refuses is said once, and tried again at the next round. A life
    that was killed amid a rotation leaves files that can be read, and the next round puts them in order.

    Order: a log is renamed, and then its runtime opens it anew. If that fails it gets its name back, unless
    there is a new one already. So many logs are rotated at a time as there are workers, and nothing else
    happens meanwhile. Nothing is removed while the runtime is away, before it has listed, or of a pod that a
    source wants or the node has a life of. Its other directories go when two looks in a row find it to be
    gone: one that has just come may be unknown a moment.
    """

    def __init__(self, ports: LogKeeperPorts, memory: LogKeeperMemory, options: LogOptions) -> None:
        self._ports = ports
        self._memory = memory
        self._options = options
        self._disk = LogHousekeeping(options, self._note)
        self._contents: dict[PodUid, tuple[SandboxContents, ...]] = {}
        self._is_listed = False
        self._is_away = False
        self._wanted = WantedPods(ports.sources)
        self._round: deque[LoggedContainer] = deque()
        """Running containers whose logs are still to be looked at in this round."""
        self._tidied: set[str] = set()
        """Containers whose directory was tidied in this life."""
        self._reopening: dict[str, Seconds] = {}
        """When the runtime was told to open a container's log anew."""
        self._sweeps_soon = False
        self._pool: Executor | None = None
        """Threads for rotations; None for this one alone."""
        self._strangers: frozenset[PodUid] = frozenset()
        """Pods with a directory that seemed to be gone at the last look."""

    @override
    def started(self) -> None:
        self._ports.containers.tell(FollowContainers(subscriber=self._ports.me))
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        self.later(self._options.monitor_interval, self._begin_round)
        self.later(SWEEP_EVERY, self._sweep)
        if self._options.workers > 1:
            self._pool = ThreadPoolExecutor(self._options.workers, "log-rotation")
            self.resources.callback(self._pool.shutdown, wait=False)

    @override
    def receive(self, message: LogKeeperMessage, /) -> None:
        match message:
            case ContainersAre() | PodContainersAre() | RuntimeIsAway():
                self._take_fact(message)
            case RuntimeAnswered():
                self._take_answer(message)
            case PodsAre() | PodsChanged():
                self._wanted.take(message)
                self._sweep_soon()
            case PodLivesDescribed():
                self._remove_orphans(message)
            case DescribeContainerLogs(reply_to=reply_to):
                reply_to.tell(self._described())
            case RestOfLogs():
                self._look_at_sizes()
            case _:
                assert_never(message)

    # --- what the runtime has --------------------------------------------------------------------------

    def _take_fact(self, fact: RuntimeFact) -> None:
        match fact:
            case ContainersAre(sandboxes=sandboxes):
                found: dict[PodUid, tuple[SandboxContents, ...]] = {}
                for each in sandboxes:
                    found[each.pod.uid] = (*found.get(each.pod.uid, ()), each)
                if self._contents.keys() - found.keys() or not self._is_listed:
                    self._sweep_soon()
                self._contents = found
                self._is_listed, self._is_away = True, False
                self._disk.link(self._containers())
            case PodContainersAre(uid=uid, sandboxes=sandboxes):
                if sandboxes:
                    self._contents[uid] = sandboxes
                    self._disk.link(logged_containers(sandboxes))
                elif self._contents.pop(uid, None) is not None:
                    self._sweep_soon()
            case RuntimeIsAway():
                self._is_away = True
            case _:
                assert_never(fact)

    def _containers(self) -> Iterator[LoggedContainer]:
        return logged_containers(chain.from_iterable(self._contents.values()))

    # --- rotations -------------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        """Look at the sizes of all logs."""
        # What requests changed need not be told to followers: so it asks for all that there is.
        self._ports.containers.tell(FollowContainers(subscriber=self._ports.me))
        self._round = deque(each for each in self._containers() if each.is_running)
        self._look_at_sizes()

    def _look_at_sizes(self) -> None:
        """Look at some logs, rotate at most as many as there are workers, and go on in a later turn."""
        if self._is_away:
            self._round.clear()
        looks = min(LOOKS_PER_TURN, len(self._round))
        while looks > 0:
            number = min(self._options.workers, looks)
            if self._look_at([self._round.popleft() for _ in range(number)]):
                break
            looks -= number
        if self._round:
            self.me.tell(RestOfLogs())
        else:
            self.later(self._options.monitor_interval, self._begin_round)

    def _look_at(self, containers: list[LoggedContainer]) -> bool:
        """Rotate the logs of some containers where that is due. Return whether anything was done."""
        due = [each for each in containers if not self._is_reopening(each.id)]
        untidy = {each.id for each in due} - self._tidied
        self._tidied |= untidy
        now = datetime.fromtimestamp(self.clock.wall(), UTC).astimezone()
        moved = list(filter(None, self._disk.rotate_all(due, now, untidy, self._pool)))
        for log in moved:
            self._reopening[log.id] = self.clock.monotonic()
            self._ports.containers.tell(
                CallRuntime(
                    request=ReopenLog(id=log.id),
                    reply_to=self._ports.me,
                    ref=log,
                    deadline=REOPEN_WITHIN,
                )
            )
        return bool(moved)

    def _is_reopening(self, container_id: str) -> bool:
        since = self._reopening.get(container_id)
        return since is not None and self.clock.monotonic() < since + GIVE_UP_AFTER

    def _take_answer(self, answer: RuntimeAnswered) -> None:
        moved = answer.ref
        if not isinstance(moved, MovedLog):
            return
        self._reopening.pop(moved.id, None)
        where = {"pod": f"{moved.pod.namespace}/{moved.pod.name}", "container": moved.container}
        if isinstance(answer.outcome, RuntimeFailure):
            self._memory.failed += 1
            self._disk.undo(moved)
            # A container that ended meanwhile is no trouble.
            _log.info("log is not rotated", **where, reason=answer.outcome.message)
        elif moved.new:
            self._memory.rotated += 1
            _log.debug("log is rotated", **where, file=moved.new)

    # --- what nobody needs -----------------------------------------------------------------------------

    def _sweep_soon(self) -> None:
        if not self._sweeps_soon:
            self._sweeps_soon = True
            self.later(SWEEP_SOON, self._sweep)

    def _sweep(self) -> None:
        if not self._sweeps_soon:
            self.later(SWEEP_EVERY, self._sweep)
        self._sweeps_soon = False
        if not self._is_listed or self._is_away:
            return
        containers = list(self._containers())
        self._tidied &= {each.id for each in containers}
        self._disk.link(containers)
        self._disk.tidy_attempts(containers)
        if self._disk.orphans(self._contents, self._wanted, {}) or self._gone({}):
            self._ports.pod_keeper.tell(DescribePodLives(reply_to=self._ports.me))
        self._disk.tidy_links(
            {link_of(self._options.pods_directory, each)[0] for each in containers}
        )

    def _remove_orphans(self, described: PodLivesDescribed) -> None:
        if not self._is_listed or self._is_away:
            return
        removed = [
            name
            for name in self._disk.orphans(self._contents, self._wanted, described.lives)
            if self._disk.remove_pod(name)
        ]
        for name in removed:
            _log.info("logs of a pod that is gone are removed", directory=name)
        gone = self._gone(described.lives)
        for uid in sorted(gone & self._strangers):
            self._remove_directory(uid)
        if gone - self._strangers:
            self._sweep_soon()
        self._strangers = gone
        if removed:
            names = {link_of(self._options.pods_directory, each)[0] for each in self._containers()}
            self._disk.tidy_links(names)

    def _remove_directory(self, uid: PodUid) -> None:
        if self._ports.directories is not None:
            self._ports.directories.remove(uid)

    def _gone(self, lives: Mapping[PodUid, PodLife]) -> frozenset[PodUid]:
        """Return the pods with a directory that nobody has any more."""
        directories = self._ports.directories
        if directories is None:
            return frozenset()
        return strangers(directories.pods(), self._contents, self._wanted, lives)

    # --- what it says ----------------------------------------------------------------------------------

    def _described(self) -> ContainerLogsDescribed:
        return ContainerLogsDescribed(
            used_bytes=self._disk.used_bytes(self._containers()),
            rotated=self._memory.rotated,
            failed=self._memory.failed,
        )

    def _note(self, work: str, error: OSError | None) -> None:
        """Say that the disk refuses some kind of work, or that this is over; each once."""
        troubles = self._memory.troubles
        if error is None:
            if troubles.pop(work, None) is not None:
                _log.info("logs of containers can be kept again", work=work)
            return
        reason = error.strerror or str(error)
        if troubles.get(work) != reason:
            troubles[work] = reason
            _log.warning("logs of containers cannot be kept", work=work, reason=reason)
