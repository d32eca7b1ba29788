"""What people are told of one pod's steps: events and lines of the log, in a kubelet's words. Pure.

A runtime repeats the command that it cannot run. Variables are replaced in it by then, those with values of
Secrets too. That is shown to nobody: statuses, events and the log are read by people who may not read
Secrets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from manifests.image_names import NEVER
from manifests.times import format_duration
from messages.container_runtime import (
    NEVER_RAN,
    CreateContainer,
    FindImage,
    ImageFound,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeOutcome,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.events import EventType
from messages.pod_runtime import ContainerObserved, ContainerState, ContainerWait
from messages.pods import Pod
from messages.units import Seconds
from runtimes.containers.images import never_pulled
from runtimes.containers.shape import ContainerShape, PodShape
from runtimes.containers.situation import HookStep, Step
from runtimes.lifecycle_hooks.messages import HookEnded, HookKind

NORMAL: Final = EventType.NORMAL
WARNING: Final = EventType.WARNING
WITHHELD: Final = (
    "the runtime could not start it; what it says of that is not shown, since command or arguments may have "
    "values of Secrets"
)


class EventText(NamedTuple):
    """One thing that people are told."""

    type: EventType
    reason: str
    message: str


EventTexts: TypeAlias = tuple[EventText, ...]


def when_sent(step: Step) -> EventTexts:
    """Return what is said when a step is made."""
    match step.request:
        case PullImage():
            return (EventText(NORMAL, "Pulling", step.why),)
        case StopContainer() if step.why:
            return (EventText(NORMAL, "Killing", step.why),)
        case RunSandbox() if step.why:
            return (EventText(NORMAL, "SandboxChanged", step.why),)
        case _:
            return ()


def when_hook_called(step: HookStep) -> EventTexts:
    """Return what is said when a hook is called: that the container is being stopped, if it is."""
    return (EventText(NORMAL, "Killing", step.why),) if step.why else ()


def when_hook_ended(ended: HookEnded) -> EventTexts:
    """Return what is said of the end of a hook."""
    if ended.failure:
        hook = "PostStartHook" if ended.ref.kind is HookKind.POST_START else "PreStopHook"
        return (EventText(WARNING, f"Failed{hook}", f"{hook} failed: {ended.failure}"),)
    return (EventText(WARNING, "LifecycleHTTPFallback", ended.remark),) if ended.remark else ()


def when_answered(
    step: Step, outcome: RuntimeOutcome, took: Seconds, container: ContainerShape | None
) -> EventTexts:
    """Return what is said when a step was carried out, or failed. An outage is said once, not by each pod."""
    if isinstance(outcome, RuntimeFailure):
        return () if outcome.is_away else _when_failed(step, outcome, container)
    match step.request, outcome:
        case StartContainer(), ContainerObserved() if never_ran(outcome):
            return (EventText(WARNING, "Failed", f"Error: {outcome.message or outcome.reason}"),)
        case FindImage(image=image), ImageFound():
            return _when_found(image, outcome, container)
        case PullImage(image=image), ImageFound():
            return (EventText(NORMAL, "Pulled", _pulled(image, outcome, took)),)
        case CreateContainer(image_id=image_id), ContainerObserved(name=name, image=image):
            created = EventText(NORMAL, "Created", f"Created container: {name}")
            return (created,) if image_id else (_assumed(image), created)
        case StartContainer(), ContainerObserved(name=name):
            return (EventText(NORMAL, "Started", f"Started container {name}"),)
        case _:
            return ()


def is_trouble(outcome: RuntimeOutcome) -> bool:
    """Return whether this is said in any case, also where nobody is told of steps that succeed."""
    if isinstance(outcome, ContainerObserved):
        return never_ran(outcome)
    return isinstance(outcome, RuntimeFailure) and not outcome.is_away


def when_waiting(wait: ContainerWait, name: str, pod: Pod) -> EventTexts:
    """Return what is said when a container begins to wait for this reason."""
    match wait.reason:
        case "CrashLoopBackOff":
            whose = f"{name} in pod {pod.name}_{pod.namespace}({pod.uid})"
            return (EventText(WARNING, "BackOff", f"Back-off restarting failed container {whose}"),)
        case "ImagePullBackOff":
            message = wait.message.partition(": ")[0]
            return (
                EventText(NORMAL, "BackOff", message),
                EventText(WARNING, "Failed", "Error: ImagePullBackOff"),
            )
        case "CreateContainerConfigError":
            return (EventText(WARNING, "Failed", f"Error: {wait.message}"),)
        case "InvalidImageName":
            return (
                EventText(WARNING, "InspectFailed", wait.message),
                EventText(WARNING, "Failed", "Error: InvalidImageName"),
            )
        case _:
            return ()


def _when_found(image: str, found: ImageFound, container: ContainerShape | None) -> EventTexts:
    if found.image_id:
        return (_present(image),)
    if container is not None and container.pull_policy_of(image) == NEVER:
        return _when_never_pulled(never_pulled(image, is_withheld=found.is_withheld))
    return ()


def _when_gone(container: ContainerShape | None) -> EventTexts:
    """Return what is said where the image went before its container was made."""
    if container is None or container.pull_policy != NEVER:
        return ()  # it is pulled again
    return _when_never_pulled(never_pulled(container.image))


def _when_never_pulled(message: str) -> EventTexts:
    return (
        EventText(WARNING, "ErrImageNeverPull", message),
        EventText(WARNING, "Failed", "Error: ErrImageNeverPull"),
    )


def _when_failed(
    step: Step, failure: RuntimeFailure, container: ContainerShape | None
) -> EventTexts:
    match step.request:
        case RunSandbox():
            return (_when_no_sandbox(failure),)
        case PullImage(image=image):
            message = f'Failed to pull image "{image}": {failure.message}'
            error = failure.reason or "ErrImagePull"
            return (
                EventText(WARNING, "Failed", message),
                EventText(WARNING, "Failed", f"Error: {error}"),
            )
        case FindImage(image=image):
            message = f'Failed to inspect image "{image}": {failure.message}'
            return (EventText(WARNING, "InspectFailed", message),)
        case CreateContainer() if failure.kind is RuntimeFailureKind.IMAGE_MISSING:
            return _when_gone(container)
        case CreateContainer() if failure.kind is RuntimeFailureKind.CONFIG and not failure.reason:
            return ()  # it is said when the container begins to wait for it
        case CreateContainer() | StartContainer():
            return (EventText(WARNING, "Failed", f"Error: {failure.message}"),)
        case StopContainer() | StopSandbox() | RemoveContainer() | RemoveSandbox():
            is_stop = isinstance(step.request, StopContainer | StopSandbox)
            doing = "killing pod" if is_stop else "removing"  # its pod waits for either
            return (EventText(WARNING, "FailedKillPod", f"error {doing}: {failure.message}"),)
        case _:
            return ()


def _when_no_sandbox(failure: RuntimeFailure) -> EventText:
    """Return what is said where no sandbox could be made: in its own words, if no other attempt will do."""
    if failure.kind is RuntimeFailureKind.UNSUPPORTED and failure.reason:
        return EventText(WARNING, failure.reason, failure.message)
    message = f"Failed to create pod sandbox: {failure.message}"
    return EventText(WARNING, "FailedCreatePodSandBox", message)


def _assumed(image: str) -> EventText:
    """Return what is said of an image that nobody has looked for: a hollow container needs none."""
    return EventText(
        NORMAL, "Pulled", f'hollow: image "{image}" counts as present, nothing is pulled'
    )


def _present(image: str) -> EventText:
    return EventText(NORMAL, "Pulled", f'Container image "{image}" already present on machine')


def _pulled(image: str, found: ImageFound, took: Seconds) -> str:
    pulling = _span(took if found.pulled_in is None else min(found.pulled_in, took))
    text = f'Successfully pulled image "{image}" in {pulling} ({_span(took)} including waiting).'
    return f"{text} Image size: {found.size} bytes." if found.size else text


def _span(seconds: Seconds) -> str:
    return format_duration(Seconds(round(seconds, 3)))


def never_ran(container: ContainerObserved) -> bool:
    """Return whether the runtime could not start this container: what it has is no end of its program."""
    return container.state is ContainerState.EXITED and container.reason in NEVER_RAN


def in_public(
    container: ContainerObserved | None, shape: PodShape | None
) -> ContainerObserved | None:
    """Return ``container`` as it may be shown to everybody."""
    if container is None or shape is None or not never_ran(container):
        return container
    known = shape.get(container.name)
    has_secrets = known is not None and known.has_secret_words
    return replace(container, message=WITHHELD) if has_secrets else container


def start_in_public(outcome: RuntimeOutcome, shape: ContainerShape | None) -> RuntimeOutcome:
    """Return what came of a start, as it may be shown to everybody."""
    if shape is None or not shape.has_secret_words:
        return outcome
    match outcome:
        case RuntimeFailure():
            return replace(outcome, message=WITHHELD)
        case ContainerObserved() if never_ran(outcome):
            return replace(outcome, message=WITHHELD)
        case _:
            return outcome
