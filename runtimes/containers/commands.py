"""What a command changes about what is wanted of a pod. Pure, but for the record that it writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import ContainerObserved, ContainerState, ForgetPod, RunPod, StopPod
from messages.pods import Pod
from messages.units import Seconds
from runtimes.containers.contents import ContainerNotes, newest_instances
from runtimes.containers.record import ALL_READ, NO_VOLUMES, RuntimeRecord, Wanted
from runtimes.containers.running_steps import can_resize, given_resources
from runtimes.containers.shape import ContainerShape, PodShape, bounded_grace, shape_of

SHORTEST_GRACE: Final = Seconds(1.0)
"""Of a pod that is forgotten while it still runs."""
SIDECAR_GRACE: Final = Seconds(2.0)
"""What each sidecar has even if the other containers used up the pod's grace, as on a kubelet."""


def note_run(record: RuntimeRecord, command: RunPod) -> None:
    """Note that the pod is to run, unless it is being stopped already: that is kept to the end."""
    record.reply_to = command.reply_to
    if record.is_stopping:
        record.tell_again = True
        return
    if record.pod is not command.pod:
        before, after = record.shape, shape_of(command.pod, command.first_digests)
        record.pod, record.shape, record.impossible = command.pod, after, None
        if before is not None:
            _note_new_resources(record, before, after)
    record.wanted, record.mark = Wanted.RUN, command.mark
    if (record.objects, record.unread) != (command.objects, command.unread):
        if _pull_secrets(command.pod, record.objects) != _pull_secrets(
            command.pod, command.objects
        ):
            _forget_pulls(record)
        record.objects, record.unread = command.objects, command.unread
        _forget_errors(record)
    record.services = command.services
    record.verdicts, record.outdated = command.verdicts, command.outdated
    if record.volumes != command.volumes:
        record.volumes = command.volumes
        _forget_errors(record)


def note_stop(record: RuntimeRecord, command: StopPod, now: Seconds) -> None:
    """Note that the pod is to stop. What it still has of its grace only ever gets shorter."""
    record.reply_to, record.mark = command.reply_to, command.mark
    if record.pod is None and command.pod is not None:
        record.pod, record.shape = command.pod, shape_of(command.pod)
    grace = bounded_grace(command.grace)
    _begin_stop(record, grace, now)
    if record.wanted is not Wanted.FORGET:
        record.wanted = Wanted.STOP


def note_forget(record: RuntimeRecord, command: ForgetPod, now: Seconds) -> None:
    """Note that all that is left of the pod is to be removed."""
    record.reply_to, record.mark = command.reply_to, command.mark
    _begin_stop(record, SHORTEST_GRACE, now)
    record.wanted = Wanted.FORGET


def _begin_stop(record: RuntimeRecord, grace: Seconds, now: Seconds) -> None:
    stop_by = Seconds(now + grace)
    shortest = min(SIDECAR_GRACE, grace)
    if record.is_stopping:
        stop_by, shortest = min(stop_by, record.stop_by), min(shortest, record.shortest)
    record.stop_by, record.shortest = stop_by, shortest
    record.paused_until = Seconds(0.0)
    # No container is created any more: nobody needs what it would be created with.
    record.objects, record.unread, record.services = {}, ALL_READ, ()
    record.volumes = NO_VOLUMES
    record.notes, record.sandbox_error = None, ""


def _note_new_resources(record: RuntimeRecord, before: PodShape, after: PodShape) -> None:
    newest = newest_instances(record.contents)
    for container in after:
        old, instance = before.get(container.name), newest.get(container.name)
        if old is None or instance is None or instance.state is not ContainerState.RUNNING:
            continue
        if can_resize(old.resources, container.resources):
            _begin_resize(record.notes_of(container.name), instance, old, container)


def _begin_resize(
    notes: ContainerNotes,
    instance: ContainerObserved,
    old: ContainerShape,
    new: ContainerShape,
) -> None:
    """Note that other resources are wanted, unless those are what it has."""
    given = given_resources(instance, notes)
    given = old.resources if given is None else given
    notes.end_resize()
    notes.resize_retry_at = Seconds(0.0)
    if can_resize(given, new.resources):
        notes.resize_of, notes.old_resources = instance.id, given


def _pull_secrets(pod: Pod, objects: Mapping[ObjectId, ObjectValue]) -> dict[ObjectId, ObjectValue]:
    references = (pod.document.get("spec") or {}).get("imagePullSecrets")
    names = {each.get("name") for each in references or ()}
    return {
        known: value
        for known, value in objects.items()
        if known.kind is ObjectKind.SECRET and known.name in names
    }


def _forget_pulls(record: RuntimeRecord) -> None:
    """Let images be pulled again that may be had with the credentials of now."""
    for notes in (record.notes or {}).values():
        for image in notes.images.values():
            if image.failures:
                image.failures, image.retry_at = 0, Seconds(0.0)


def _forget_errors(record: RuntimeRecord) -> None:
    """Let containers try again whose configuration may be usable now."""
    for notes in (record.notes or {}).values():
        if notes.error is not None and notes.error.reason == "CreateContainerConfigError":
            notes.failures, notes.retry_at = 0, Seconds(0.0)
