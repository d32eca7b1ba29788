"""Providers for tests: they do as the test says, and keep what they were asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from actorlet import NodeReport, PodProvider, PodReport
from messages.pods import Pod


class ObedientProvider(PodProvider):
    """Runs pods at once, in memory. What it is to raise, or to tell, the test says."""

    def __init__(self) -> None:
        self.reports: dict[str, Any] = {}
        """What ``observe`` returns: anything, since some providers return nonsense."""
        self.asked: list[str] = []
        """Each call but that of ``observe``: ``run web``, ``stop web 30``."""
        self.raises: dict[str, deque[BaseException]] = {}
        """By method: what the next calls raise."""
        self.on_run: Callable[[Pod], object] = lambda _pod: PodReport("Running")
        self.on_stop: Callable[[Pod], object] = lambda _pod: None
        """What is reported after it; None for nothing."""
        self.answer: Callable[[], Any] = lambda: self.reports
        self.looks = 0

    def fail(self, method: str, *errors: BaseException) -> None:
        """Have the next calls of ``method`` raise these."""
        self.raises.setdefault(method, deque()).extend(errors)

    def drain(self) -> list[str]:
        """Return what it was asked for since the last call."""
        asked, self.asked = self.asked, []
        return asked

    @override
    def run(self, pod: Pod) -> None:
        self._ask("run", f"run {pod.name}")
        self._set(pod, self.on_run(pod))

    @override
    def stop(self, pod: Pod, grace: float) -> None:
        self._ask("stop", f"stop {pod.name or pod.uid} {grace:g}")
        self._set(pod, self.on_stop(pod))

    @override
    def observe(self) -> Mapping[str, PodReport | str]:
        self.looks += 1
        if self.raises.get("observe"):
            raise self.raises["observe"].popleft()
        reports: Mapping[str, PodReport | str] = self.answer()
        return reports

    def _ask(self, method: str, words: str) -> None:
        self.asked.append(words)
        if self.raises.get(method):
            raise self.raises[method].popleft()

    def _set(self, pod: Pod, report: object) -> None:
        if report is None:
            self.reports.pop(pod.uid, None)
        else:
            self.reports[pod.uid] = report


class AbleProvider(ObedientProvider):
    """Has the optional methods too."""

    def __init__(self) -> None:
        super().__init__()
        self.said_of_node: Any = NodeReport(capacity={"cpu": "64"})

    @override
    def node(self) -> NodeReport:
        if self.raises.get("node"):
            raise self.raises["node"].popleft()
        said: NodeReport = self.said_of_node
        return said

    @override
    def update(self, pod: Pod) -> None:
        self._ask("update", f"update {pod.name}")

    @override
    def forget(self, pod: Pod) -> None:
        self._ask("forget", f"forget {pod.name}")
        self.reports.pop(pod.uid, None)
