"""Telling others of a pod: who commanded it, people through events, and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from kernel import Port
from messages.container_runtime import StopSandbox
from messages.events import ObjectReference, PostEvent
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodObserved,
    PodTrouble,
)
from messages.units import Seconds
from runtimes.containers.contents import Contents, instances_in, with_starting
from runtimes.containers.event_texts import WARNING, EventText, never_ran, when_waiting
from runtimes.containers.hook_calls import ids_starting
from runtimes.containers.observing import is_beginning, observed, with_back_offs, with_changes
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.shape import ContainerPart

_FIELDS: Final = {
    ContainerPart.INIT: "initContainers",
    ContainerPart.SIDECAR: "initContainers",
    ContainerPart.REGULAR: "containers",
    ContainerPart.EPHEMERAL: "ephemeralContainers",
}

SOON: Final = Seconds(0.5)
"""How long it may take until it is told that nothing runs of a pod yet, while it is being started; or that
all its containers have ended, while its sandbox is being stopped. Mostly nobody ever sees that."""


NETWORK_NOT_READY: Final = "NetworkNotReady"


class PodReporter:
    """Tells what has changed of a pod, once for each change.

    ``level`` gives that of the lines of the log for each step. Failures are warnings in any case.
    """

    __slots__ = ("_events", "_level", "_log")

    def __init__(self, events: Port[PostEvent] | None, level: Callable[[], int]) -> None:
        self._events = events
        self._level = level
        # Bound once: what is below the level of the log then costs next to nothing.
        self._log = structlog.get_logger("runtime").bind()

    def tell(
        self,
        record: RuntimeRecord,
        waits: Mapping[str, ContainerWait],
        troubles: tuple[PodTrouble, ...],
        now: Seconds,
    ) -> None:
        """Tell who commanded the pod what is known of it, unless that was told."""
        starting, contents = _shown(record)
        is_first = is_beginning(contents, waits, troubles)
        if is_first and (record.calls or starting) and self._may_wait(record, now):
            return
        if _is_about_to_end(record) and self._waits(record, now):
            return
        before = record.told
        news = observed(record.uid, record.obeyed, contents, waits, troubles, record.shape)
        if record.outdated:
            news = with_changes(news, record.outdated)
        if record.pulling:
            news = replace(news, pulling=record.pulling)
        if before is not None and record.notes and not record.is_stopping:
            under_way = {call.step.target for call in record.calls}
            under_way |= {one.name for one in instances_in(contents) if one.id in starting}
            news = with_back_offs(news, before, under_way) if under_way else news
        self._say_waits(record, news)
        if troubles:
            self._say_network(record, troubles)
        record.told_beginning = is_first
        if news == before and not record.tell_again:
            record.tell_by = None
        else:
            self._send(record, news)

    def tell_trouble(self, record: RuntimeRecord, trouble: PodTrouble) -> None:
        """Tell the trouble beside what was told last, or what is known of a pod that nobody was told of."""
        if record.reply_to is None:
            return
        _, contents = _shown(record)
        before = record.told or observed(
            record.uid, record.obeyed, contents, {}, shape=record.shape
        )
        news = replace(before, troubles=(trouble,))
        if news != before or record.tell_again:
            self._send(record, news)

    @property
    def is_heard(self) -> bool:
        """Whether anybody is told of steps that succeed."""
        return self._events is not None or self._log.is_enabled_for(self._level())

    def say(self, record: RuntimeRecord, texts: Iterable[EventText], container: str = "") -> None:
        """Tell people."""
        for text in texts:
            self._log_text(record, text, container)
            if self._events is not None and record.pod is not None:
                self._events.tell(
                    PostEvent(
                        regarding=ObjectReference.of_pod(
                            record.pod, _field_path(record, container)
                        ),
                        type=text.type,
                        reason=text.reason,
                        message=text.message,
                    )
                )

    def say_hook(self, record: RuntimeRecord, container: str, hook: str, event: str) -> None:
        """Log what becomes of a hook."""
        self._log.log(self._level(), event, pod=record.display_name, container=container, hook=hook)

    def say_exits(self, record: RuntimeRecord, before: Contents) -> None:
        """Log the containers of which it is known since ``before`` that and why they have exited."""
        if not before or record.contents is before:
            return
        exited = [one for one in instances_in(record.contents) if _has_exited(one)]
        if not exited:
            return
        known = {one.id for one in instances_in(before) if _has_exited(one)}
        for one in exited:
            if one.id not in known and not never_ran(one):
                self._log.log(
                    self._level(),
                    "container exited",
                    pod=record.display_name,
                    container=one.name,
                    reason=one.reason,
                    exit_code=one.exit_code,
                )

    # --- inside ----------------------------------------------------------------------------------------

    def _send(self, record: RuntimeRecord, news: PodObserved) -> None:
        record.told, record.tell_by, record.tell_again = news, None, False
        if record.reply_to is not None:
            record.reply_to.tell(news)

    @staticmethod
    def _may_wait(record: RuntimeRecord, now: Seconds) -> bool:
        if record.told is not None and not record.told_beginning:
            return False
        return PodReporter._waits(record, now)

    @staticmethod
    def _waits(record: RuntimeRecord, now: Seconds) -> bool:
        if record.tell_by is None:
            record.tell_by = Seconds(now + SOON)
        return record.tell_by > now

    def _say_waits(self, record: RuntimeRecord, news: PodObserved) -> None:
        told = record.told.containers if record.told is not None else {}
        for name, history in news.containers.items():
            wait, earlier = history.wait, told.get(name)
            if wait is None or not wait.message or record.pod is None:
                continue
            if earlier is None or earlier.wait is None or earlier.wait.reason != wait.reason:
                self.say(record, when_waiting(wait, name, record.pod), name)

    def _say_network(self, record: RuntimeRecord, troubles: tuple[PodTrouble, ...]) -> None:
        told = record.told.troubles if record.told is not None else ()
        said = {each.reason for each in told}
        for each in troubles:
            if each.reason == NETWORK_NOT_READY and each.reason not in said:
                self.say(record, (EventText(WARNING, each.reason, each.message),))

    def _log_text(self, record: RuntimeRecord, text: EventText, container: str) -> None:
        level = logging.WARNING if text.type is WARNING else self._level()
        self._log.log(
            level,
            text.message,
            pod=record.display_name,
            reason=text.reason,
            **({"container": container} if container else {}),
        )


def _shown(record: RuntimeRecord) -> tuple[Collection[str], Contents]:
    """Return the instances that have not started yet, because of their hooks, and all as they are told."""
    starting = ids_starting(record.hooks) if record.hooks else frozenset()
    return starting, with_starting(record.contents, starting) if starting else record.contents


def _field_path(record: RuntimeRecord, container: str) -> str:
    """Return where a container stands in the specification; empty for what is about the pod as a whole."""
    shape = record.shape.get(container) if container and record.shape is not None else None
    return "" if shape is None else f"spec.{_FIELDS[shape.part]}{{{container}}}"


def _has_exited(one: ContainerObserved) -> bool:
    return one.state is ContainerState.EXITED and not one.is_reason_open


def _is_about_to_end(record: RuntimeRecord) -> bool:
    """Return whether only its sandbox is left to be stopped, and that is under way."""
    return (
        record.is_stopping
        and bool(record.calls)
        and all(isinstance(call.step.request, StopSandbox) for call in record.calls)
    )
