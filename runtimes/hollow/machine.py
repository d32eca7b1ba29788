"""What a hollow runtime has, and what each request and each step does to it. Pure: the time is told."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b, sha256
from signal import Signals
from typing import Final

from messages.container_runtime import (
    CreateContainer,
    ImageFound,
    PodIdentity,
    PullImage,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import JsonObject, Pod, PodUid
from messages.units import Instant, Seconds
from runtimes.environment.objects import used_objects
from runtimes.hollow.addresses import AddressesExhaustedError, PodAddresses
from runtimes.hollow.behaviours import Behaviours, UnreadableAnnotationError
from runtimes.hollow.inventory import (
    ContainerEnds,
    ContainerIsReady,
    ContainerRecord,
    Inventory,
    SandboxDies,
    SandboxRecord,
    Schedule,
)
from runtimes.hollow.rules import (
    KILLED,
    NOT_STARTED,
    ContainerBehaviour,
    Ending,
    HollowRules,
    ImageBehaviour,
    drawn,
    ending_of,
)

MOST_SIGNALS: Final = 100
"""Signals that are remembered of each container, for its log."""
_NO_RESOURCES: Final[JsonObject] = {}
"""Of all containers that ask for nothing: one object, which takes no room."""
_KEPT: Final = 10_000
"""Images. The one that was pulled first is dropped first."""
MISSING: Final = ImageFound(image_id="")


class Images:
    """Knows what was pulled, and how often a pull failed."""

    def __init__(self) -> None:
        self._found: dict[str, ImageFound] = {}
        self._failures: dict[PodUid, Counter[str]] = {}

    def find(self, image: str, uid: PodUid, behaviour: ImageBehaviour) -> ImageFound:
        """Return the image, if a pod finds it that behaves so.

        A pod that is to fail pulling it does not find it, whoever else pulled it.
        """
        if self._fails(image, uid, behaviour):
            return MISSING
        return self._found.get(image, MISSING)

    def pull(
        self, image: str, uid: PodUid, behaviour: ImageBehaviour
    ) -> ImageFound | RuntimeFailure:
        """Pull the image for a pod, at once."""
        if self._fails(image, uid, behaviour):
            if behaviour.failures is not None:
                self._failures.setdefault(uid, Counter())[image] += 1
            return RuntimeFailure(kind=RuntimeFailureKind.IMAGE_PULL, message=behaviour.error)
        return self.have(image)

    def have(self, image: str) -> ImageFound:
        """Have an image from now on."""
        found = self._found.get(image)
        if found is None:
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            found = self._found[image] = _made_up(image)
        return found

    def forget(self, uid: PodUid) -> None:
        """Forget what failed for a pod that is gone."""
        self._failures.pop(uid, None)

    def _fails(self, image: str, uid: PodUid, behaviour: ImageBehaviour) -> bool:
        if not behaviour.error or behaviour.failures is None:
            return bool(behaviour.error)
        return self._failures.get(uid, Counter())[image] < behaviour.failures


def _made_up(image: str) -> ImageFound:
    """Return an image with the digest and the size that one of this name always has."""
    digest = sha256(image.encode()).hexdigest()
    name, at, _ = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = repository
    size = 2_000_000 + int(digest[:8], 16) % 200_000_000
    return ImageFound(image_id=image if at else f"{name}@sha256:{digest}", size=size)


class HollowMachine:
    """Sandboxes, containers, images and addresses, and what is to happen to them.

    ``changed`` collects the pods of which something changed without an answer that says so, and
    ``touched`` those of which anything changed.
    """

    def __init__(self, rules: HollowRules) -> None:
        self.rules = rules
        self.inventory = Inventory()
        self.schedule = Schedule()
        self.behaviours = Behaviours(rules)
        self.images = Images()
        self.addresses = PodAddresses(rules.pod_networks)
        self.changed: dict[PodUid, None] = {}
        self.touched: dict[PodUid, None] = {}
        self._serial = 0

    # --- sandboxes -------------------------------------------------------------------------------------

    def run_sandbox(self, request: RunSandbox, at: Instant) -> SandboxObserved | RuntimeFailure:
        """Make and start a sandbox."""
        pod, attempt = request.pod, request.attempt
        if any(each.observed.attempt == attempt for each in self.inventory.of_pod(pod.uid)):
            return refused(f"the name of sandbox {attempt} of {pod.display_name} is reserved")
        behaviour = self.behaviours.of_sandbox(pod)
        if behaviour.error:
            return refused(behaviour.error)
        try:
            ips = () if pod.document["spec"].get("hostNetwork") else self.addresses.take()
        except AddressesExhaustedError as error:
            return refused(f"failed to set up the network of the sandbox: {error}")
        observed = SandboxObserved(
            id=self._id(at, pod.uid, attempt),
            attempt=attempt,
            state=SandboxState.READY,
            created_at=at.wall,
            ips=ips,
        )
        record = SandboxRecord(pod=_identity(pod), observed=observed)
        if behaviour.dies_after is not None and attempt == 0:
            lifetime = drawn(behaviour.dies_after, self.rules.seed, pod.uid, "dies-after")
            record.death = SandboxDies(Seconds(at.monotonic + lifetime), record)
            self.schedule.add(record.death)
        self.inventory.add_sandbox(record)
        self.touched[pod.uid] = None
        return observed

    def stop_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        """Stop a sandbox, and return the containers in it that this killed."""
        if not record.is_ready:
            return []
        self.schedule.cancel(record.death)
        record.death = None
        killed = [container for container in record.containers if container.is_running]
        for container in killed:
            self.end(container, KILLED, at)
        self.inventory.change_sandbox(record, state=SandboxState.NOT_READY)
        self.addresses.give_back(record.observed.ips)
        self.touched[record.pod.uid] = None
        return killed

    def remove_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        """Remove a sandbox with its containers, and return those that this killed."""
        killed = self.stop_sandbox(record, at)
        self.inventory.remove_sandbox(record)
        self.touched[record.pod.uid] = None
        if not self.inventory.of_pod(record.pod.uid):
            self.images.forget(record.pod.uid)
        return killed

    # --- images ----------------------------------------------------------------------------------------

    def pull(self, request: PullImage) -> ImageFound | RuntimeFailure:
        """Pull an image."""
        behaviour = self.behaviours.of_image(request.pod, request.image)
        return self.images.pull(request.image, request.pod.uid, behaviour)

    def find(self, image: str, pod: Pod) -> ImageFound:
        """Return an image, or that it is not there.

        Images that take no time to pull are there anyway.
        """
        if not self.behaviours.takes_time(pod):
            return self.images.have(image)
        behaviour = self.behaviours.of_image(pod, image)
        if not behaviour.error and not behaviour.to_pull.most:
            return self.images.have(image)
        return self.images.find(image, pod.uid, behaviour)

    # --- containers ------------------------------------------------------------------------------------

    def create(self, request: CreateContainer, at: Instant) -> ContainerObserved | RuntimeFailure:
        """Create a container."""
        spec, attempt = request.container, request.attempt
        record = self.inventory.sandbox(request.sandbox.id)
        if record is None:
            return not_found("sandbox", request.sandbox.id)
        if not record.is_ready:
            return refused(f"sandbox {request.sandbox.id} is not running")
        name = spec["name"]
        if any(
            (o := each.observed).name == name and o.attempt == attempt for each in record.containers
        ):
            return refused(f"the name of attempt {attempt} of container {name} is reserved")
        image = self.find(spec.get("image") or "", request.pod)
        if not image.image_id:
            message = f"image {spec.get('image')} is not present"
            return RuntimeFailure(kind=RuntimeFailureKind.IMAGE_MISSING, message=message)
        behaviour = self._behaviour(request)
        if isinstance(behaviour, RuntimeFailure):
            return behaviour
        observed = ContainerObserved(
            id=f"hollow://{self._id(at, record.pod.uid, record.observed.attempt, name, attempt)}",
            name=name,
            attempt=attempt,
            state=ContainerState.CREATED,
            image=spec.get("image") or "",
            image_id=request.image_id or image.image_id,
            spec_hash=request.spec_hash,
            created_at=at.wall,
            resources=spec.get("resources") or _NO_RESOURCES,
            variables_from=used_objects(request.pod, spec, request.objects),
        )
        self.inventory.add_container(ContainerRecord(record, observed, behaviour))
        self.touched[record.pod.uid] = None
        return observed

    def start(self, record: ContainerRecord, at: Instant) -> ContainerObserved | RuntimeFailure:
        """Start a container that was created. One that runs is left alone."""
        if record.observed.state is not ContainerState.CREATED:
            exited = refused(f"container {record.observed.id} has exited")
            return record.observed if record.is_running else exited
        if not record.sandbox.is_ready:
            return refused(f"sandbox {record.sandbox.observed.id} is not running")
        self.touched[record.sandbox.pod.uid] = None
        self.inventory.change(record, state=ContainerState.RUNNING, started_at=at.wall)
        behaviour = record.behaviour
        ending = behaviour.ending(record.observed.attempt)
        if ending is None or (behaviour.run_for is None and ending is not NOT_STARTED):
            self._prepare_readiness(record, at)
            return record.observed
        runs_for = NO_SECONDS
        if behaviour.run_for is not None and ending is not NOT_STARTED:
            runs_for = self.drawn_for(record, "run_for")
        if not runs_for:
            return self.end(record, ending, at)
        record.end = ContainerEnds(Seconds(at.monotonic + runs_for), record, ending)
        self.schedule.add(record.end)
        self._prepare_readiness(record, at)
        return record.observed

    def end(self, record: ContainerRecord, ending: Ending, at: Instant) -> ContainerObserved:
        """End a running container, and return what is observed of it then."""
        self.schedule.cancel(record.end)
        self.schedule.cancel(record.readiness)
        record.end = record.readiness = None
        self.touched[record.sandbox.pod.uid] = None
        message = record.behaviour.message
        if ending is NOT_STARTED and not message:
            message = "failed to start the container: its command could not be executed"
        return self.inventory.change(
            record,
            state=ContainerState.EXITED,
            finished_at=at.wall,
            exit_code=ending.exit_code,
            reason=ending.reason,
            message=message,
        )

    def end_by(self, record: ContainerRecord, grace: Seconds, now: Instant) -> ContainerEnds:
        """Stop a running container within ``grace``, and return how it ends now.

        It gets SIGTERM, and SIGKILL after that time. Whatever ends it first counts.
        """
        killed_at = Seconds(now.monotonic + max(grace, 0.0))
        end = ContainerEnds(killed_at, record, KILLED)
        if grace > 0 and not record.behaviour.ignores_sigterm:
            ends_at = Seconds(now.monotonic + self.drawn_for(record, "to_stop"))
            if ends_at <= killed_at:
                end = ContainerEnds(ends_at, record, record.behaviour.stop_ending)
        if record.end is not None and record.end.due <= end.due:
            return record.end
        self.schedule.cancel(record.end)
        record.end = end
        self.schedule.add(end)
        self.touched[record.sandbox.pod.uid] = None
        return end

    def signal(self, record: ContainerRecord, signal: str, at: Instant) -> bool:
        """Give a running container a signal. Return whether it ends by it."""
        record.signals = (*record.signals, (at.wall, signal))[-MOST_SIGNALS:]
        is_end = record.behaviour.ends_by_signal == signal
        if is_end:
            self.end(record, ending_of(128 + Signals[signal]), at)
        return is_end

    def become_ready(self, record: ContainerRecord) -> None:
        """Note that a running container serves from now on."""
        record.readiness = None
        self.inventory.change(record, is_ready=True)
        self.touched[record.sandbox.pod.uid] = None

    def remove(self, record: ContainerRecord, at: Instant) -> None:
        """Remove a container; a running one is killed."""
        if record.is_running:
            self.end(record, KILLED, at)
        self.inventory.remove_container(record)
        self.touched[record.sandbox.pod.uid] = None

    def resize(
        self, record: ContainerRecord, request: ResizeContainer
    ) -> ContainerObserved | RuntimeFailure:
        """Give a running container other resources."""
        if not record.is_running:
            return refused(f"container {record.observed.id} is not running")
        if record.behaviour.resize_error:
            return refused(record.behaviour.resize_error)
        self.touched[record.sandbox.pod.uid] = None
        return self.inventory.change(record, resources=request.resources)

    # --- what things take ------------------------------------------------------------------------------

    def drawn_for(self, record: ContainerRecord, field: str) -> Seconds:
        """Return the duration that this attempt of a container has for ``field`` of its behaviour."""
        span = getattr(record.behaviour, field)
        observed = record.observed
        names = (record.sandbox.pod.uid, observed.name, observed.attempt, field)
        return drawn(span, self.rules.seed, *names)

    def _behaviour(self, request: CreateContainer) -> ContainerBehaviour | RuntimeFailure:
        try:
            behaviour = self.behaviours.of_container(request.pod, request.container)
        except UnreadableAnnotationError as error:
            return RuntimeFailure(kind=RuntimeFailureKind.CONFIG, message=str(error))
        return refused(behaviour.create_error) if behaviour.create_error else behaviour

    def _prepare_readiness(self, record: ContainerRecord, at: Instant) -> None:
        wait = self.drawn_for(record, "ready_after")
        if wait:
            self.inventory.change(record, is_ready=False)
            record.readiness = ContainerIsReady(Seconds(at.monotonic + wait), record)
            self.schedule.add(record.readiness)

    def _id(self, at: Instant, *names: object) -> str:
        """Return another id each time, also after a restart of the agent."""
        self._serial += 1
        key = "\0".join(map(str, (self.rules.seed, at.wall, self._serial, *names)))
        return blake2b(key.encode(), digest_size=16).hexdigest()


NO_SECONDS = Seconds(0.0)


def refused(message: str) -> RuntimeFailure:
    """Return that a request was refused."""
    return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=message)


def not_found(what: str, its_id: str) -> RuntimeFailure:
    """Return that there is no such thing."""
    return RuntimeFailure(kind=RuntimeFailureKind.NOT_FOUND, message=f"{what} {its_id}: not found")


def _identity(pod: Pod) -> PodIdentity:
    return PodIdentity(uid=pod.uid, namespace=pod.namespace, name=pod.name, source=pod.source)
