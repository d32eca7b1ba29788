"""What of the logs on disk is to be linked, and what is not needed any more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from actors.logs.layout import (
    LoggedPod,
    link_name,
    log_directory,
    log_path,
    logged_pod,
)
from messages.changes import Op
from messages.container_runtime import SandboxContents
from messages.pod_lives import PodLife
from messages.pod_manager import PodFact, PodsAre
from messages.pod_runtime import ContainerState
from messages.pods import API, PodUid, SourceName

KEPT_ATTEMPTS: Final = 2
"""Of each container: the log of the newest instance, and of the one before it."""


PodKey: TypeAlias = tuple[str, str]
"""Namespace and name."""


class LoggedContainer(NamedTuple):
    """One instance of a container that the runtime has."""

    id: str
    pod: LoggedPod
    name: str
    attempt: int
    is_running: bool
    is_started: bool


def logged_containers(contents: Iterable[SandboxContents]) -> Iterator[LoggedContainer]:
    """Return the instances in these sandboxes."""
    for each in contents:
        pod = LoggedPod(each.pod.namespace, each.pod.name, each.pod.uid)
        for one in each.containers:
            is_started = one.state is not ContainerState.CREATED
            is_running = one.state is ContainerState.RUNNING
            yield LoggedContainer(one.id, pod, one.name, one.attempt, is_running, is_started)


def link_of(root: Path, container: LoggedContainer) -> tuple[str, str]:
    """Return the name of the link to a log, and what it leads to."""
    name = link_name(container.pod, container.name, container.id)
    path = log_directory(root, container.pod) / log_path(container.name, container.attempt)
    return name, str(path)


def old_attempts(on_disk: AbstractSet[int], in_runtime: AbstractSet[int]) -> set[int]:
    """Return the instances of one container whose logs are not needed any more.

    The newest two on disk are kept in any case: the container may have been removed by somebody else.
    """
    kept = sorted(on_disk)[-KEPT_ATTEMPTS:]
    return set(on_disk) - in_runtime - set(kept)


@dataclass(slots=True)
class WantedPods:
    """The pods that this node is told to run, as far as it knows."""

    sources: frozenset[SourceName] = frozenset()
    """All that there are."""
    by_source: dict[SourceName, dict[PodUid, PodKey]] = field(default_factory=dict)
    listed: set[SourceName] = field(default_factory=set)
    """Sources that have seen what they list from, and have told it."""

    @property
    def are_known(self) -> bool:
        """Whether each source has told what it wants, and has seen it."""
        return bool(self.sources) and self.sources <= self.listed

    def take(self, fact: PodFact) -> None:
        """Take what PodManager tells."""
        if isinstance(fact, PodsAre):
            self.by_source[fact.source] = {pod.uid: (pod.namespace, pod.name) for pod in fact.pods}
            self.listed.discard(fact.source)
            if not fact.is_provisional:
                self.listed.add(fact.source)
            return
        for change in fact.changes:
            if change.op is Op.REMOVE:
                for uids in self.by_source.values():
                    uids.pop(change.pod.uid, None)
            else:
                pod = change.pod
                self.by_source.setdefault(fact.source, {})[pod.uid] = (pod.namespace, pod.name)

    def has(self, uid: PodUid) -> bool:
        """Return whether a source wants this pod."""
        return any(uid in uids for uids in self.by_source.values())

    def static(self) -> set[PodKey]:
        """Return the static pods. A changed manifest makes another pod of the same name."""
        return {
            pod for source, pods in self.by_source.items() if source != API for pod in pods.values()
        }


def orphans(
    directories: Iterable[str],
    running: Collection[PodUid],
    wanted: WantedPods,
    lives: Mapping[PodUid, PodLife],
) -> list[str]:
    """Return the directories of logs whose pod neither the runtime has, nor a source, nor this node.

    ``directories`` are told with the oldest first. Of those of a static pod's name the last one is none of
    them: its pod was replaced, mostly since it did not work. As long as a source has not told what it wants,
    there are none.
    """
    if not wanted.are_known:
        return []
    found = {name: pod for name in directories if (pod := logged_pod(name)) is not None}
    gone = strangers((pod.uid for pod in found.values()), running, wanted, lives)
    orphaned = {name: pod for name, pod in found.items() if pod.uid in gone}
    replaced = {(pod.namespace, pod.name): name for name, pod in orphaned.items()}
    kept = {replaced[each] for each in replaced.keys() & wanted.static()}
    return [name for name in orphaned if name not in kept]


def strangers(
    pods: Iterable[PodUid],
    running: Collection[PodUid],
    wanted: WantedPods,
    lives: Mapping[PodUid, PodLife],
) -> frozenset[PodUid]:
    """Return those ``pods`` that neither the runtime has, nor a source, nor this node.

    As long as a source has not told what it wants, there are none.
    """
    if not wanted.are_known:
        return frozenset()
    return frozenset(
        uid
        for uid in pods
        if uid not in running
        and not wanted.has(uid)
        and lives.get(uid, PodLife.FINISHED) is PodLife.FINISHED
    )
