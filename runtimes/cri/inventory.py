"""What is known of everything that a runtime has. Pure.

Two things teach it: the answer of an operation, which knows what it did, and a look, which lists and takes
time. A look that began before an operation's answer says nothing about what that operation did. So each entry
remembers when it was taught, as a number that grows, and a look changes only what is older than the look. A
look at everything may end after one at a pod that began later: then it says nothing of that pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from messages.container_runtime import PodIdentity, SandboxContents
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import PodUid
from runtimes.cri.wire import cri_pb2 as cri


class ContainerExit(NamedTuple):
    """An exit that an event told of. The runtime itself goes on to say for a while that it runs."""

    exit_code: int
    at: int
    """In nanoseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSeen:
    """A sandbox, and whose it is."""

    pod: PodIdentity
    observed: SandboxObserved
    is_settled: bool = field(default=True, compare=False)
    """False while its end is known from an event alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSeen:
    """A container, and where it is."""

    uid: PodUid
    sandbox_id: str
    observed: ContainerObserved
    status: cri.ContainerStatus = field(repr=False, compare=False)
    """What the runtime said of it last."""
    is_settled: bool = True
    """False while its exit is known from an event alone: the runtime may tell more, OOMKilled for example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one look saw: of one pod, or of all."""

    uid: PodUid | None
    """None for all."""
    began: int
    """The number of the moment at which the look began."""
    sandboxes: tuple[SandboxSeen, ...]
    containers: tuple[ContainerSeen, ...]


@dataclass(slots=True)
class _Pod:
    sandboxes: dict[str, SandboxSeen] = field(default_factory=dict)
    containers: dict[str, ContainerSeen] = field(default_factory=dict)


class CriInventory:
    """Sandboxes and containers by pod. Ids are the runtime's own, without its name before them."""

    def __init__(self) -> None:
        self._pods: dict[PodUid, _Pod] = {}
        self._owners: dict[str, PodUid] = {}
        """Whose each sandbox and each container is."""
        self._taught: dict[str, int] = {}
        """When an operation last taught something of an id; also of one that was removed."""
        self._looked: dict[PodUid | None, int] = {}
        """When the newest look began at each pod, and at everything, that was taken."""
        self._stuck: set[str] = set()
        self._moment = 0

    # --- what is asked ---------------------------------------------------------------------------------

    def __contains__(self, uid: PodUid) -> bool:
        """Whether there is anything of the pod."""
        return uid in self._pods

    def owner(self, some_id: str) -> PodUid | None:
        """Return whose the sandbox or the container is; None if it is not known."""
        return self._owners.get(some_id)

    def sandbox(self, sandbox_id: str) -> SandboxSeen | None:
        """Return what is known of a sandbox."""
        pod = self._pods.get(self._owners.get(sandbox_id, PodUid("")))
        return None if pod is None else pod.sandboxes.get(sandbox_id)

    def container(self, container_id: str) -> ContainerSeen | None:
        """Return what is known of a container."""
        pod = self._pods.get(self._owners.get(container_id, PodUid("")))
        return None if pod is None else pod.containers.get(container_id)

    def is_settled(self, uid: PodUid) -> bool:
        """Return whether the runtime itself has said all that is known of a pod."""
        pod = self._pods.get(uid)
        if pod is None:
            return True
        sandboxes = all(each.is_settled for each in pod.sandboxes.values())
        return sandboxes and all(each.is_settled for each in pod.containers.values())

    def contents(self, uid: PodUid) -> tuple[SandboxContents, ...]:
        """Return everything of one pod, the newest sandbox first."""
        pod = self._pods.get(uid)
        return () if pod is None else _contents(pod)

    def everything(self) -> tuple[SandboxContents, ...]:
        """Return everything of all pods."""
        return tuple(each for pod in self._pods.values() for each in _contents(pod))

    # --- what teaches it -------------------------------------------------------------------------------

    def begin_look(self) -> int:
        """Return the number of this moment, for a look that begins. Each look has another one."""
        self._moment += 1
        return self._moment

    def note_sandbox(self, seen: SandboxSeen) -> None:
        """Take that an operation has made or changed a sandbox."""
        self._teach(seen.observed.id)
        self._put_sandbox(seen)

    def note_container(self, seen: ContainerSeen) -> None:
        """Take that an operation has made or changed a container."""
        self._teach(bare_id(seen.observed.id))
        self._put_container(seen)

    def note_stopped_sandbox(self, sandbox_id: str, *, is_settled: bool = True) -> None:
        """Take that a sandbox has ended. What ran in it was killed, which the next look sees.

        It is not settled if an event tells of it alone: the runtime goes on for a while to say READY.
        """
        seen = self.sandbox(sandbox_id)
        if seen is not None:
            observed = replace(seen.observed, state=SandboxState.NOT_READY)
            self.note_sandbox(replace(seen, observed=observed, is_settled=is_settled))

    def is_stuck(self, some_id: str) -> bool:
        """Return whether the runtime shows it, though only its record is left."""
        return some_id in self._stuck

    def forget_stuck(self) -> None:
        """Forget what is stuck: it is looked at again. A runtime that was started anew can remove it."""
        self._stuck.clear()

    def note_removed(self, some_id: str, *, is_stuck: bool = False) -> None:
        """Take that a sandbox, with its containers, or a container was removed.

        What ``is_stuck`` the runtime goes on to show: it counts as removed until ``forget_stuck``.
        """
        if is_stuck:
            self._stuck.add(some_id)
        self._teach(some_id)
        uid = self._owners.get(some_id)
        pod = self._pods.get(uid) if uid is not None else None
        if uid is None or pod is None:
            return
        if some_id in pod.sandboxes:
            for container_id in [
                each for each, seen in pod.containers.items() if seen.sandbox_id == some_id
            ]:
                self._teach(container_id)
                self._drop(uid, container_id)
        self._drop(uid, some_id)

    def take(self, seen: Seen) -> tuple[PodUid, ...]:
        """Take what a look saw. Return the pods of which anything is different from before."""
        newer = {uid for uid, began in self._looked.items() if began > seen.began}
        if None in newer or seen.uid in newer:
            return ()
        self._looked[seen.uid] = seen.began
        changed: dict[PodUid, None] = {}
        before = {each: uid for each, uid in self._ids(seen.uid).items() if uid not in newer}
        for sandbox in (each for each in seen.sandboxes if each.pod.uid not in newer):
            before.pop(sandbox.observed.id, None)
            if self._is_older(sandbox.observed.id, seen) and self._put_sandbox(sandbox):
                changed[sandbox.pod.uid] = None
        for container in (each for each in seen.containers if each.uid not in newer):
            container_id = bare_id(container.observed.id)
            before.pop(container_id, None)
            if self._is_older(container_id, seen) and self._put_container(container):
                changed[container.uid] = None
        for gone, uid in before.items():
            if self._is_older(gone, seen):
                self._drop(uid, gone)
                changed[uid] = None
        return tuple(changed)

    def forget_moments(self) -> None:
        """Forget when things were taught: no look is out, and every one that comes begins later."""
        self._taught.clear()
        self._looked.clear()

    # --- inside ----------------------------------------------------------------------------------------

    def _teach(self, some_id: str) -> None:
        self._moment += 1
        self._taught[some_id] = self._moment

    def _is_older(self, some_id: str, seen: Seen) -> bool:
        return self._taught.get(some_id, 0) <= seen.began

    def _ids(self, uid: PodUid | None) -> dict[str, PodUid]:
        uids: Iterable[PodUid] = self._pods if uid is None else (uid,)
        found: Mapping[PodUid, _Pod] = {
            each: self._pods[each] for each in uids if each in self._pods
        }
        return {
            some_id: each
            for each, pod in found.items()
            for some_id in (*pod.sandboxes, *pod.containers)
        }

    def _put_sandbox(self, seen: SandboxSeen) -> bool:
        pod = self._pods.setdefault(seen.pod.uid, _Pod())
        before = pod.sandboxes.get(seen.observed.id)
        is_ready = seen.observed.state is SandboxState.READY
        if before is not None and not before.is_settled and is_ready:
            return False
        if before is not None and not seen.observed.ips:
            # A sandbox that has stopped has no address any more; its pod keeps showing the last one.
            seen = replace(seen, observed=replace(seen.observed, ips=before.observed.ips))
        self._take_from_other(seen.observed.id, seen.pod.uid)
        pod.sandboxes[seen.observed.id] = seen
        self._owners[seen.observed.id] = seen.pod.uid
        return seen != before

    def _put_container(self, seen: ContainerSeen) -> bool:
        pod = self._pods.setdefault(seen.uid, _Pod())
        container_id = bare_id(seen.observed.id)
        before = pod.containers.get(container_id)
        if before is not None and goes_back(before.observed.state, seen.observed.state):
            return False
        self._take_from_other(container_id, seen.uid)
        pod.containers[container_id] = seen
        self._owners[container_id] = seen.uid
        return before is None or seen.observed != before.observed

    def _take_from_other(self, some_id: str, uid: PodUid) -> None:
        """Have an id belong to one pod alone, even if the runtime says otherwise."""
        owner = self._owners.get(some_id)
        if owner is not None and owner != uid:
            self._drop(owner, some_id)

    def _drop(self, uid: PodUid, some_id: str) -> None:
        pod = self._pods.get(uid)
        if pod is not None:
            pod.sandboxes.pop(some_id, None)
            pod.containers.pop(some_id, None)
            if not pod.sandboxes and not pod.containers:
                del self._pods[uid]
        self._owners.pop(some_id, None)


def goes_back(before: ContainerState, now: ContainerState) -> bool:
    """Return whether a container cannot be in the state ``now`` any more, since it was in ``before``.

    A runtime says RUNNING for a while after an event has told of the exit.
    """
    if before is ContainerState.EXITED:
        return now is not ContainerState.EXITED
    return before is ContainerState.RUNNING and now is ContainerState.CREATED


def bare_id(container_id: str) -> str:
    """Return the id as the runtime itself says it: without ``containerd://``."""
    return container_id.rpartition("://")[2]


def _contents(pod: _Pod) -> tuple[SandboxContents, ...]:
    newest_first = sorted(
        pod.sandboxes.values(),
        key=lambda each: (each.observed.attempt, each.observed.created_at),
        reverse=True,
    )
    return tuple(
        SandboxContents(
            pod=each.pod,
            sandbox=each.observed,
            containers=tuple(
                one.observed
                for one in pod.containers.values()
                if one.sandbox_id == each.observed.id
            ),
        )
        for each in newest_first
    )
