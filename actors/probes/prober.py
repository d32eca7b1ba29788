"""Prober: one probe of one container of a pod."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, assert_never

import structlog
from typing_extensions import override

from actors.probes.specs import initial_result
from actors.probes.watching import (
    ProbeIs,
    ProbeRemark,
    ProberIsUp,
    ProberMessage,
    ProberSays,
    ProbesToRun,
    ProbeWanted,
    RestProbe,
    RunProbe,
)
from kernel import PooledActor, Port
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import JsonObject, Pod
from messages.probing import ProbeKey, ProbeKind, ProbeOutcome, ProbeResult
from messages.units import Seconds

UNHEALTHY: Final = "Unhealthy"
WARNING: Final = "ProbeWarning"
TEXT_LEN: Final = 10 * 1024
"""Characters of an answer that anybody is shown."""

_WORDS: Final = {
    ProbeResult.FAILURE: (UNHEALTHY, "failed"),
    ProbeResult.UNKNOWN: (UNHEALTHY, "errored"),
    ProbeResult.WARNING: (WARNING, "warning"),
}

_log = structlog.get_logger("probes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProberPorts:
    """Whom probers talk to. One value for all of them."""

    keeper: Port[ProberIsUp | ProberSays]
    runner: Port[ProbesToRun]
    """Who carries probes out."""
    events: Callable[[], Port[PostEvent] | None]
    """Returns who posts events; None if the agent belongs to no cluster."""
    logs_changes: bool = True
    """Whether changes are logged at level info, or as warnings. Otherwise at debug."""


@dataclass(slots=True)
class ProberMemory:
    """What outlives a life of a prober. One life at a time uses it."""

    container_id: str | None = None
    """The instance that ``result`` is about; None before the first one."""
    result: ProbeResult | None = None
    """What counts of it; None as long as that is what counts of any new instance."""
    is_unknown: bool = False
    """Whether the log said last that the probe counts neither way."""
    inherited_until: Seconds | None = None
    """Until when ``result`` holds without an answer, by the monotonic clock; None if it is this process's."""


class Prober(PooledActor[ProberMessage]):
    """Has one probe carried out, and says what counts of it.

    Owns: what counts for the instance of now, and whether an earlier process found that out.
    Hears: ``ProbeWanted`` of its keeper; ``ProbeIs``.
    Tells: its keeper ``ProberIsUp`` in each life, and ``ProberSays``; who carries probes out ``RunProbe``
    and ``RestProbe``; who posts events of answers that are not as they should be.
    Fails when: it has a bug. What counts outlives it. The next life hears from its keeper what is wanted,
    and from who carries probes out what counts.

    Order: what is said of another instance than the one of now is dropped. Repetition: every message may
    repeat, and an answer is said to people once. It is told of changes alone: a probe that goes on as it is
    costs it nothing.
    """

    def __init__(
        self, key: ProbeKey, ports: ProberPorts, memory: ProberMemory, me: Port[ProbeIs]
    ) -> None:
        self._key = key
        self._address = me
        self._ports = ports
        self._memory = memory
        self._wanted: ProbeWanted | None = None

    @override
    def started(self) -> None:
        self._ports.keeper.tell(ProberIsUp(key=self._key))

    @override
    def receive(self, message: ProberMessage, /) -> None:
        match message:
            case ProbeWanted():
                self._take(message)
            case ProbeIs():
                self._note(message)
            case _:
                assert_never(message)

    def _take(self, wanted: ProbeWanted) -> None:
        memory, order = self._memory, wanted.order
        self._wanted = wanted
        if order is None:
            self._ports.runner.tell(RestProbe(key=self._key))
            return
        if order.target.container_id != memory.container_id:
            memory.container_id, memory.result = order.target.container_id, order.initial
            memory.inherited_until, memory.is_unknown = None, False
            if order.is_inherited:
                now = self.clock.monotonic()
                memory.inherited_until = Seconds(now + 2 * order.spec.period)
        if memory.inherited_until is not None:
            left = max(0.0, memory.inherited_until - self.clock.monotonic())
            self.later(Seconds(left), self._end_inheritance, memory.container_id)
        self._watch()

    def _end_inheritance(self, container_id: str) -> None:
        """Ask whether the probe has answered: two periods have passed since a result was inherited."""
        if container_id == self._memory.container_id:
            self._watch()

    def _watch(self) -> None:
        wanted = self._wanted
        order = wanted.order if wanted is not None else None
        if wanted is not None and order is not None:
            self._ports.runner.tell(
                RunProbe(
                    key=self._key,
                    spec=order.spec,
                    target=order.target,
                    initial=self._memory.result,
                    hidden=wanted.hidden,
                    reply_to=self._address,
                )
            )

    def _note(self, told: ProbeIs) -> None:
        memory, wanted = self._memory, self._wanted
        if wanted is None or wanted.order is None or told.container_id != memory.container_id:
            return
        result = told.result
        if told.is_confirmed:
            memory.inherited_until = None
        elif self._is_over():
            result, memory.inherited_until = initial_result(self._key.kind), None
        before = memory.result or initial_result(self._key.kind)
        memory.result = result
        if told.remark is not None:
            self._post(wanted, told.remark)
            self._log_doubt(wanted, told.remark.outcome)
        if result is not before:
            self._log_change(wanted, result, told.remark)
        self._ports.keeper.tell(
            ProberSays(key=self._key, container_id=told.container_id, result=result)
        )
        if result is not told.result:
            self._watch()  # from there its answers count on

    def _is_over(self) -> bool:
        """Return whether what an earlier process found out has held for as long as it may (rule Y13)."""
        until = self._memory.inherited_until
        return until is not None and self.clock.monotonic() >= until

    def _post(self, wanted: ProbeWanted, remark: ProbeRemark) -> None:
        event, events = event_of(wanted.pod, self._key, remark.outcome), self._ports.events()
        if event is not None and events is not None:
            events.tell(event)

    def _log_change(
        self, wanted: ProbeWanted, result: ProbeResult, remark: ProbeRemark | None
    ) -> None:
        said = log_line(self._key.kind, result)
        self._log(wanted, said, remark.outcome.text if remark is not None else "")

    def _log_doubt(self, wanted: ProbeWanted, outcome: ProbeOutcome) -> None:
        """Log that the probe begins to count neither way, or that it counts again: each of them once."""
        is_unknown = outcome.result is ProbeResult.UNKNOWN
        if is_unknown is not self._memory.is_unknown and not outcome.is_outage:
            self._memory.is_unknown = is_unknown
            self._log(wanted, doubt(is_unknown=is_unknown), outcome.text)

    def _log(self, wanted: ProbeWanted, said: ProbeLogLine, reason: str) -> None:
        emit = _log.debug
        if self._ports.logs_changes:
            emit = _log.warning if said.is_bad else _log.info
        emit(
            said.line,
            pod=wanted.pod.display_name,
            container=self._key.container,
            probe=self._key.kind.value,
            **({"reason": reason[:200]} if reason and said.is_bad else {}),
        )


# --- what people are told, in a kubelet's words ----------------------------------------------------


class ProbeLogLine(NamedTuple):
    """What counts, for the log."""

    line: str
    is_bad: bool


def event_of(pod: Pod, key: ProbeKey, outcome: ProbeOutcome) -> PostEvent | None:
    """Return the event about an answer; None if it is as it should be."""
    words = _WORDS.get(outcome.result)
    if words is None:
        return None
    reason, happened = words
    return PostEvent(
        regarding=ObjectReference.of_pod(pod, _field_path(pod, key.container)),
        type=EventType.WARNING,
        reason=reason,
        message=f"{key.kind.value.capitalize()} probe {happened}: {outcome.text[:TEXT_LEN]}",
    )


def log_line(kind: ProbeKind, result: ProbeResult) -> ProbeLogLine:
    """Return what the log says when ``result`` counts of a probe from now on."""
    is_bad = result is ProbeResult.FAILURE
    match kind:
        case ProbeKind.LIVENESS:
            return ProbeLogLine(
                "a container is not alive" if is_bad else "a container is alive", is_bad
            )
        case ProbeKind.READINESS:
            return ProbeLogLine(
                "a container is not ready" if is_bad else "a container is ready", is_bad
            )
        case ProbeKind.STARTUP:
            return ProbeLogLine(
                "a container did not start" if is_bad else "a container started", is_bad
            )


def doubt(*, is_unknown: bool) -> ProbeLogLine:
    """Return what the log says when a probe begins to count neither way, or counts again."""
    if is_unknown:
        return ProbeLogLine("a probe cannot be carried out, and counts neither way", is_bad=True)
    return ProbeLogLine("a probe counts again", is_bad=False)


def _field_path(pod: Pod, container: str) -> str:
    spec: JsonObject = pod.document.get("spec") or {}
    inits = spec.get("initContainers") or ()
    is_init = any(each.get("name") == container for each in inits)
    return f"spec.{'initContainers' if is_init else 'containers'}{{{container}}}"
