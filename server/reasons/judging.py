"""All reasons of a pod, what causes others first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from messages.statuses import REJECTED
from messages.units import Timestamp
from server.reasons.ends import ends, held
from server.reasons.known import PodCase, PodReason, sentence
from server.reasons.lacks import UNTOLD, lacks

_OF_CONTAINERS: Final = frozenset(
    {"ContainersNotReady", "ContainersNotInitialized", "PodCompleted", "PodFailed"}
)
"""Reasons of conditions that only repeat what containers say."""
_GATES: Final = "ReadinessGatesNotReady"
_SANDBOX: Final = "PodReadyToStartContainers"
_TRIED_AGAIN: Final = (
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "FailedMount",
    "FailedAttachVolume",
)


def reasons(case: PodCase, now: Timestamp) -> tuple[PodReason, ...]:
    """Return why the pod is not as it should be, each cause once. There is none for a pod that is well."""
    found = [*_manifests(case), *held(case), *_leaving(case)]
    phase = case.status.get("phase")
    if phase != "Succeeded":
        found += _as_a_whole(case)
        troubles = [] if phase == "Failed" else [*_runtime(case), *lacks(case), *_sandbox(case)]
        troubles += ends(case, now)
        found += troubles
        if phase != "Failed" and not case.is_ready:
            found += _begun(case)
            found += _conditions(case)
            found += [] if found else _quiet(case)
    return tuple({each.text: each for each in found}.values())


def _manifests(case: PodCase) -> Iterator[PodReason]:
    for each in case.manifests:
        verdict, path, reason = (
            str(each.get(name) or "") for name in ("verdict", "path", "reason")
        )
        if verdict == "kept":
            yield PodReason(
                f"{path} is broken, so the pod runs as it said before: {reason}",
                "Mend the file: it is read again at once",
            )
        elif verdict == "rejected":
            yield PodReason(
                f"{path} is rejected: {reason}", "Mend the file: it is read again at once"
            )
        elif verdict == "shadowed":
            yield PodReason(f"{path} has no effect: {reason}", "Two manifests need two names")


def _leaving(case: PodCase) -> Iterator[PodReason]:
    metadata = case.pod.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return
    grace = metadata.get("deletionGracePeriodSeconds")
    within = f", and may take {grace} s to end" if grace else ""
    yield PodReason(f"It is being deleted{within}")
    if finalizers := metadata.get("finalizers"):
        yield PodReason(
            f"Its object stays until its finalizers are removed: {', '.join(map(str, finalizers))}",
            "Whoever has set a finalizer removes it",
        )


def _as_a_whole(case: PodCase) -> Iterator[PodReason]:
    reason, message = (str(case.status.get(name) or "") for name in ("reason", "message"))
    if message.startswith(REJECTED):
        said = message.removeprefix(REJECTED)
        yield PodReason(
            f"This node has refused the pod ({reason}): {said}",
            "It is not tried again: change the pod, or what the node offers, and create it anew",
        )
    elif reason == "DeadlineExceeded":
        seconds = case.spec.get("activeDeadlineSeconds")
        yield PodReason(
            f"The pod was ended: it ran for longer than its activeDeadlineSeconds ({seconds})"
        )
    elif reason or message:
        yield PodReason(f"The node has ended the pod: {': '.join(filter(None, (reason, message)))}")


def _runtime(case: PodCase) -> Iterator[PodReason]:
    if case.runtime_trouble and not case.is_ready:
        yield PodReason(
            f"No container can be started at present: {case.runtime_trouble}",
            "Look at the container runtime; the pod goes on as soon as it answers",
        )


def _sandbox(case: PodCase) -> Iterator[PodReason]:
    """Yield why the pod has no sandbox, as its last event says."""
    is_without = any(
        each.get("type") == _SANDBOX and each.get("status") == "False" for each in case.conditions
    )
    found = case.last_event("", *_TRIED_AGAIN) if is_without else None
    if found is None or found.reason in {"FailedMount", "FailedAttachVolume"}:
        return
    said = found.message.removeprefix("Failed to create pod sandbox: ")
    if found.reason == "NetworkNotReady":
        network = said.removeprefix("network is not ready: ").removeprefix(
            "container runtime network not ready: "
        )
        yield PodReason(
            f"The pod has no network yet: {network}",
            "Set up a network plugin (CNI), or give the pod hostNetwork: true",
        )
    else:
        yield PodReason(
            f"The pod's sandbox cannot be made: {said}", "It is tried again, after pauses"
        )


def _begun(case: PodCase) -> Iterator[PodReason]:
    """Yield what containers that run have not done yet."""
    for each in case.containers():
        if not each.running:
            continue
        since = each.running.get("startedAt")
        if each.kind == "init container":
            yield PodReason(f"{sentence(each.who)} runs since {since}: the others wait for its end")
        elif "startupProbe" in each.spec and not each.status.get("started"):
            yield _failing(case, each.name, sentence(each.who), "Startup", since)
        elif not each.status.get("ready") and each.kind != "ephemeral container":
            yield _failing(case, each.name, sentence(each.who), "Readiness", since)


def _failing(case: PodCase, name: str, who: str, probe: str, since: object) -> PodReason:
    event = case.last_event(name, "Unhealthy", begins=probe)
    kind = probe.lower()
    if event is None:
        return PodReason(f"{who} runs since {since}, and its {kind} probe has not succeeded yet")
    said = event.message.partition(" probe failed: ")[2] or event.message
    return PodReason(
        f"{who} runs, but its {kind} probe fails: {said}",
        f"Look at what the {kind} probe asks for" if kind == "startup" else "",
    )


def _conditions(case: PodCase) -> Iterator[PodReason]:
    """Yield what only conditions say."""
    for each in case.conditions:
        kind, reason, message = (
            str(each.get(name) or "") for name in ("type", "reason", "message")
        )
        if each.get("status") != "False" or not message or reason in _OF_CONTAINERS:
            continue
        if reason == _GATES:
            yield _gates(case, message)
        elif not kind.startswith("actorlet/"):
            yield PodReason(f"{kind} is false: {message}")


def _gates(case: PodCase, message: str) -> PodReason:
    true = {each.get("type") for each in case.conditions if each.get("status") == "True"}
    asked = [str(each.get("conditionType")) for each in case.spec.get("readinessGates") or ()]
    names = ", ".join(each for each in asked if each not in true)
    return PodReason(
        f"All containers are ready, and the pod waits for its readiness gates: {names or message}",
        "Somebody outside of the node sets these conditions in the pod's status",
    )


def _quiet(case: PodCase) -> Iterator[PodReason]:
    """Yield what the pod waits for if there is no complaint."""
    names = [each.name for each in case.containers() if each.waiting.get("reason") in UNTOLD]
    if names:
        verb = "is" if len(names) == 1 else "are"
        yield PodReason(f"Nothing is wrong so far: {', '.join(names)} {verb} being created")
    elif not case.is_ready:
        yield PodReason("The agent has not begun with it")
