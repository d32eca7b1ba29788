"""The statuses of a pod's containers as the API has them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

from manifests.restart_rules import is_sidecar
from messages.pod_runtime import ContainerHistory, ContainerObserved, ProbeVerdict
from messages.pods import Pod
from messages.statuses import PodStatus
from messages.units import Timestamp
from stores.statuses.shown import (
    LOST_EXIT_CODE,
    LOST_MESSAGE,
    LOST_REASON,
    Container,
    Shown,
    containers,
    ephemeral_containers,
    has_exited,
    histories,
    init_containers,
    is_done,
    is_ready,
    is_started,
    never_begun,
    shown,
    verdict_on,
)

MESSAGES_LIMIT: Final = 12 * 1024
"""Bytes of termination messages in one status, shared evenly by all containers (rule V2)."""
MOST_RESTARTS: Final = 2**31 - 1
"""The API has 32 bits for a restart count."""
_LONG: Final = frozenset({"message", "containerID"})
"""What a table does not show of the state of a container."""


class ContainerKind(Enum):
    """The kinds of containers, which the API lists apart."""

    INIT = auto()
    REGULAR = auto()
    EPHEMERAL = auto()


class StatusesRenderer:
    """Renders the container statuses of one pod."""

    def __init__(self, pod: Pod, status: PodStatus, time_text: Callable[[Timestamp], str]) -> None:
        self._pod = pod
        self._status = status
        self._time_text = time_text
        self._seen = histories(status.observed)
        self._never_begun = never_begun(pod, self._seen) if status.is_ended else frozenset[str]()
        count = len(containers(pod)) + len(init_containers(pod)) + len(ephemeral_containers(pod))
        self._message_limit = MESSAGES_LIMIT // max(count, 1)
        self._first_wait = "PodInitializing" if init_containers(pod) else "ContainerCreating"
        troubles = () if status.observed is None else status.observed.troubles
        self._is_resizing = any(each.reason.startswith("Resize") for each in troubles)

    def statuses(self, kind: ContainerKind) -> Sequence[dict[str, Any]]:
        """Return those of one kind: init containers in their order, others by name."""
        if kind is ContainerKind.INIT:
            return [self._status_of(each, kind) for each in init_containers(self._pod)]
        of_kind = containers if kind is ContainerKind.REGULAR else ephemeral_containers
        return [self._status_of(each, kind) for each in sorted(of_kind(self._pod), key=_name)]

    def brief_statuses(self, kind: ContainerKind) -> Sequence[dict[str, Any]]:
        """Return the same with what a table shows of each."""
        of_kind = {
            ContainerKind.INIT: init_containers,
            ContainerKind.REGULAR: containers,
            ContainerKind.EPHEMERAL: ephemeral_containers,
        }[kind]
        found = of_kind(self._pod)
        ordered = sorted(found, key=_name) if kind is not ContainerKind.INIT else found
        return [self._brief_status_of(each, kind) for each in ordered]

    def _brief_status_of(self, container: Container, kind: ContainerKind) -> dict[str, Any]:
        name = container["name"]
        history = self._seen.get(name)
        newest = None if history is None else history.current or history.last
        rendered: dict[str, Any] = {
            "name": name,
            "ready": self._is_ready(container, kind, history),
            "started": self._is_started(container, kind, history),
            "restartCount": 0 if newest is None else min(newest.attempt, MOST_RESTARTS),
            "state": brief_state(self._state(name, history)),
        }
        if last := self._last_state(name, history):
            rendered["lastState"] = brief_state(last)
        return rendered

    def _status_of(self, container: Container, kind: ContainerKind) -> dict[str, Any]:
        name = container["name"]
        history = self._seen.get(name)
        newest = None if history is None else history.current or history.last
        rendered: dict[str, Any] = {
            "name": name,
            "state": self._state(name, history),
            "lastState": self._last_state(name, history),
            "ready": self._is_ready(container, kind, history),
            "restartCount": 0 if newest is None else min(newest.attempt, MOST_RESTARTS),
            "image": (newest.image if newest else "") or container.get("image") or "",
            "imageID": newest.image_id if newest else "",
        }
        if newest is not None and newest.id:
            rendered["containerID"] = newest.id
        if kind is not ContainerKind.EPHEMERAL:
            rendered["started"] = self._is_started(container, kind, history)
        rendered.update(self._resources(container, history))
        return rendered

    def _state(self, name: str, history: ContainerHistory | None) -> Mapping[str, Any]:
        current = None if history is None else history.current
        match self._shown(name, history):
            case Shown.RUNNING:
                # A container that runs has begun at some moment, even if the runtime does not know when.
                began = self._started_at(current) or self._time(self._status.start_time)
                return {"running": {"startedAt": began}}
            case Shown.ENDED if current is not None and has_exited(current):
                return {"terminated": self._terminated(current)}
            case Shown.ENDED:
                return {"terminated": self._lost(current)}
            case Shown.WAITING:
                return {"waiting": self._waiting(history)}

    def _last_state(self, name: str, history: ContainerHistory | None) -> Mapping[str, Any]:
        if history is None:
            return {}
        last = history.last
        if self._shown(name, history) is Shown.WAITING and has_exited(history.current):
            last = history.current
        return {} if last is None else {"terminated": self._terminated(last)}

    def _waiting(self, history: ContainerHistory | None) -> Mapping[str, Any]:
        wait = None if history is None else history.wait
        if wait is None:
            return {"reason": self._first_wait}
        return {"reason": wait.reason, **({"message": wait.message} if wait.message else {})}

    def _terminated(self, instance: ContainerObserved) -> Mapping[str, Any]:
        code = LOST_EXIT_CODE if instance.exit_code is None else instance.exit_code
        rendered: dict[str, Any] = {"exitCode": code}
        reason = instance.reason or ("Error" if code else "Completed")
        rendered["reason"] = reason
        if instance.message:
            rendered["message"] = _cut(instance.message, self._message_limit)
        rendered["startedAt"] = self._time(instance.started_at)
        rendered["finishedAt"] = self._time(instance.finished_at)
        if instance.id:
            rendered["containerID"] = instance.id
        return rendered

    def _lost(self, current: ContainerObserved | None) -> Mapping[str, Any]:
        """Return the end of a container that has no end of its own (rule V12)."""
        rendered: dict[str, Any] = {
            "exitCode": LOST_EXIT_CODE,
            "reason": LOST_REASON,
            "message": LOST_MESSAGE,
            "startedAt": self._started_at(current),
            "finishedAt": None,
        }
        if current is not None and current.id:
            rendered["containerID"] = current.id
        return rendered

    def _is_ready(
        self, container: Container, kind: ContainerKind, history: ContainerHistory | None
    ) -> bool:
        if kind is ContainerKind.INIT and not is_sidecar(container):
            return is_done(history)
        return (
            kind is not ContainerKind.EPHEMERAL
            and not self._status.is_ended
            and is_ready(history, self._verdict(container))
        )

    def _is_started(
        self, container: Container, kind: ContainerKind, history: ContainerHistory | None
    ) -> bool:
        if self._status.is_ended:
            return False
        if kind is ContainerKind.INIT and not is_sidecar(container):
            return shown(history) is Shown.RUNNING
        return is_started(history, self._verdict(container))

    def _resources(
        self, container: Container, history: ContainerHistory | None
    ) -> Mapping[str, Any]:
        """Return what a running container has.

        If the runtime does not tell, that is what is specified, unless it is being changed.
        """
        if self._shown(container["name"], history) is not Shown.RUNNING:
            return {}
        current = None if history is None else history.current
        resources = None if current is None else current.resources
        if resources is None and not self._is_resizing:
            resources = container.get("resources")
        if not resources:
            return {}
        requests = resources.get("requests")
        return {**({"allocatedResources": requests} if requests else {}), "resources": resources}

    def _shown(self, name: str, history: ContainerHistory | None) -> Shown:
        is_ended = self._status.is_ended and name not in self._never_begun
        return shown(history, is_ended=is_ended)

    def _verdict(self, container: Container) -> ProbeVerdict:
        return verdict_on(container["name"], self._status.verdicts)

    def _started_at(self, current: ContainerObserved | None) -> str | None:
        return None if current is None else self._time(current.started_at)

    def _time(self, moment: Timestamp | None) -> str | None:
        return None if moment is None else self._time_text(moment)


def brief_state(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state without its message, and without the name of the container in its runtime."""
    return {
        kind: {name: each for name, each in (of or {}).items() if name not in _LONG}
        for kind, of in state.items()
    }


def _name(container: Container) -> str:
    return str(container["name"])


def _cut(message: str, limit: int) -> str:
    """Return as much of the beginning of ``message`` as fits into ``limit`` bytes, in whole characters."""
    if len(message) * 4 <= limit:
        return message
    return message.encode()[:limit].decode(errors="ignore")
