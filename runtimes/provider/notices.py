"""What people are told of a provider and its pods: lines of the log, and events."""

from __future__ import annotations

from typing import Final

import structlog

from kernel import Port
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import PodUid
from runtimes.provider.calls import ProviderFailure
from runtimes.provider.observing import ReportNews
from runtimes.provider.pods import Method, ProviderPod
from runtimes.provider.reports import cut, without_values

TEXT_BYTES: Final = 700
"""Of an exception, in events and in the log."""
_REASONS: Final = {Method.STOP: "FailedKillPod"}
WRONG_STATUS: Final = "WrongStatus"

_log = structlog.get_logger("runtime")


class ProviderNotices:
    """Tells each thing once to the log, and about pods by an event too."""

    def __init__(self, events: Port[PostEvent] | None, name: str) -> None:
        self._events = events
        self._name = name
        self._runtime_trouble = ""

    def failed(self, it: ProviderPod, method: Method, sentence: str) -> None:
        """Tell that a call about a pod failed."""
        _log.warning("a call failed", pod=it.display_name, call=method.value, error=sentence)
        self._warn(it, reason_of(method), sentence)

    def returned_late(self, it: ProviderPod, method: Method) -> None:
        """Tell that a call that was given up has returned."""
        _log.info("a call returned after all", pod=it.display_name, call=method.value)

    def learned(self, it: ProviderPod, learned: ReportNews) -> None:
        """Tell what an observation brought."""
        for complaint in learned.complaints:
            _log.warning("a report is not followed", pod=it.display_name, reason=complaint)
            self._warn(it, WRONG_STATUS, f"{self._name}: {complaint}")
        for name in learned.started:
            _log.info("started container", pod=it.display_name, container=name)
            self._tell(it, EventType.NORMAL, "Started", f"Started container {name}")
        for name in learned.ended:
            current = it.state.containers[name].current if it.state is not None else None
            code = current.exit_code if current is not None else None
            _log.info("container ended", pod=it.display_name, container=name, exit_code=code)

    def stopping(self, it: ProviderPod, grace: float) -> None:
        """Tell that a pod that lives is being stopped."""
        _log.info("stopping pod", pod=it.display_name, grace_seconds=round(grace, 3))
        for name, history in (it.state.containers if it.state is not None else {}).items():
            current = history.current
            if current is not None and current.exit_code is None:
                self._tell(it, EventType.NORMAL, "Killing", f"Stopping container {name}")

    def warning(self, it: ProviderPod, reason: str, sentence: str) -> None:
        """Tell what is wrong with a pod."""
        _log.warning("pod in trouble", pod=it.display_name, reason=reason, error=sentence)
        self._warn(it, reason, sentence)

    def unknown(self, uid: PodUid) -> None:
        """Tell that a pod is reported that nobody knows."""
        _log.warning("a report is not followed", uid=cut(uid, 128), reason="nobody knows this pod")

    def trouble(self, sentence: str) -> None:
        """Tell what is wrong with the provider as a whole, or, if it is empty, that this is over."""
        before, self._runtime_trouble = self._runtime_trouble, sentence
        if sentence and sentence != before:
            _log.warning("the runtime cannot be used", runtime=self._name, reason=sentence)
        elif before and not sentence:
            _log.info("the runtime can be used again", runtime=self._name, reason_was=before)

    def _warn(self, it: ProviderPod, reason: str, message: str) -> None:
        self._tell(it, EventType.WARNING, reason, message)

    def _tell(self, it: ProviderPod, kind: EventType, reason: str, message: str) -> None:
        pod = it.pod
        if self._events is None or pod is None or not pod.name:
            return
        of = ObjectReference.of_pod(pod)
        self._events.tell(PostEvent(regarding=of, type=kind, reason=reason, message=message))


def reason_of(method: Method) -> str:
    """Return the reason of the event about a failed call, in a kubelet's words."""
    return _REASONS.get(method, "FailedSync")


def sentence_of(it: ProviderPod | None, method: Method, failure: ProviderFailure) -> str:
    """Return what a failed call says, without values of the Secrets of its pod."""
    text = without_values(failure.text, it.objects) if it is not None else failure.text
    said = f"{failure.kind}: {' '.join(text.split())}" if text else failure.kind
    place = f" ({failure.where})" if failure.where else ""
    return f"{method.value} raised {cut(said, TEXT_BYTES)}{place}"
