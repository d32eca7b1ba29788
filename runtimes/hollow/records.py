"""The sandboxes and containers of a hollow runtime in few bytes, and the steps that they will go. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from messages.container_runtime import CallRuntime, PodIdentity, SandboxContents
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import PodUid
from messages.probes import ProbeKey
from messages.units import Seconds, Timestamp
from runtimes.hollow.behaviour import ContainerBehaviour, Ending
from runtimes.lifecycle_hooks.messages import RunHook


@dataclass(slots=True, eq=False)
class SandboxRecord:
    """One sandbox."""

    pod: PodIdentity
    observed: SandboxObserved
    containers: list[ContainerRecord] = field(default_factory=list)
    death: SandboxDies | None = None

    @property
    def is_ready(self) -> bool:
        """Whether containers can be started in it."""
        return self.observed.state is SandboxState.READY

    def contents(self) -> SandboxContents:
        """Return what is told of it."""
        return SandboxContents(
            pod=self.pod,
            sandbox=self.observed,
            containers=tuple([container.observed for container in self.containers]),
        )


@dataclass(slots=True, eq=False)
class ContainerRecord:
    """One container."""

    sandbox: SandboxRecord
    observed: ContainerObserved
    behaviour: ContainerBehaviour
    end: ContainerEnds | None = None
    """How it will end, as far as that is known: by itself, or because it is being stopped."""
    readiness: ContainerIsReady | None = None
    signals: tuple[tuple[Timestamp, str], ...] = ()
    """The last signals that it got, and when."""

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.observed.state is ContainerState.RUNNING


@dataclass(slots=True, eq=False)
class CarryOut:
    """A request takes effect, and is answered."""

    due: Seconds
    call: CallRuntime
    uid: PodUid
    is_cancelled: bool = False


@dataclass(slots=True, eq=False)
class ContainerEnds:
    """A container ends: by itself, or because it is being stopped."""

    due: Seconds
    container: ContainerRecord
    ending: Ending
    is_cancelled: bool = False


@dataclass(slots=True, eq=False)
class ContainerIsReady:
    """A container begins to serve."""

    due: Seconds
    container: ContainerRecord
    is_cancelled: bool = False


@dataclass(slots=True, eq=False)
class SandboxDies:
    """A sandbox dies by itself."""

    due: Seconds
    sandbox: SandboxRecord
    is_cancelled: bool = False


@dataclass(slots=True, eq=False)
class HookEnds:
    """A hook of a container ends."""

    due: Seconds
    request: RunHook
    failure: str
    is_cancelled: bool = False


@dataclass(slots=True, eq=False)
class ProbeTicks:
    """An answer of a probe is due."""

    due: Seconds
    key: ProbeKey
    is_cancelled: bool = False


HollowStep: TypeAlias = (
    CarryOut | ContainerEnds | ContainerIsReady | SandboxDies | HookEnds | ProbeTicks
)
