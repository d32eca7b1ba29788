"""What a worker does about the probes of its pod, and what follows for the pod. A part of the worker.

A pod without probes has none of this: no message, no timer, no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from actors.pods.orders import ProbesDue
from actors.pods.worker.needed_objects import needed_objects
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.probe_reading import (
    ProbesMemory,
    initial_verdict,
    probed_containers,
    probes_memory,
    running_instances,
)
from kernel import Port, Timer
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_lives import PodLife
from messages.pod_runtime import PodObserved, ProbeVerdict
from messages.pods import Pod
from messages.probing import ProbesFact, ProbesMessage, ProbesSay, ReleaseProbes, WantProbes
from messages.units import Seconds
from stores.statuses.shown import is_on_host_network

ASKED_AGAIN_AFTER: Final = Seconds(10.0)
"""How long after a question that nobody answered it is repeated: it may have been lost in a crash."""
LEAST_HIDDEN: Final = 4
"""Characters of a value of a Secret that is kept from people. A shorter one would be in every text."""


class WorkerProbes:
    """The probes of one pod, for one life of its worker."""

    __slots__ = (
        "_after",
        "_commanded",
        "_host_ips",
        "_is_released",
        "_keeper",
        "_me",
        "_memory",
        "_probed",
        "_timer",
        "_wanted",
    )

    def __init__(
        self,
        keeper: Port[ProbesMessage],
        memory: WorkerMemory,
        probed: ProbesMemory,
        me: Port[ProbesFact],
        after: Callable[[Seconds, ProbesDue], Timer],
        host_ips: Callable[[], tuple[str, ...]],
    ) -> None:
        self._keeper = keeper
        self._memory = memory
        self._probed = probed
        self._me = me
        self._after = after
        self._host_ips = host_ips
        self._wanted: WantProbes | None = None
        self._timer: Timer | None = None
        self._is_released = False
        self._commanded: frozenset[tuple[str, ProbeVerdict]] = frozenset()
        """What the runtime was told that changes what it does."""

    @property
    def has_commands(self) -> bool:
        """Whether the probes say anything that the runtime has to do something about, and does not know."""
        return self._commands() != self._commanded

    def verdicts(self) -> Mapping[str, ProbeVerdict]:
        """Return what the runtime is told. It knows that from now on."""
        self._commanded = self._commands()
        return self._now()

    def note_observed(self) -> None:
        """Note that the runtime has told what runs: what an earlier process showed is no guess any more."""
        self._probed.is_observed = True

    def want(self, objects: Mapping[ObjectId, ObjectValue] | None) -> None:
        """Have probed what runs; nothing once the pod has ended. ``objects`` is None if nobody knows them."""
        memory = self._memory
        if memory.life.is_stopped:
            self._release()
        elif self._probed.is_observed and memory.status is not None:
            known = objects if needed_objects(memory.wish.pod) else {}
            self._want(memory.wish.pod, memory.status.observed, _hidden(known))

    def _want(self, pod: Pod, observed: PodObserved | None, hidden: tuple[str, ...] | None) -> None:
        """Have the containers probed that run, unless that was said already."""
        running = running_instances(pod, observed)
        if self._wanted is None and not running:
            return
        wanted = WantProbes(
            pod=pod,
            running=running,
            ips=_ips(pod, observed, self._host_ips()),
            is_ending=self._memory.life.stage is not PodLife.SYNC,
            known=self._probed.known,
            hidden=hidden,
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
        self._cancel()
        before, self._probed.said = self._probed.said, said.verdicts
        return before != said.verdicts

    def _release(self) -> None:
        """Need no probes any more. May repeat, also in a life that never began to."""
        self._cancel()
        if not self._is_released:
            self._is_released, self._wanted = True, None
            self._keeper.tell(ReleaseProbes(uid=self._memory.wish.pod.uid))

    def _tell(self, wanted: WantProbes) -> None:
        self._keeper.tell(wanted)
        if self._timer is None:
            self._timer = self._after(ASKED_AGAIN_AFTER, ProbesDue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> Mapping[str, ProbeVerdict]:
        observed = self._memory.observed if self._probed.is_observed else None
        return self._probed.verdicts(self._memory.wish.pod, observed)

    def _commands(self) -> frozenset[tuple[str, ProbeVerdict]]:
        """Return the verdicts by which the runtime does something else than for a new instance."""
        now, found = self._now(), set()
        for each in probed_containers(self._memory.wish.pod):
            said, initial = now[each["name"]], initial_verdict(each)
            if (said.is_alive, said.is_started) != (initial.is_alive, initial.is_started):
                found.add((each["name"], said._replace(is_ready=True)))
        return frozenset(found)


def worker_probes(
    ports: WorkerPorts,
    memory: WorkerMemory,
    me: Port[ProbesFact],
    after: Callable[[Seconds, ProbesDue], Timer],
) -> WorkerProbes | None:
    """Return what a new life of a worker does about probes; None for a pod that has none."""
    if ports.probes is None:
        return None
    if memory.probes is None:
        kept = memory.kept.probed if memory.kept is not None else {}
        memory.probes = probes_memory(memory.wish.pod, memory.wish.mirror, kept)
    if memory.probes is None:
        return None
    return WorkerProbes(ports.probes, memory, memory.probes, me, after, ports.host_ips)


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
