"""A virtual node whose pods run at once, at an address of this machine: only their probes are real."""

from __future__ import annotations

from actorlet import PodReport
from messages.pods import Pod


class ProbedNode:
    """Remembers pods, and says that they run."""

    def __init__(self) -> None:
        self._pods: set[str] = set()

    def run(self, pod: Pod) -> None:
        """Run a pod."""
        self._pods.add(pod.uid)

    def stop(self, pod: Pod, grace: float) -> None:  # noqa: ARG002  # there is nothing to wait for
        """Stop a pod."""
        self._pods.discard(pod.uid)

    def observe(self) -> dict[str, PodReport]:
        """Return how all pods are."""
        return {uid: PodReport("Running", ip="127.0.0.1") for uid in self._pods}
