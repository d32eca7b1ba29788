"""Turns of the containers of one pod to be restarted, one at a time in their group. A part of the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.pods.worker.hook_memory import RestartsInTurn
from actors.pods.worker.object_hooks import is_back, rollout_group
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from kernel import Port
from messages.change_hooks import ReturnRollout, RolloutGranted, RolloutMessage, WantRollout
from messages.objects import ObjectId
from messages.pod_runtime import PodObserved
from messages.units import Seconds
from stores.statuses.shown import verdict_on

ASK_AGAIN: Final = Seconds(30.0)


class RestartTurns:
    """Asks the keeper of rollouts for turns, and returns them, for one life of a worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        turns: RestartsInTurn,
        me: Port[RolloutGranted],
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._turns = turns
        self._me = me
        self._asked_at: Seconds | None = None
        """When it was last said in this life whose turn is wanted."""

    @property
    def are_needed(self) -> bool:
        """Whether the containers of the pod are restarted one at a time."""
        ports, group = self._ports, rollout_group(self._memory.wish.pod)
        return group is not None and ports.rollouts is not None and ports.restarts_containers

    def wait(self, instances: Mapping[str, str], objects: Mapping[ObjectId, str]) -> None:
        """Have these instances wait for their turn, by name of the container."""
        self._turns.group = rollout_group(self._memory.wish.pod)
        self._turns.waiting |= instances
        self._turns.objects = {**objects}
        self._asked_at = None

    def want(self, now: Seconds) -> Seconds | None:
        """Say now and then whose turn is wanted. Return when to say it again, if ever."""
        turns = self._turns
        if not turns.waiting:
            return None
        if self._asked_at is None or now >= self._asked_at + ASK_AGAIN:
            self._asked_at = now
            for name in turns.waiting:
                self._ask(name)
        return Seconds(self._asked_at + ASK_AGAIN)

    def take(self, granted: RolloutGranted, running: Mapping[str, str]) -> tuple[bool, bool]:
        """Take a turn. Return whether somebody waited for it, and whether the one that did still runs.

        Otherwise it is returned, since nobody needs it any more. One that was granted before counts once.
        """
        turns, name = self._turns, granted.container
        turns.group = turns.group or granted.group
        if name in turns.granted:
            return False, False
        instance = turns.waiting.pop(name, None)
        is_needed = instance is not None and running.get(name) == instance
        if instance is not None and is_needed:
            turns.granted[name] = instance
        else:
            self._return(name)
        return instance is not None, is_needed

    def note_observed(self, observed: PodObserved) -> None:
        """Return the turns of containers that are back."""
        status = self._memory.status
        verdicts = status.verdicts if status is not None else None
        for name, old in tuple(self._turns.granted.items()):
            if is_back(observed, name, old, verdict_on(name, verdicts)):
                del self._turns.granted[name]
                self._return(name)

    def return_all(self) -> None:
        """Want and need no turn any more. May repeat."""
        for name in (*self._turns.waiting, *self._turns.granted):
            self._return(name)
        self._turns.waiting.clear()
        self._turns.granted.clear()

    def _ask(self, name: str) -> None:
        pod, group = self._memory.wish.pod, self._turns.group
        if group is not None:
            wanted = WantRollout(
                group=group, pod=pod.uid, pod_name=pod.name, container=name, reply_to=self._me
            )
            self._tell(wanted)

    def _return(self, name: str) -> None:
        uid, group = self._memory.wish.pod.uid, self._turns.group
        if group is not None:
            self._tell(ReturnRollout(group=group, pod=uid, container=name))

    def _tell(self, message: RolloutMessage) -> None:
        if self._ports.rollouts is not None:
            self._ports.rollouts.tell(message)
