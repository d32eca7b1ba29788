"""What is known of a pod's probes, over crashes of its worker and before any of them has answered. Pure.

A container that is new is neither ready nor, with a startup probe, started. What the status of the API or the
record of an earlier process says of the instance that runs still counts (rule Y13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from messages.pod_runtime import ContainerObserved, ContainerState, PodObserved, ProbeVerdict
from messages.pods import JsonObject, Pod
from messages.probing import ProbeKind, RunningInstance
from messages.units import Timestamp
from stores.statuses.shown import Container, containers, init_containers

_FIELDS: Final = tuple(kind.field_name for kind in ProbeKind)
_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


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


def probed_containers(pod: Pod) -> tuple[Container, ...]:
    """Return the containers of ``pod`` that have any probe, sidecars first."""
    return tuple(
        each
        for each in (*init_containers(pod), *containers(pod))
        if any(each.get(name) for name in _FIELDS)
    )


def running_instances(pod: Pod, observed: PodObserved | None) -> dict[str, RunningInstance]:
    """Return which instances run of the containers that have probes."""
    found = {}
    for each in probed_containers(pod):
        history = None if observed is None else observed.containers.get(each["name"])
        current = None if history is None or history.wait is not None else history.current
        if current is not None and current.state is ContainerState.RUNNING:
            began = current.started_at or current.created_at or Timestamp(0.0)
            found[each["name"]] = RunningInstance(current.id, began)
    return found


def verdicts_about(
    pod: Pod, observed: PodObserved | None, said: Mapping[str, ProbeVerdict]
) -> dict[str, ProbeVerdict]:
    """Return what counts of each container that has probes.

    That is what was ``said``, if it is about the instance that runs, and otherwise what counts of any new
    one (rule B3).
    """
    found = {}
    for each in probed_containers(pod):
        name = each["name"]
        known, current = said.get(name), _current(observed, name)
        is_known = known is not None and (
            current is None or current.id == known.container_id or not known.container_id
        )
        if known is not None and is_known:
            found[name] = known
        else:
            instance = "" if current is None else current.id
            found[name] = initial_verdict(each, instance)
    return found


def initial_verdict(container: Container, container_id: str = "") -> ProbeVerdict:
    """Return what counts of an instance that no probe has answered for."""
    is_started = not container.get(ProbeKind.STARTUP.field_name)
    return ProbeVerdict(
        is_started=is_started,
        is_ready=is_started and not container.get(ProbeKind.READINESS.field_name),
        container_id=container_id,
    )


def verdicts_shown(pod: Pod, document: JsonObject | None) -> dict[str, ProbeVerdict]:
    """Return what the status in ``document`` says of instances of ``pod``'s containers that have probes."""
    status = (document or {}).get("status")
    if not isinstance(status, Mapping):
        return {}
    names = {each["name"] for each in probed_containers(pod)}
    return {
        each["name"]: ProbeVerdict(
            is_started=each.get("started") is True,
            is_ready=each.get("ready") is True,
            container_id=each["containerID"],
        )
        for each in _running(status)
        if each["name"] in names
    }


def verdicts_before(
    pod: Pod, document: JsonObject | None, kept: Mapping[str, ProbeVerdict]
) -> dict[str, ProbeVerdict]:
    """Return what counted of containers that have probes in an earlier process, which has ``kept`` it.

    A status may be at the API server before the record of it is on disk. So it counts what is shown there in
    ``document``, if both are about one instance; but what has started by either has started.
    """
    shown = verdicts_shown(pod, document)
    found = {**shown, **kept}
    for name, said in shown.items():
        record = found[name]
        if record.container_id == said.container_id:
            found[name] = said._replace(is_started=said.is_started or record.is_started)
    return found


def _running(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in _STATUSES:
        listed = status.get(kind)
        for each in listed if isinstance(listed, list) else ():
            if (
                isinstance(each, Mapping)
                and isinstance(each.get("name"), str)
                and isinstance(each.get("containerID"), str)
                and isinstance(each.get("state"), Mapping)
                and "running" in each["state"]
            ):
                yield each


def _current(observed: PodObserved | None, name: str) -> ContainerObserved | None:
    history = None if observed is None else observed.containers.get(name)
    return None if history is None else history.current
