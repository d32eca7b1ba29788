"""What the runtime has of one pod, and how an answer changes it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from messages.container_runtime import PodIdentity, SandboxContents
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState

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
