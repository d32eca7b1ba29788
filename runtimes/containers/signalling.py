"""Signals to containers: sending them on, and collecting how that went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kernel import Port
from messages.container_runtime import (
    CallRuntime,
    ContainerRuntimeMessage,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeFailureKind,
    SignalContainer,
)
from messages.pod_runtime import ContainersSignalled, ContainerState, SignalContainers
from messages.units import Seconds
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.situation import newest_instances

SENT_WITHIN: Final = Seconds(30.0)
ENDED: Final = "it does not run any more"


class SignalRef(NamedTuple):
    """Names one signal to one container. No other life of the actor has the same."""

    life: int
    number: int
    container: str


@dataclass(slots=True)
class _Asked:
    command: SignalContainers
    waiting: set[str]
    failures: dict[str, str] = field(default_factory=dict)


class ContainerSignals:
    """The signals that are under way. A crash drops them: who asked asks again."""

    def __init__(
        self, port: Port[ContainerRuntimeMessage], me: Port[RuntimeAnswered], life: int
    ) -> None:
        self._port = port
        self._me = me
        self._life = life
        self._asked: dict[int, _Asked] = {}
        self._last = 0

    def send(self, command: SignalContainers, record: RuntimeRecord | None) -> None:
        """Send the signal to those instances that run. Answers at once if there are none."""
        self._last += 1
        newest = newest_instances(record.contents) if record is not None else {}
        asked = _Asked(command, set())
        for name, instance_id in command.instances.items():
            one = newest.get(name)
            if one is None or one.id != instance_id or one.state is not ContainerState.RUNNING:
                asked.failures[name] = ENDED
            else:
                asked.waiting.add(name)
        self._asked[self._last] = asked
        for name in sorted(asked.waiting):
            request = SignalContainer(id=command.instances[name], signal=command.signal)
            ref = SignalRef(self._life, self._last, name)
            self._port.tell(
                CallRuntime(request=request, reply_to=self._me, ref=ref, deadline=SENT_WITHIN)
            )
        self._answer_if_done(self._last)

    def take(self, ref: SignalRef, answer: RuntimeAnswered) -> None:
        """Take what came of one signal."""
        asked = self._asked.get(ref.number) if ref.life == self._life else None
        if asked is None or ref.container not in asked.waiting:
            return
        asked.waiting.remove(ref.container)
        outcome = answer.outcome
        if isinstance(outcome, RuntimeFailure):
            has_ended = outcome.kind is RuntimeFailureKind.NOT_FOUND
            asked.failures[ref.container] = ENDED if has_ended else outcome.message
        self._answer_if_done(ref.number)

    def _answer_if_done(self, number: int) -> None:
        asked = self._asked[number]
        if asked.waiting:
            return
        del self._asked[number]
        command = asked.command
        command.reply_to.tell(
            ContainersSignalled(uid=command.uid, ref=command.ref, failures=asked.failures)
        )
