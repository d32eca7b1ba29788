"""What others are told of one pod. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from messages.pod_runtime import (
    OBJECT_CHANGED,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    Mark,
    PodObserved,
    PodTrouble,
    RuntimePod,
)
from messages.pods import PodUid
from runtimes.containers.contents import (
    Contents,
    instances_in,
    is_stopped,
    last_instances,
    newest_instances,
)
from runtimes.containers.event_texts import in_public
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.shape import ContainerPart, PodShape, written_grace
from runtimes.containers.situation import CREATING, INITIALIZING

_BACK_OFFS: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff"})

_PLAIN_ENDS: Final = frozenset({"Completed", "Error"})
"""Reasons that say no more than the exit code."""


def observed(
    uid: PodUid,
    mark: Mark,
    contents: Contents,
    waits: Mapping[str, ContainerWait],
    troubles: tuple[PodTrouble, ...] = (),
    shape: PodShape | None = None,
) -> PodObserved:
    """Return all that is known of a pod. Without a ``shape`` every container counts as its own."""
    shown, last = _instances(contents)
    names = waits.keys() | shown.keys()
    if shape is not None:
        _drop_earlier_inits(shape, contents, last)
        names &= {each.name for each in shape}
    return PodObserved(
        uid=uid,
        mark=mark,
        sandbox=contents[0].sandbox if contents else None,
        containers={
            name: ContainerHistory(
                name=name,
                current=in_public(shown.get(name), shape),
                last=in_public(last.get(name), shape),
                wait=waits.get(name),
            )
            for name in sorted(names)
        },
        from_earlier=_from_earlier(contents, shown),
        troubles=troubles,
    )


def _from_earlier(contents: Contents, shown: Mapping[str, ContainerObserved]) -> frozenset[str]:
    """Return the containers of which nothing is in the newest sandbox, and something in one before."""
    if len(contents) < 2:
        return frozenset()
    there = {one.id for one in contents[0].containers}
    return frozenset(name for name, one in shown.items() if one.id not in there)


def _instances(
    contents: Contents,
) -> tuple[dict[str, ContainerObserved], dict[str, ContainerObserved]]:
    """Return the instances that people see, and the ones before them, by name of the container."""
    newest = newest_instances(contents)
    shown = {name: one for name, one in newest.items() if one.state is not ContainerState.CREATED}
    last = last_instances(contents, newest) if _has_history(contents, newest) else {}
    for name in newest.keys() - shown.keys():
        # An instance that was never started is not worth seeing beside one that was.
        if name in last:
            shown[name] = last.pop(name)
    return shown, last


def _drop_earlier_inits(
    shape: PodShape, contents: Contents, last: dict[str, ContainerObserved]
) -> None:
    """Leave out what init containers were in earlier sandboxes, as kubelets do: they run in each anew."""
    if len(contents) < 2:
        return
    there = {one.id for one in contents[0].containers}
    for each in shape.inits:
        if (
            each.part is ContainerPart.INIT
            and each.name in last
            and last[each.name].id not in there
        ):
            del last[each.name]


def with_back_offs(news: PodObserved, told: PodObserved, under_way: Iterable[str]) -> PodObserved:
    """Return ``news`` in which containers with a step ``under_way`` are as they were told to be.

    A back-off, or the end of an instance, is what people see until the next instance or the next failure: not
    what is asked for in between.
    """
    kept: dict[str, ContainerHistory] = {}
    for name in under_way:
        old, new = told.containers.get(name), news.containers.get(name)
        if (
            old is not None
            and new is not None
            and new.wait != old.wait
            and (new.wait is None or not new.wait.message)
            and new.current == old.current
            and _lasts(old)
        ):
            kept[name] = replace(new, last=old.last, wait=old.wait)
    return replace(news, containers={**news.containers, **kept}) if kept else news


def with_changes(news: PodObserved, outdated: Collection[str]) -> PodObserved:
    """Return ``news`` in which instances that were ``outdated`` say that they ended for that."""
    shown = {
        name: replace(
            each, current=_changed(each.current, outdated), last=_changed(each.last, outdated)
        )
        for name, each in news.containers.items()
    }
    return replace(news, containers=shown)


def _changed(
    instance: ContainerObserved | None, outdated: Collection[str]
) -> ContainerObserved | None:
    if instance is None or instance.id not in outdated or instance.reason not in _PLAIN_ENDS:
        return instance
    return replace(instance, reason=OBJECT_CHANGED)


def _lasts(history: ContainerHistory) -> bool:
    if history.wait is not None:
        return history.wait.reason in _BACK_OFFS
    return history.current is not None and history.current.state is ContainerState.EXITED


def is_beginning(
    contents: Contents, waits: Mapping[str, ContainerWait], troubles: tuple[PodTrouble, ...]
) -> bool:
    """Return whether nothing has run of the pod yet, and nothing has gone wrong."""
    return (
        not troubles
        and all(wait is CREATING or wait is INITIALIZING for wait in waits.values())
        and all(one.state is ContainerState.CREATED for one in instances_in(contents))
    )


def runtime_pods(records: Collection[RuntimeRecord]) -> tuple[RuntimePod, ...]:
    """Return the pods that the runtime has something of. Each is put together once for all questions."""
    for record in records:
        if record.listed is None and record.contents:
            record.listed = runtime_pod(record.uid, record.contents)
    return tuple(record.listed for record in records if record.listed is not None)


def container_states(records: Collection[RuntimeRecord]) -> Mapping[ContainerState, int]:
    """Return how many containers there are in each state."""
    return Counter(one.state for record in records for one in instances_in(record.contents))


def runtime_pod(uid: PodUid, contents: Contents) -> RuntimePod:
    """Return the pod that has these sandboxes, which are one at least, the newest first."""
    owner = contents[0].pod
    return RuntimePod(
        uid=uid,
        namespace=owner.namespace,
        name=owner.name,
        source=owner.source,
        is_running=not is_stopped(contents),
        started_at=min(each.sandbox.created_at for each in contents),
        running_containers=sum(
            one.state is ContainerState.RUNNING for one in instances_in(contents)
        ),
        is_foreign=owner.is_foreign,
        instances=tuple(newest_instances(contents).values()) if owner.is_foreign else (),
        grace=written_grace(contents),
    )


def _has_history(contents: Contents, newest: Mapping[str, ContainerObserved]) -> bool:
    return sum(len(each.containers) for each in contents) > len(newest)
