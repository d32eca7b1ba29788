"""What the runtime has of one pod, how an answer changes it, and what is remembered beyond that. Pure.

Most containers have no notes: they began when something went wrong, or took more than one answer. Most pods
have no hooks. All times are of the monotonic clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from messages.container_runtime import PodIdentity, SandboxContents
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    ContainerWait,
    SandboxObserved,
    SandboxState,
)
from messages.pods import JsonObject
from messages.units import Seconds
from runtimes.containers.crash_backoff import CrashNotes
from runtimes.lifecycle_hooks.messages import HookKind

Contents: TypeAlias = tuple[SandboxContents, ...]
"""The newest sandbox first."""
_ALIVE = frozenset({ContainerState.RUNNING, ContainerState.UNKNOWN})


def instances_in(contents: Iterable[SandboxContents]) -> Iterator[ContainerObserved]:
    """Go over all instances of containers."""
    return chain.from_iterable(each.containers for each in contents)


def in_order(sandboxes: Sequence[SandboxContents]) -> Contents:
    """Return the sandboxes with the newest first."""
    if len(sandboxes) < 2:
        return tuple(sandboxes)
    return tuple(sorted(sandboxes, key=lambda each: each.sandbox.attempt, reverse=True))


def with_sandbox(contents: Contents, owner: PodIdentity, sandbox: SandboxObserved) -> Contents:
    """Return the contents with this sandbox in them, or as it is now."""
    if any(each.sandbox.id == sandbox.id for each in contents):
        return tuple(
            replace(each, sandbox=sandbox) if each.sandbox.id == sandbox.id else each
            for each in contents
        )
    new = SandboxContents(pod=owner, sandbox=sandbox, containers=())
    return in_order((new, *contents)) if contents else (new,)


def without_sandbox(contents: Contents, sandbox_id: str) -> Contents:
    """Return the contents without this sandbox."""
    return tuple(each for each in contents if each.sandbox.id != sandbox_id)


def with_sandbox_stopped(contents: Contents, sandbox_id: str) -> Contents:
    """Return the contents with this sandbox stopped."""
    return tuple(
        replace(each, sandbox=replace(each.sandbox, state=SandboxState.NOT_READY))
        if each.sandbox.id == sandbox_id
        else each
        for each in contents
    )


def with_container(
    contents: Contents, container: ContainerObserved, sandbox_id: str = ""
) -> Contents:
    """Return the contents with this container as it is now; a new one is in the sandbox ``sandbox_id``."""
    for place, each in enumerate(contents):
        known = next(
            (number for number, one in enumerate(each.containers) if one.id == container.id), None
        )
        if known is None and each.sandbox.id != sandbox_id:
            continue
        at = len(each.containers) if known is None else known
        inside = (*each.containers[:at], container, *each.containers[at + 1 :])
        changed = SandboxContents(pod=each.pod, sandbox=each.sandbox, containers=inside)
        return (*contents[:place], changed, *contents[place + 1 :])
    return contents


def without_container(contents: Contents, container_id: str) -> Contents:
    """Return the contents without this container."""
    return tuple(
        replace(each, containers=tuple(one for one in each.containers if one.id != container_id))
        if any(one.id == container_id for one in each.containers)
        else each
        for each in contents
    )


def with_starting(contents: Contents, ids: Collection[str]) -> Contents:
    """Return the contents in which these instances that run count as not started yet."""
    return tuple(
        replace(
            each,
            containers=tuple(
                replace(one, state=ContainerState.CREATED)
                if one.id in ids and one.state is ContainerState.RUNNING
                else one
                for one in each.containers
            ),
        )
        for each in contents
    )


def newest_instances(contents: Contents) -> dict[str, ContainerObserved]:
    """Return the newest instance of each container, whatever sandbox it is in."""
    newest: dict[str, ContainerObserved] = {}
    for instance in instances_in(contents):
        other = newest.get(instance.name)
        if other is None or instance.attempt > other.attempt:
            newest[instance.name] = instance
    return newest


def is_alive(instance: ContainerObserved) -> bool:
    """Return whether the instance may be running."""
    return instance.state in _ALIVE


def last_instances(
    contents: Contents, newest: Mapping[str, ContainerObserved]
) -> dict[str, ContainerObserved]:
    """Return the newest instance of each container before ``newest`` that exited."""
    last: dict[str, ContainerObserved] = {}
    for one in instances_in(contents):
        other = last.get(one.name)
        if (
            one.state is ContainerState.EXITED
            and one.attempt < newest[one.name].attempt
            and (other is None or one.attempt > other.attempt)
        ):
            last[one.name] = one
    return last


def is_stopped(contents: Contents) -> bool:
    """Return whether nothing of the pod lives."""
    return not any(
        each.sandbox.state is SandboxState.READY or any(map(is_alive, each.containers))
        for each in contents
    )


ASK_AGAIN_AFTER: Final = Seconds(5.0)
"""How often who carries a hook out is told of it: a crash may have lost that, or the answer."""
HookKey: TypeAlias = tuple[str, HookKind]
"""The id of an instance, and which of its hooks."""
LATE: Final = Seconds(2.0)
"""How long after its deadline the end of a hook is still waited for. It is told at the deadline."""


@dataclass(slots=True)
class ImageNotes:
    """How the search for an image stands."""

    image: str
    is_missing: bool = False
    image_id: str = ""
    """As it was found, for the container that is created next."""
    failures: int = 0
    """How often in a row it could not be pulled."""
    failed_at: Seconds = Seconds(0.0)
    retry_at: Seconds = Seconds(0.0)
    error: ContainerWait | None = None
    is_stale: bool = False
    """It was missing before a pull that failed: somebody may have brought it since."""


@dataclass(slots=True)
class ContainerNotes:
    """What is remembered of one container."""

    highest: int = -1
    """The highest attempt that was ever seen: also of instances that somebody else removed."""
    has_ended: bool = False
    """It ended for good, and somebody else removed the instance that did."""
    crashes: CrashNotes | None = None
    images: dict[str, ImageNotes] = field(default_factory=dict)
    """How the search for each image stands, for the instance that is created next. By name."""
    error: ContainerWait | None = None
    """Why it could not be created or started, until it is."""
    failures: int = 0
    """How often in a row that was so."""
    retry_at: Seconds = Seconds(0.0)
    replaced_id: str = ""
    """The instance that was killed to be replaced: it is, whatever its restart policy says."""
    discarded_id: str = ""
    """An instance that was created and can never be started."""
    resize_of: str = ""
    """The instance that other resources are wanted for; empty if none is."""
    resize_retry_at: Seconds = Seconds(0.0)
    resize_error: str = ""
    old_resources: JsonObject | None = None
    """What it had before."""

    def end_resize(self) -> None:
        """Note that its resources are as wanted."""
        self.resize_of, self.resize_error, self.old_resources = "", "", None


@dataclass(slots=True)
class HookRun:
    """How one hook of one instance stands. It is called once for an instance."""

    until: Seconds = Seconds(0.0)
    """When it is given up, by the monotonic clock. It only ever gets earlier."""
    asked_at: Seconds | None = None
    """When somebody was last told to carry it out; None if it is due."""
    is_over: bool = False
    failure: str = ""
    """Why it failed; empty if it did not, or not yet."""

    @property
    def ask_again_at(self) -> Seconds:
        """When its end is asked for once more."""
        return Seconds((self.asked_at or 0.0) + ASK_AGAIN_AFTER)

    @property
    def has_succeeded(self) -> bool:
        """Whether it is over and did not fail."""
        return self.is_over and not self.failure
