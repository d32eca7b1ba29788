"""Has the probes of one pod run, and remembers what they say of its containers. A part of its worker.

A pod without probes has none of this: no message, no timer, no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.pods.orders import ProbesDue
from actors.pods.worker.probe_reading import (
    probed_containers,
    running_instances,
    verdicts_about,
    verdicts_before,
)
from kernel import Port, Timer
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import PodObserved, ProbeVerdict
from messages.pods import Pod
from messages.probing import (
    ProbesFact,
    ProbesMessage,
    ProbesSay,
    ReleaseProbes,
    WantProbes,
)
from messages.units import Seconds
from stores.statuses.shown import is_on_host_network

ASKED_AGAIN_AFTER: Final = Seconds(10.0)
"""How long after a question that nobody answered it is repeated: it may have been lost in a crash."""
LEAST_HIDDEN: Final = 4
"""Characters of a value of a Secret that is kept from people. A shorter one would be in every text."""


@dataclass(slots=True)
class ProbesMemory:
    """What outlives a life of a worker of a pod with probes."""

    known: Mapping[str, ProbeVerdict]
    """What an earlier process knew, by name of the container."""
    said: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    """What was said last."""
    is_observed: bool = False
    """The runtime has told what runs, to any life of the worker."""

    def verdicts(self, pod: Pod, observed: PodObserved | None) -> dict[str, ProbeVerdict]:
        """Return what counts of each container that has probes."""
        return verdicts_about(pod, observed, {**self.known, **self.said})


def probes_memory(
    pod: Pod, mirror: Pod | None, kept: Mapping[str, ProbeVerdict]
) -> ProbesMemory | None:
    """Return what is known of the probes of ``pod`` at first; None if it has none."""
    if not probed_containers(pod):
        return None
    shown = pod if mirror is None else mirror
    return ProbesMemory(known=verdicts_before(pod, shown.document, kept))


class WantedProbes:
    """Has the probes of a pod run, for one life of its worker."""

    __slots__ = ("_after", "_is_released", "_keeper", "_me", "_memory", "_timer", "_wanted")

    def __init__(
        self,
        keeper: Port[ProbesMessage],
        memory: ProbesMemory,
        me: Port[ProbesFact],
        after: Callable[[Seconds, ProbesDue], Timer],
    ) -> None:
        self._keeper = keeper
        self._memory = memory
        self._me = me
        self._after = after
        self._wanted: WantProbes | None = None
        self._timer: Timer | None = None
        self._is_released = False

    def want(
        self,
        pod: Pod,
        observed: PodObserved | None,
        objects: Mapping[ObjectId, ObjectValue] | None,
        host_ips: tuple[str, ...],
        *,
        is_ending: bool,
    ) -> None:
        """Have the containers probed that run, unless that was said already."""
        running = running_instances(pod, observed)
        if self._wanted is None and not running:
            return
        wanted = WantProbes(
            pod=pod,
            running=running,
            ips=_ips(pod, observed, host_ips),
            is_ending=is_ending,
            known=self._memory.known,
            hidden=_hidden(objects),
            reply_to=self._me,
        )
        if self._wanted is None or not _is_same(wanted, self._wanted):
            self._wanted = wanted
            self._tell(wanted)

    def again(self) -> None:
        """Say once more what is wanted: it may have been lost."""
        self._timer = None
        if self._wanted is not None:
            self._tell(self._wanted)

    def take(self, said: ProbesSay) -> bool:
        """Take in what the probes say. Return whether anything is different from before."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        before, self._memory.said = self._memory.said, said.verdicts
        return before != said.verdicts

    def release(self, pod: Pod) -> None:
        """Need no probes any more. May repeat, also in a life that never began to."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_released:
            self._is_released, self._wanted = True, None
            self._keeper.tell(ReleaseProbes(uid=pod.uid))

    def _tell(self, wanted: WantProbes) -> None:
        self._keeper.tell(wanted)
        if self._timer is None:
            self._timer = self._after(ASKED_AGAIN_AFTER, ProbesDue())


def _ips(pod: Pod, observed: PodObserved | None, host_ips: tuple[str, ...]) -> tuple[str, ...]:
    if is_on_host_network(pod):
        return host_ips
    sandbox = None if observed is None else observed.sandbox
    return () if sandbox is None else sandbox.ips


def _hidden(objects: Mapping[ObjectId, ObjectValue] | None) -> tuple[str, ...] | None:
    """Return the values of Secrets in ``objects``, the longest first; None if they are not known."""
    if objects is None:
        return None
    values = {
        data.decode(errors="replace")
        for known, value in objects.items()
        if known.kind is ObjectKind.SECRET
        for data in value.data.values()
        if len(data) >= LEAST_HIDDEN
    }
    return tuple(sorted(values, key=lambda each: (-len(each), each)))


def _is_same(one: WantProbes, other: WantProbes) -> bool:
    """Return whether nothing else is wanted, whichever version of the pod says so."""
    is_same = one.pod is other.pod or one.pod.document["spec"] == other.pod.document["spec"]
    return is_same and (
        (one.running, one.ips, one.is_ending, one.hidden)
        == (other.running, other.ips, other.is_ending, other.hidden)
    )
