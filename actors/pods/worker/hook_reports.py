"""What people are told of change hooks, and what is counted of them. A part of the worker."""

from __future__ import annotations

from actors.pods.worker.news import WorkerNews
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from messages.change_hooks import ChangeHookEnded, HookResult
from messages.events import EventType
from messages.objects import ChangeAction
from messages.pod_runtime import OBJECT_CHANGED
from messages.statuses import PodFailure


class HookReports:
    """Reports for one life of a worker: a line of the log and an event for each thing that is said."""

    def __init__(self, ports: WorkerPorts, memory: WorkerMemory) -> None:
        self._rollouts = ports.rollouts
        self._news = WorkerNews(ports, memory)

    def say(self, message: str) -> None:
        """Say what is done about a change."""
        self._news.say(message, reason=OBJECT_CHANGED)
        self._news.post(PodFailure(reason=OBJECT_CHANGED, message=message))

    def warn(self, reason: str, message: str) -> None:
        """Say what cannot be done."""
        self._news.say(message, reason=reason)
        self._news.post(PodFailure(reason=reason, message=message), EventType.WARNING)

    def count(self, action: ChangeAction, result: HookResult) -> None:
        """Count what came of a hook."""
        if self._rollouts is not None:
            self._rollouts.tell(ChangeHookEnded(action=action, result=result))
