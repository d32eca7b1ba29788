"""What is known of the probes of one pod, and what follows from it: orders for probers, and verdicts. Pure.

A startup probe holds up the other two until it has passed. What counts is about one instance of a container:
with another one everything begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from actors.probes.specs import ProbeSpec, initial_result, probe_of
from actors.probes.watching import ProbeOrder, ProbeTarget
from messages.pod_runtime import ProbeVerdict
from messages.pods import Pod
from messages.probing import (
    ProbedPod,
    ProbeKey,
    ProbeKind,
    ProbeResult,
    ProbeStage,
    RunningInstance,
    WantProbes,
)

_NOT_RUNNING: Final = "the container does not run"
_ENDING: Final = "the pod is being stopped"
_NOT_STARTED: Final = "the startup probe has not passed yet"
_HELD: Final = "it is decided for this instance"


class Counting(NamedTuple):
    """What counts for one instance of a container, by one of its probes."""

    container_id: str
    result: ProbeResult


@dataclass(slots=True)
class PodProbes:
    """The probes of one pod: what its worker wants, and what its probers say."""

    want: WantProbes
    specs: Mapping[tuple[str, ProbeKind], ProbeSpec]
    counting: dict[tuple[str, ProbeKind], Counting] = field(default_factory=dict)
    told: Mapping[str, ProbeVerdict] | None = None
    """The verdicts that its worker was told last."""
    orders: dict[tuple[str, ProbeKind], ProbeOrder | None] = field(default_factory=dict)
    """What each prober that exists was told last."""
    is_confirmed: bool = True
    """Its worker has said that it wants probes since the keeper began its life."""

    @classmethod
    def of(cls, want: WantProbes) -> PodProbes:
        """Return what is known of a pod that is new."""
        return cls(want, specs_of(want.pod))

    def take(self, want: WantProbes) -> None:
        """Note what the worker wants now."""
        if want.pod is not self.want.pod:
            self.specs = specs_of(want.pod)
        self.want, self.is_confirmed = want, True
        for which, known in tuple(self.counting.items()):
            instance = want.running.get(which[0])
            if instance is None or instance.id != known.container_id or which not in self.specs:
                del self.counting[which]

    def note(self, key: ProbeKey, container_id: str, result: ProbeResult) -> bool:
        """Note what a prober says, unless that is about an instance that does not run any more.

        Return whether it is news.
        """
        instance, which = self.want.running.get(key.container), (key.container, key.kind)
        if instance is None or instance.id != container_id:
            return False
        before, now = self.counting.get(which), Counting(container_id, result)
        self.counting[which] = now
        return now != before

    def wanted(self) -> dict[tuple[str, ProbeKind], ProbeOrder | None]:
        """Return what each prober is to do. None is for one that has nothing to do at present."""
        return {which: self._order(which, spec) for which, spec in self.specs.items()}

    def verdicts(self) -> dict[str, ProbeVerdict]:
        """Return what the probes say of each container that runs and has any (rules B3, B8 and B9)."""
        return {
            name: self._verdict(name, instance)
            for name, instance in self.want.running.items()
            if any((name, kind) in self.specs for kind in ProbeKind)
        }

    def described(self) -> ProbedPod:
        """Return it for people."""
        return ProbedPod(self.want.pod, self.verdicts(), tuple(self._stages()))

    def _order(self, which: tuple[str, ProbeKind], spec: ProbeSpec) -> ProbeOrder | None:
        name, kind = which
        instance = self.want.running.get(name)
        if instance is None or (self.want.is_ending and kind is not ProbeKind.READINESS):
            return None
        if kind is not ProbeKind.STARTUP and not self._has_started(name, instance):
            return None
        ip = self.want.ips[0] if self.want.ips else ""
        before = self.orders.get(which)
        if before is not None and before.target.container_id == instance.id:
            # The prober knows better what counts by now.
            is_same = before.spec is spec and before.target.ip == ip
            return (
                before
                if is_same
                else before._replace(spec=spec, target=before.target._replace(ip=ip))
            )
        target = ProbeTarget(instance.id, ip, instance.started_at)
        known = self.counting.get(which)
        if known is not None:
            return ProbeOrder(spec, target, known.result)
        inherited = self._inherited(which, instance)
        expires = (
            inherited is not None and kind is ProbeKind.READINESS
        )  # a startup is not asked again
        return ProbeOrder(spec, target, inherited, is_inherited=expires)

    def _inherited(
        self, which: tuple[str, ProbeKind], instance: RunningInstance
    ) -> ProbeResult | None:
        name, kind = which
        known = self.want.known.get(name)
        if known is None or known.container_id != instance.id:
            return None
        passed = {ProbeKind.STARTUP: known.is_started, ProbeKind.READINESS: known.is_ready}
        return ProbeResult.SUCCESS if passed.get(kind, False) else None

    def _counts(self, name: str, kind: ProbeKind, instance: RunningInstance) -> ProbeResult:
        known = self.counting.get((name, kind))
        if known is not None:
            return known.result
        return self._inherited((name, kind), instance) or initial_result(kind)

    def _has_started(self, name: str, instance: RunningInstance) -> bool:
        kind = ProbeKind.STARTUP
        if (name, kind) not in self.specs:
            return True
        return self._counts(name, kind, instance) is ProbeResult.SUCCESS

    def _verdict(self, name: str, instance: RunningInstance) -> ProbeVerdict:
        failed = [
            kind
            for kind in (ProbeKind.LIVENESS, ProbeKind.STARTUP)
            if (name, kind) in self.specs
            and self._counts(name, kind, instance) is ProbeResult.FAILURE
        ]
        is_started, readiness = self._has_started(name, instance), ProbeKind.READINESS
        is_ready = (name, readiness) not in self.specs or (
            self._counts(name, readiness, instance) is ProbeResult.SUCCESS
        )
        return ProbeVerdict(
            is_alive=not failed,
            is_started=is_started,
            is_ready=is_started and is_ready,
            container_id=instance.id,
        )

    def _stages(self) -> Iterator[ProbeStage]:
        for (name, kind), order in self.wanted().items():
            instance = self.want.running.get(name)
            key = ProbeKey(self.want.pod.uid, name, kind)
            if instance is None:
                yield ProbeStage(key, "", None, _NOT_RUNNING)
            else:
                counts = self._counts(name, kind, instance)
                waits_for = self._waits_for(kind, counts) if order is None else _rest(kind, counts)
                yield ProbeStage(key, instance.id, counts, waits_for)

    def _waits_for(self, kind: ProbeKind, counts: ProbeResult) -> str:
        if self.want.is_ending and kind is not ProbeKind.READINESS:
            return _ENDING
        return _rest(kind, counts) or _NOT_STARTED


def _rest(kind: ProbeKind, counts: ProbeResult) -> str:
    is_held = {
        ProbeKind.LIVENESS: counts is ProbeResult.FAILURE,
        ProbeKind.STARTUP: counts is not ProbeResult.UNKNOWN,
    }
    return _HELD if is_held.get(kind, False) else ""


@lru_cache(maxsize=1024)
def _one_of(spec: ProbeSpec) -> ProbeSpec:
    """Return one object for equal probes: thousands of pods are made from one template."""
    return spec


def specs_of(pod: Pod) -> dict[tuple[str, ProbeKind], ProbeSpec]:
    """Return all probes of ``pod``, those of sidecars too, by container and kind (rule B1)."""
    spec = pod.document.get("spec") or {}
    found = {}
    for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for kind in ProbeKind:
            probe = probe_of(each, kind)
            if probe is not None:
                found[each["name"], kind] = _one_of(probe)
    return found
