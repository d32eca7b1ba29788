"""What to do next with the containers of one pod, and how long to wait for it. Pure.

``plan`` depends on the present state and not on events. So it can be asked again after every change and
every answer. It returns requests that do not depend on each other; the next ones follow from their answers.

The order is that of kubelets since 1.34 (rules J1-J3, J8-J12):

1. A pod that has ended for good starts nothing: what still runs of it, sidecars above all, is stopped.
2. What lives in an old sandbox is stopped, and a sandbox that is missing or dead is replaced, as soon as
   there is a network for it. Images are looked for and pulled meanwhile.
3. Init containers run in order, each to its success. Sidecars start in their place in that order; the next
   one begins when they have started, and passed their startup probe.
4. Then all regular containers are started, in parallel.
5. Ephemeral containers start as soon as there is a sandbox.
6. What is left over from earlier attempts is removed.
   Of each container the newest instance is kept, and the newest one before it that exited: ``lastState``.
   A sandbox is kept as long as it holds one of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from messages.container_runtime import RemoveContainer, RemoveSandbox, RunSandbox
from messages.pod_runtime import ContainerObserved, SandboxState
from messages.units import Seconds
from runtimes.containers.container_steps import ContainerSteps
from runtimes.containers.contents import is_alive, is_stopped, last_instances, newest_instances
from runtimes.containers.situation import (
    CREATING,
    INITIALIZING,
    SANDBOX,
    Draft,
    Plan,
    PodSituation,
    Step,
)
from runtimes.containers.stopping import end_old, is_being_changed, stop_everything


def plan(now: PodSituation) -> Plan:
    """Return what to do next about a pod that is to run."""
    draft = Draft(now.now, INITIALIZING if now.shape.inits else CREATING)
    newest = newest_instances(now.contents)
    containers = ContainerSteps(now, newest, draft)
    if containers.have_ended():
        draft.has_ended = True
        stop_everything(now, now.shape.grace, draft)
    elif _is_sandbox_usable(now, draft):
        containers.go_on()
        leftovers(now, newest, draft)
    else:
        containers.wait_all()
        if _is_sandbox_being_made(now, draft):
            containers.find_images()
    return draft.finished()


def plan_stop(now: PodSituation, stop_by: Seconds, shortest: Seconds) -> Plan:
    """Return what to do next about a pod that is being stopped.

    Nothing starts. What still runs at ``stop_by`` is killed; a sidecar has ``shortest`` after that.
    """
    draft = Draft(now.now, CREATING)
    remaining = Seconds(max(0.0, stop_by - now.now))
    stop_everything(now, remaining, draft, shortest)
    return draft.finished()


def plan_removal(now: PodSituation, stop_by: Seconds) -> Plan:
    """Return what to do next about a pod that is to be forgotten: it is stopped, then removed."""
    stopping = plan_stop(now, stop_by, Seconds(0.0))
    if stopping.steps or not is_stopped(now.contents) or is_being_changed(now.busy):
        return stopping
    draft = Draft(now.now, CREATING)
    draft.steps += [
        Step(each.sandbox.id, RemoveSandbox(id=each.sandbox.id)) for each in now.contents
    ]
    return draft.finished()


def _is_on_host(now: PodSituation) -> bool:
    return bool((now.pod.document.get("spec") or {}).get("hostNetwork"))


def _is_sandbox_being_made(now: PodSituation, draft: Draft) -> bool:
    """Return whether a sandbox is being made, or is about to be."""
    flight = now.busy.get(SANDBOX)
    making = [flight.request] if flight is not None else [step.request for step in draft.steps]
    return any(isinstance(request, RunSandbox) for request in making)


def _is_sandbox_usable(now: PodSituation, draft: Draft) -> bool:
    """Return whether containers can be started, and otherwise do what it takes."""
    current = now.contents[0] if now.contents else None
    usable = current is not None and current.sandbox.state is SandboxState.READY
    old = now.contents[1:] if usable else now.contents
    if old and end_old(now, old, draft):
        return False
    if usable or SANDBOX in now.busy:
        return usable
    if now.limits.network_trouble and not _is_on_host(now):
        draft.awaits_network = True
        return False
    if now.sandbox_retry_at > now.now:
        draft.wait_until(now.sandbox_retry_at)
        return False
    seen = max((each.sandbox.attempt for each in now.contents), default=-1)
    attempt = max(seen, now.highest_sandbox) + 1
    why = "Pod sandbox changed, it will be killed and re-created." if now.contents else ""
    draft.steps.append(Step(SANDBOX, RunSandbox(pod=now.pod, attempt=attempt), why))
    return False


def leftovers(now: PodSituation, newest: Mapping[str, ContainerObserved], draft: Draft) -> None:
    """Remove what is left over, beside a sandbox that is ready."""
    if len(now.contents) == 1 and len(now.contents[0].containers) == len(newest):
        return
    last = last_instances(now.contents, newest)
    kept = {one.id for one in (*newest.values(), *last.values())}
    for place, each in enumerate(now.contents):
        is_over = place > 0 and each.sandbox.state is SandboxState.NOT_READY
        if is_over and not any(one.id in kept or is_alive(one) for one in each.containers):
            _remove(now, Step(each.sandbox.id, RemoveSandbox(id=each.sandbox.id)), draft)
            continue
        for one in each.containers:
            if one.id not in kept and not is_alive(one):
                _remove(now, Step(one.id, RemoveContainer(id=one.id)), draft)


def _remove(now: PodSituation, step: Step, draft: Draft) -> None:
    if step.target not in now.busy:
        draft.steps.append(step)
