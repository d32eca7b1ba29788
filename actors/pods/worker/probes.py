"""What a worker does about the probes of its pod, and what follows for the pod. A part of the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from actors.pods.orders import ProbesDue
from actors.pods.worker.needed_objects import needed_objects
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.probe_reading import initial_verdict, probed_containers
from actors.pods.worker.wanted_probes import ProbesMemory, WantedProbes, probes_memory
from kernel import Port, Timer
from messages.objects import ObjectId, ObjectValue
from messages.pod_lives import PodLife
from messages.pod_runtime import ProbeVerdict
from messages.probing import ProbesFact, ProbesSay
from messages.units import Seconds


class WorkerProbes:
    """The probes of one pod and its life, for one life of its worker."""

    __slots__ = ("_commanded", "_memory", "_ports", "_probed", "_wanted")

    def __init__(
        self, ports: WorkerPorts, memory: WorkerMemory, probed: ProbesMemory, wanted: WantedProbes
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._probed = probed
        self._wanted = wanted
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
        memory, pod = self._memory, self._memory.wish.pod
        stage = memory.life.stage
        if stage in {PodLife.TERMINATED, PodLife.FINISHED}:
            self._wanted.release(pod)
        elif self._probed.is_observed and memory.status is not None:
            self._wanted.want(
                pod,
                memory.status.observed,
                objects if needed_objects(pod) is not None else {},
                self._ports.host_ips(),
                is_ending=stage is not PodLife.SYNC,
            )

    def again(self) -> None:
        """Say once more what is wanted."""
        self._wanted.again()

    def take(self, said: ProbesSay) -> bool:
        """Take in what the probes say. Return whether anything is different from before."""
        return self._wanted.take(said)

    def _now(self) -> Mapping[str, ProbeVerdict]:
        status = self._memory.status
        observed = status.observed if status is not None and self._probed.is_observed else None
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
        memory.probes = probes_memory(memory.wish.pod, memory.wish.mirror, _kept(memory))
    if memory.probes is None:
        return None
    wanted = WantedProbes(ports.probes, memory.probes, me, after)
    return WorkerProbes(ports, memory, memory.probes, wanted)


def _kept(memory: WorkerMemory) -> Mapping[str, ProbeVerdict]:
    return memory.kept.probed if memory.kept is not None else {}
