"""Which instance of a container somebody means: the one that runs or ran last, or the one before. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from server.control.console import ConsoleError

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class Instance(NamedTuple):
    """One instance of a container."""

    container: str
    id: str
    attempt: int
    is_running: bool
    is_of_pod_before: bool = False
    """Whether it is one of the pod that had this name before, if there was one."""


def instance_of(pod: Mapping[str, Any], container: str, *, previous: bool) -> Instance:
    """Return the instance in a pod's document that ``container`` names; the only container if it is empty.

    Raises ``ConsoleError`` if there is none.
    """
    name = container or _only_one(pod)
    status = next((each for each in _statuses(pod) if each.get("name") == name), None)
    if status is None:
        known = ", ".join(_names(pod)) or "none"
        raise ConsoleError(f"there is no container {name} in this pod; there is {known}")
    return _previous(name, status) if previous else _present(name, status)


def still_runs(pod: Mapping[str, Any], instance: Instance) -> bool:
    """Return whether an instance runs by what a pod's document says, and not another one in its place."""
    try:
        found = instance_of(pod, instance.container, previous=False)
    except ConsoleError:
        return False
    return found.is_running and found.id == instance.id


def _only_one(pod: Mapping[str, Any]) -> str:
    names = [str(each.get("name")) for each in (pod.get("spec") or {}).get("containers") or ()]
    if len(names) != 1:
        raise ConsoleError(f"this pod has several containers, name one of them: {', '.join(names)}")
    return names[0]


def _names(pod: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name")) for each in _statuses(pod)]


def _statuses(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    status = pod.get("status") or {}
    for name in _STATUSES:
        yield from status.get(name) or ()


def _present(name: str, status: Mapping[str, Any]) -> Instance:
    last = ((status.get("lastState") or {}).get("terminated") or {}).get("containerID")
    found = status.get("containerID") or last
    if not found:
        waiting = ((status.get("state") or {}).get("waiting") or {}).get(
            "reason"
        ) or "nothing of it ran"
        raise ConsoleError(f"container {name} has not been started yet: {waiting}")
    runs = "running" in (status.get("state") or {})
    return Instance(name, str(found), int(status.get("restartCount") or 0), runs)


def _previous(name: str, status: Mapping[str, Any]) -> Instance:
    last = ((status.get("lastState") or {}).get("terminated") or {}).get("containerID")
    if not last:
        return Instance(name, "", 0, is_running=False, is_of_pod_before=True)
    attempt = int(status.get("restartCount") or 0)
    # One that waits to be started again is itself the last that ended.
    is_same = last == status.get("containerID")
    return Instance(name, str(last), attempt if is_same else max(0, attempt - 1), is_running=False)
