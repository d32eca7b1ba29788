"""What a runtime observes of a pod, for tests: each container named by how it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from messages.pod_runtime import (
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    Mark,
    PodObserved,
    PodTrouble,
    SandboxObserved,
    SandboxState,
)
from messages.pods import PodPhase, PodUid
from messages.units import Timestamp

STARTED = Timestamp(1_700_000_000.0)
ENDED = Timestamp(1_700_000_060.0)


def running(name: str = "main", attempt: int = 0, **fields: Any) -> ContainerHistory:
    """Return a container that runs."""
    current = _instance(name, attempt, state=ContainerState.RUNNING, started_at=STARTED)
    return ContainerHistory(name=name, current=replace(current, **fields))


def exited(name: str = "main", code: int = 0, attempt: int = 0, **fields: Any) -> ContainerHistory:
    """Return a container that exited with ``code``."""
    return ContainerHistory(name=name, current=_ended(name, code, attempt, fields))


def waiting(
    name: str = "main", reason: str = "ContainerCreating", message: str = ""
) -> ContainerHistory:
    """Return a container that waits and never ran."""
    return ContainerHistory(name=name, wait=ContainerWait(reason=reason, message=message))


def backing_off(name: str = "main", code: int = 1, attempt: int = 0) -> ContainerHistory:
    """Return a container that exited with ``code`` and waits to be started again."""
    wait = ContainerWait(
        reason="CrashLoopBackOff", message="back-off 10s restarting failed container"
    )
    return ContainerHistory(name=name, current=_ended(name, code, attempt, {}), wait=wait)


def created(name: str = "main") -> ContainerHistory:
    """Return a container that is there and was not started."""
    return ContainerHistory(name=name, current=_instance(name, 0, state=ContainerState.CREATED))


def lost(name: str = "main") -> ContainerHistory:
    """Return a container that the runtime has lost track of."""
    return ContainerHistory(name=name, current=_instance(name, 0, state=ContainerState.UNKNOWN))


def restarted(history: ContainerHistory, code: int = 1) -> ContainerHistory:
    """Return ``history`` with an instance before it that exited with ``code``."""
    return replace(history, last=_ended(history.name, code, 0, {}))


def sandbox(
    *ips: str, is_ready: bool = True, attempt: int = 0, name: str = "sandbox"
) -> SandboxObserved:
    """Return a sandbox: with one address unless it is told others."""
    state = SandboxState.READY if is_ready else SandboxState.NOT_READY
    return SandboxObserved(
        id=f"{name}-{attempt}",
        attempt=attempt,
        state=state,
        created_at=STARTED,
        ips=ips or ("10.0.0.7",),
    )


READY_SANDBOX = sandbox()


def observation(
    *histories: ContainerHistory,
    uid: str = "uid-default-web",
    mark: Mark = Mark(0, 1),  # noqa: B008  # a value
    sandbox: SandboxObserved | None = READY_SANDBOX,
    troubles: tuple[PodTrouble, ...] = (),
    phase: PodPhase | None = None,
) -> PodObserved:
    """Return what a runtime tells of a pod with these containers."""
    containers: Mapping[str, ContainerHistory] = {each.name: each for each in histories}
    return PodObserved(
        uid=PodUid(uid),
        mark=mark,
        sandbox=sandbox,
        containers=containers,
        troubles=troubles,
        phase=phase,
    )


def _ended(name: str, code: int, attempt: int, fields: Mapping[str, Any]) -> ContainerObserved:
    instance = _instance(name, attempt, state=ContainerState.EXITED, started_at=STARTED)
    ended = replace(
        instance, finished_at=ENDED, exit_code=code, reason="Error" if code else "Completed"
    )
    return replace(ended, **fields)


def _instance(name: str, attempt: int, **fields: Any) -> ContainerObserved:
    return ContainerObserved(
        id=f"containerd://{name}-{attempt}",
        name=name,
        attempt=attempt,
        image="registry.example/web:1",
        image_id="registry.example/web@sha256:1",
        **fields,
    )
