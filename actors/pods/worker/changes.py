"""What a worker hears of changes that its pod acts on, and when it acts. A part of the worker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, assert_never

from actors.pods.orders import HooksDue
from actors.pods.worker.hook_memory import HooksMemory
from actors.pods.worker.hooks import WorkerHooks
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.supply import WorkerSupply
from kernel import Port, Timer
from messages.change_hooks import RolloutGranted
from messages.objects import ChangeDecided
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainersSignalled, PodObserved
from messages.units import Seconds, Timestamp

HookFact: TypeAlias = ChangeDecided | ContainersSignalled | RolloutGranted | HooksDue
"""What a worker hears of changes."""


class WorkerChanges:
    """Begins to act on changes with the first one. So a pod that none concerns has nothing of it."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[ContainersSignalled | RolloutGranted],
        after: Callable[[Seconds, HooksDue], Timer],
        restart: Callable[[], None],
    ) -> None:
        """``restart`` tells the runtime which instances are outdated, and has that kept."""
        self._memory = memory
        self._make = partial(WorkerHooks, ports, memory, me, after, restart)
        self._hooks: WorkerHooks | None = None
        """None until the first change that something is to be done about."""

    def begin(self) -> None:
        """Go on with what an earlier life, or an earlier process, has begun."""
        memory = self._memory
        if memory.hooks is None and memory.kept is not None and memory.kept.outdated:
            memory.hooks = HooksMemory(outdated=memory.kept.outdated)
        if memory.hooks is not None:
            self._begun().resume()

    def take(self, fact: HookFact, now: Seconds) -> None:
        """Take in what is told. What is told of other pods is for these."""
        memory = self._memory
        if isinstance(fact, ChangeDecided) and fact.pod != memory.wish.pod.uid:
            return
        hooks = self._begun()
        match fact:
            case ChangeDecided():
                if memory.life.stage is PodLife.SYNC:
                    hooks.decide(fact, now)
            case ContainersSignalled():
                hooks.take_answer(fact)
            case RolloutGranted():
                hooks.take_turn(fact)
            case HooksDue():
                pass
            case _:
                assert_never(fact)

    def go_on(self, supply: WorkerSupply, now: Seconds, wall: Timestamp) -> None:
        """Do what can be done now about changes."""
        if self._hooks is not None and self._memory.life.stage is PodLife.SYNC:
            self._hooks.go_on(supply.volumes, supply.versions(), now, wall)

    def note_observed(self, observed: PodObserved | None) -> None:
        """Let the next one of a group go on if a container that was restarted is back."""
        if self._hooks is not None and observed is not None:
            self._hooks.note_observed(observed)

    def cancel(self) -> None:
        """Do nothing any more: the pod is being stopped. May repeat."""
        if self._hooks is not None:
            self._hooks.cancel()

    def _begun(self) -> WorkerHooks:
        if self._hooks is None:
            self._hooks = self._make()
        return self._hooks
