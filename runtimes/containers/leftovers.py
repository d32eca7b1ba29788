"""What earlier attempts left in the runtime, and nobody needs any more. Pure.

Of each container the newest instance is kept, and the newest one before it that exited: ``lastState``. A
sandbox is kept as long as it holds one of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from messages.container_runtime import RemoveContainer, RemoveSandbox, SandboxContents
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from runtimes.containers.situation import Draft, PodSituation, Step, is_alive


def last_instances(
    contents: tuple[SandboxContents, ...], newest: Mapping[str, ContainerObserved]
) -> dict[str, ContainerObserved]:
    """Return the newest instance of each container before ``newest`` that exited."""
    last: dict[str, ContainerObserved] = {}
    for sandbox in contents:
        for one in sandbox.containers:
            other = last.get(one.name)
            if (
                one.state is ContainerState.EXITED
                and one.attempt < newest[one.name].attempt
                and (other is None or one.attempt > other.attempt)
            ):
                last[one.name] = one
    return last


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
