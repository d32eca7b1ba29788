"""What each container of a pod needs next, in a sandbox that is ready. Pure.

An instance counts as ``current`` if it is in the newest sandbox, and was made after the last demand that
all containers start again. Others only count for what they were: their attempts, and their last exit codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from manifests.restart_rules import AfterExit
from manifests.times import format_duration
from messages.container_runtime import CreateContainer, RemoveContainer, StartContainer
from messages.pod_runtime import ContainerObserved, ContainerState, ContainerWait
from messages.pods import Pod
from messages.units import Seconds
from runtimes.containers.contents import is_alive
from runtimes.containers.crash_backoff import may_restart_at, sandbox_known_at
from runtimes.containers.images import FoundImages, images_of
from runtimes.containers.running_steps import has_started, holds_up, is_post_start_pending, tend
from runtimes.containers.shape import ContainerPart, ContainerShape
from runtimes.containers.situation import Draft, PodSituation, Step
from runtimes.containers.stopping import Killing, kill
from runtimes.environment.objects import missing_value


class ContainerSteps:
    """Makes the part of a plan that is about containers."""

    __slots__ = ("_draft", "_newest", "_now")

    def __init__(
        self, now: PodSituation, newest: Mapping[str, ContainerObserved], draft: Draft
    ) -> None:
        self._now = now
        self._newest = newest
        self._draft = draft

    def have_ended(self) -> bool:
        """Whether the pod has ended: an init container failed, or all regular ones ended, for good."""
        shape = self._now.shape
        return all(map(self._has_ended, shape.regular)) or any(
            each.part is ContainerPart.INIT and self._has_failed(each) for each in shape.inits
        )

    def wait_all(self) -> None:
        """Let all containers wait that do not run and are not over."""
        for container in self._now.shape:
            instance = self._newest.get(container.name)
            if instance is None or not (is_alive(instance) or self._is_over(container)):
                self._wait(container)

    def find_images(self) -> None:
        """Have the images of containers that never ran, while the sandbox is being made."""
        now = self._now
        if now.limits.assumes_images:
            return
        for container in (*now.shape.inits, *now.shape.regular):
            name = container.name
            if (
                name not in self._newest
                and name not in now.busy
                and not self._is_held_up(container)
            ):
                images_of(now, container, now.notes.get(name), self._draft)

    def go_on(self) -> None:
        """Bring each container one step further."""
        if self._end_unwanted():
            self.wait_all()
            return
        shape = self._now.shape
        passed = self._passed()
        is_open = True
        for place, container in enumerate(shape.inits):
            is_passed = place < passed
            if container.part is ContainerPart.SIDECAR:
                self._keep_running(container, may_start=is_open)
                is_open = is_open and (is_passed or self._has_started(container))
            elif not is_passed:
                is_open = self._run_once(container, may_start=is_open) and is_open
        for container in shape.regular:
            self._keep_running(container, may_start=is_open)
            is_open = is_open and not self._holds_up(container)
        for container in shape.ephemeral:
            if container.name not in self._newest or self._is_created(container):
                self._start(container)

    def _passed(self) -> int:
        """Return how many init containers nobody waits for any more: those before the last one that is there.

        Each of them has done its part once. It may have been removed, and a sidecar may have ended since.
        """
        shape = self._now.shape
        if any(map(self._was_started, shape.regular)):
            return len(shape.inits)
        there = (place for place, each in enumerate(shape.inits) if self._current(each) is not None)
        return max(there, default=0)

    # --- one container ---------------------------------------------------------------------------------

    def _run_once(self, container: ContainerShape, *, may_start: bool) -> bool:
        """Run an init container to its success. Return whether it has succeeded."""
        instance = self._current(container)
        if instance is not None and is_alive(instance):
            self._end_unknown(instance)
            return False
        if (
            instance is not None
            and instance.state is ContainerState.EXITED
            and instance.exit_code == 0
        ):
            return True
        self._start_if(container, may_start)
        return False

    def _keep_running(self, container: ContainerShape, *, may_start: bool) -> None:
        instance = self._newest.get(container.name)
        if instance is not None and instance.state is ContainerState.RUNNING:
            tend(self._now, container, instance, self._draft)
            if is_post_start_pending(self._now, instance):
                self._wait(container)
        elif instance is not None and is_alive(instance):
            self._end_unknown(instance)
        elif instance is None or not self._has_ended(container):
            self._start_if(container, may_start)

    def _holds_up(self, container: ContainerShape) -> bool:
        if container.post_start is None:
            return False
        return holds_up(self._now, container, self._newest.get(container.name), self._draft)

    def _start_if(self, container: ContainerShape, may_start: bool) -> None:  # noqa: FBT001
        if may_start:
            self._start(container)
        else:
            self._wait(container)

    def _start(self, container: ContainerShape) -> None:
        now, name = self._now, container.name
        notes, instance = now.notes.get(name), self._newest.get(name)
        if name in now.busy:
            self._wait(container)
        elif instance is not None and instance.state is ContainerState.CREATED:
            self._start_created(container, instance)
        elif not self._is_held_up(container):
            images = images_of(now, container, notes, self._draft)
            if images is not None and not self._lacks_a_value(container):
                self._wait(container)
                self._draft.steps.append(Step(name, self._creation(container, images)))

    def _lacks_a_value(self, container: ContainerShape) -> bool:
        """Return whether its environment cannot be made, and let it wait for the next command then."""
        now = self._now
        missing = missing_value(container.needs, now.pod, now.objects, now.unread)
        if missing:
            wait = ContainerWait(reason="CreateContainerConfigError", message=missing)
            self._draft.waits[container.name] = wait
        return bool(missing)

    def _start_created(self, container: ContainerShape, instance: ContainerObserved) -> None:
        notes = self._now.notes.get(container.name)
        is_usable = (
            self._current(container) is not None
            and container.is_unchanged_since(instance)
            and not instance.reason
            and not (notes is not None and notes.discarded_id == instance.id)
        )
        self._wait(container)
        if is_usable and notes is not None and notes.retry_at > self._draft.now:
            self._draft.wait_until(notes.retry_at)
            return
        request = StartContainer(id=instance.id) if is_usable else RemoveContainer(id=instance.id)
        self._draft.steps.append(Step(container.name, request))

    def _is_held_up(self, container: ContainerShape) -> bool:
        """Return whether no instance may be created yet, and let the container wait for that."""
        notes = self._now.notes.get(container.name)
        if notes is None:
            return False
        crashes, draft = notes.crashes, self._draft
        until = may_restart_at(crashes, container.spec_hash)
        newest = self._newest.get(container.name)
        if newest is not None and newest.id in self._now.outdated:
            crashes = None  # it is not started again because it crashed
        if crashes is not None and until > draft.now:
            draft.waits[container.name] = _crash_loop(crashes.delay, container, self._now.pod)
        elif notes.retry_at > draft.now:
            until = notes.retry_at
            self._wait(container)
        elif (until := self._sandbox_known_at(container.name)) > draft.now:
            self._wait(container)
        else:
            return False
        draft.wait_until(until)
        return True

    def _sandbox_known_at(self, name: str) -> Seconds:
        """Return when the fate of the sandbox is known, if others killed the newest instance in it.

        It is known a moment after the latest such kill of any container: a runtime that stops a sandbox may
        kill what is in it one after the other.
        """
        own = self._known_after_kill(name)
        return max(map(self._known_after_kill, self._now.notes)) if own else own

    def _known_after_kill(self, name: str) -> Seconds:
        instance, notes = self._newest.get(name), self._now.notes.get(name)
        if (
            instance is None
            or notes is None
            or instance.id in self._now.stops
            or instance.id == notes.replaced_id
            or instance not in self._now.contents[0].containers
        ):
            return Seconds(0.0)
        return sandbox_known_at(notes.crashes, instance)

    def _creation(self, container: ContainerShape, images: FoundImages) -> CreateContainer:
        now = self._now
        notes, instance = now.notes.get(container.name), self._newest.get(container.name)
        highest = max(notes.highest if notes else -1, instance.attempt if instance else -1)
        return CreateContainer(
            pod=now.pod,
            container=container.document,
            sandbox=now.contents[0].sandbox,
            attempt=highest + 1,
            spec_hash=container.spec_hash,
            image_id=images.image_id,
            objects=now.objects,
            services=now.services,
            volumes=now.volumes,
            volume_images=images.of_volumes,
        )

    # --- what its instances say ------------------------------------------------------------------------

    def _has_ended(self, container: ContainerShape) -> bool:
        """Return whether it exited and, by its restart policy, never runs again."""
        instance, notes = self._newest.get(container.name), self._now.notes.get(container.name)
        if instance is None:
            return notes is not None and notes.has_ended
        if instance.state is not ContainerState.EXITED:
            return False
        is_replaced = instance.id in self._now.outdated or (
            notes is not None and notes.replaced_id == instance.id
        )
        return not (is_replaced or self._is_too_old(instance)) and (
            container.behaviour.after(instance.exit_code) is AfterExit.ENDED
        )

    def _has_failed(self, container: ContainerShape) -> bool:
        instance = self._newest.get(container.name)
        return instance is not None and instance.exit_code != 0 and self._has_ended(container)

    def _is_over(self, container: ContainerShape) -> bool:
        if container.part is ContainerPart.INIT:
            instance = self._current(container)
            return instance is not None and instance.exit_code == 0
        return self._has_ended(container)

    def _is_too_old(self, instance: ContainerObserved) -> bool:
        since = self._now.restart_all_at
        return since is not None and (instance.created_at or since) < since

    def _current(self, container: ContainerShape) -> ContainerObserved | None:
        instance = self._newest.get(container.name)
        if instance is None or self._is_too_old(instance):
            return None
        contents = self._now.contents
        if len(contents) > 1 and instance not in contents[0].containers:
            return None
        return instance

    def _is_created(self, container: ContainerShape) -> bool:
        return self._newest[container.name].state is ContainerState.CREATED

    def _was_started(self, container: ContainerShape) -> bool:
        instance = self._current(container)
        return instance is not None and instance.state is not ContainerState.CREATED

    def _has_started(self, container: ContainerShape) -> bool:
        instance = self._current(container)
        return instance is not None and has_started(self._now, container, instance)

    # --- what is not wanted ----------------------------------------------------------------------------

    def _end_unwanted(self) -> bool:
        """Stop what all containers start again without. Return whether anything of it still lives."""
        outdated = [one for one in self._newest.values() if is_alive(one) and self._is_too_old(one)]
        self._kill(outdated, "Stopping container {}, since all containers start again")
        if sum(each.name in self._newest for each in self._now.shape) < len(self._newest):
            names = {each.name for each in self._now.shape}
            strange = [
                one for one in self._newest.values() if one.name not in names and is_alive(one)
            ]
            self._kill(strange, "Container {} is not in the pod's specification any more")
        return bool(outdated)

    def _end_unknown(self, instance: ContainerObserved) -> None:
        if instance.state is ContainerState.UNKNOWN:
            self._kill(
                (instance,), "Container {} is in unknown state, try killing it before restart"
            )

    def _kill(self, instances: Iterable[ContainerObserved], why: str) -> None:
        for one in instances:
            ending = Killing(self._now.shape.grace, why.format(one.name))
            kill(self._now, one, ending, self._draft)

    def _wait(self, container: ContainerShape) -> None:
        """Let it wait, without a reason of its own unless it could not be created or started before.

        An instance that exited stays what people see, until the next one is there. Not so if by its restart
        policy it would have ended for good: what is replaced must not be taken for that.
        """
        notes = self._now.notes.get(container.name)
        error = notes.error if notes is not None else None
        if error is not None:
            self._draft.waits[container.name] = error
        elif not self._shows_its_exit(container):
            self._draft.waits[container.name] = self._draft.default_wait

    def _shows_its_exit(self, container: ContainerShape) -> bool:
        instance = self._newest.get(container.name)
        if instance is None or instance.state is not ContainerState.EXITED:
            return False
        is_end = container.behaviour.after(instance.exit_code) is AfterExit.ENDED
        return not (is_end and container.part is ContainerPart.REGULAR)


def _crash_loop(delay: Seconds, container: ContainerShape, pod: Pod) -> ContainerWait:
    return ContainerWait(
        reason="CrashLoopBackOff",
        message=f"back-off {format_duration(delay)} restarting failed container={container.name} "
        f"pod={pod.name}_{pod.namespace}({pod.uid})",
    )
