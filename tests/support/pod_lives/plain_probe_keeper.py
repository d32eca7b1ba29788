"""Stands in for the keeper of probes: the test says what probes say."""

from __future__ import annotations

from typing_extensions import override

from kernel import Port
from messages.pod_runtime import ProbeVerdict
from messages.pods import Pod, PodUid
from messages.probing import ProbesMessage, ProbesSay, ReleaseProbes, WantProbes


class PlainProbeKeeper(Port[ProbesMessage]):
    """Keeps what workers want, and tells them what the test says."""

    def __init__(self) -> None:
        self.wants: list[WantProbes] = []
        self.released: list[PodUid] = []

    @override
    def tell(self, message: ProbesMessage, /) -> None:
        if isinstance(message, WantProbes):
            self.wants.append(message)
        else:
            assert isinstance(message, ReleaseProbes)
            self.released.append(message.uid)

    def says(self, pod: Pod, verdict: ProbeVerdict) -> None:
        """Tell the worker of ``pod`` what the probes of its container ``main`` say. Waits for nothing."""
        newest = next(want for want in reversed(self.wants) if want.pod.uid == pod.uid)
        newest.reply_to.tell(ProbesSay(uid=pod.uid, verdicts={"main": verdict}))
