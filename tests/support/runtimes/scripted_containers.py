"""A runtime of containers in memory that does what a test says, and checks what nobody may ever ask for.

It is no actor: it carries out what it is told at once, on the clock of the stage. A test can have it hold
calls, refuse them, or answer that their effect is uncertain; and it can end containers and sandboxes.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TypeAlias, assert_never

from typing_extensions import override

from kernel import Port
from manifests.restart_rules import AfterExit
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    ContainerRuntimeMessage,
    ContainersAre,
    CreateContainer,
    FindImage,
    FollowContainers,
    ImageFound,
    LookAtPod,
    PodContainersAre,
    PodIdentity,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeIsAway,
    RuntimeOutcome,
    RuntimeRequest,
    SandboxContents,
    SignalContainer,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    DescribeRuntime,
    RuntimeDescribed,
    SandboxObserved,
    SandboxState,
)
from messages.pods import PodUid
from messages.units import Timestamp
from runtimes.containers.shape import ContainerPart, PodShape, shape_of
from runtimes.lifecycle_hooks.messages import (
    ForgetHook,
    HookEnded,
    HookKind,
    HookRef,
    HooksMessage,
    RunHook,
    ShortenHook,
)
from tests.support.kernel.clock import ManualClock
from tests.support.runtimes.situations import named


class Deed(Enum):
    """What becomes of one request."""

    DONE = auto()
    HELD = auto()
    """It is carried out when the test says so."""
    DONE_UNCERTAINLY = auto()
    LOST_UNCERTAINLY = auto()
    """It has no effect, and the answer does not say so."""


Directive: TypeAlias = Deed | RuntimeFailure


@dataclass(slots=True)
class ScriptedSandbox:
    """One sandbox."""

    pod: PodIdentity
    observed: SandboxObserved
    shape: PodShape
    containers: dict[str, ContainerObserved] = field(default_factory=dict)

    @property
    def contents(self) -> SandboxContents:
        return SandboxContents(
            pod=self.pod, sandbox=self.observed, containers=tuple(self.containers.values())
        )


class ScriptedContainers(Port[ContainerRuntimeMessage]):
    """Carries out requests, by default at once."""

    def __init__(self, *, assumes_images: bool = True) -> None:
        self.clock: ManualClock | None = None
        self.assumes_images = assumes_images
        self.network_trouble = ""
        self.images: set[str] = set()
        self.hooks = ScriptedHooks(self)
        self.sandboxes: dict[str, ScriptedSandbox] = {}
        self.requests: list[str] = []
        """All requests in few words, but looks."""
        self.created_with: list[CreateContainer] = []
        self.faults: list[str] = []
        """What nobody may ask for, and was asked for."""
        self.stopping: set[PodUid] = set()
        """Pods of which nothing may start any more, as the test says."""
        self.exits_at_once: dict[str, int] = {}
        """By name of the container: it exits with this code as soon as it is started."""
        self.cannot_start: dict[str, str] = {}
        """By name of the container: it cannot be started, and this is why."""
        self.clock_is_behind = 0.0
        """Seconds by which the times that it tells are too early."""
        self.exits_when_stopped = 143
        self.ignores_stop: set[str] = set()
        """Names of containers that only end when they are killed: their stops are held."""
        self._directives: dict[type, deque[Directive]] = {}
        self._held: list[CallRuntime] = []
        self._followers: dict[Port[RuntimeFact], None] = {}
        self._serial = itertools.count(1)
        self._used: set[str] = set()
        self._ended: set[tuple[PodUid, str, str]] = set()
        """Regular containers that ended for good, each with the hash of its specification."""

    # --- what a test says ------------------------------------------------------------------------------

    def next(self, request: type, directive: Directive, times: int = 1) -> None:
        """Say what becomes of the next request of this type."""
        self._directives.setdefault(request, deque()).extend([directive] * times)

    def release(self, first: int | None = None) -> None:
        """Carry out what is held, or only so much of it as was told first."""
        held, self._held = self._held[:first], self._held[len(self._held[:first]) :]
        for call in held:
            self._answer(call, self._carry_out(call.request))

    def lose(self) -> None:
        """Never answer what is held, nor carry it out."""
        self._held = []

    @property
    def held(self) -> list[str]:
        return [named(call.request) for call in self._held]

    def exit(self, name: str, code: int = 0, pod: PodUid | None = None) -> None:
        """Let a running container exit by itself, and tell followers."""
        for each in self.sandboxes.values():
            for one in tuple(each.containers.values()):
                is_it = one.name == name and pod in {None, each.pod.uid}
                if is_it and one.state is ContainerState.RUNNING:
                    self._end(each, one, code)
                    self.tell_pod(each.pod.uid)

    def sandbox_dies(self, uid: PodUid) -> None:
        """Let the sandbox of a pod die, with all that runs in it."""
        for each in self._of(uid):
            each.observed = replace(each.observed, state=SandboxState.NOT_READY)
            for one in tuple(each.containers.values()):
                if one.state is ContainerState.RUNNING:
                    self._end(each, one, 137)
        self.tell_pod(uid)

    def vanish(self, uid: PodUid) -> None:
        """Let somebody else remove all there is of a pod."""
        for each in self._of(uid):
            del self.sandboxes[each.observed.id]
        self.tell_pod(uid)

    def removes(self, instance: str) -> None:
        """Let somebody else remove an instance, by name and attempt."""
        for each in self.sandboxes.values():
            for one in tuple(each.containers.values()):
                if f"{one.name}-{one.attempt}" == instance:
                    del each.containers[one.id]
                    self.tell_pod(each.pod.uid)

    def forgets(self, uid: PodUid) -> None:
        """Let a pod of this UID be another one from now on, since it was forgotten."""
        self.stopping.discard(uid)
        self._used = {name for name in self._used if not name.startswith(f"{uid}/")}
        self._ended = {each for each in self._ended if each[0] != uid}

    def heal(self) -> None:
        """Carry out all that is held, and everything from now on."""
        self._directives.clear()
        self.ignores_stop.clear()
        self.hooks.heal()
        self.release()

    def goes_away(self) -> None:
        self.tell_all(RuntimeIsAway(message="connection refused"))

    def comes_back(self) -> None:
        self.tell_all(self._everything())

    def has_network(self, trouble: str = "") -> None:
        """Say that networks can be made from now on, or what keeps them from it."""
        self.network_trouble = trouble
        self.tell_all(self._everything())

    def tell_pod(self, uid: PodUid) -> None:
        self.tell_all(self._seen(uid))

    def tell_all(self, fact: RuntimeFact) -> None:
        for follower in self._followers:
            follower.tell(fact)

    def alive(self) -> list[str]:
        """Return the containers that run, by name and attempt."""
        return sorted(
            f"{one.name}-{one.attempt}"
            for each in self.sandboxes.values()
            for one in each.containers.values()
            if one.state is ContainerState.RUNNING
        )

    def state_of(self, container_id: str) -> ContainerState | None:
        """Return the state of one instance; None if it is not there."""
        found = self._find(container_id)
        return None if found is None else found[1].state

    def taken(self) -> list[str]:
        """Return the requests since the last look."""
        taken, self.requests = self.requests, []
        return taken

    # --- the seam --------------------------------------------------------------------------------------

    @override
    def tell(self, message: ContainerRuntimeMessage, /) -> None:
        match message:
            case CallRuntime():
                self._take(message)
            case FollowContainers(subscriber=subscriber):
                self._followers[subscriber] = None
                subscriber.tell(self._everything())
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(RuntimeDescribed(name="scripted"))
            case AskContainer():
                raise AssertionError("nobody has questions here")

    def _take(self, call: CallRuntime) -> None:
        request = call.request
        if isinstance(request, LookAtPod):
            self._take_look(call)
            return
        self.requests.append(named(request))
        self._check_stop(request)
        self._check_last_hook(request)
        match self._directive(request):
            case Deed.DONE:
                self._answer(call, self._carry_out(request))
            case Deed.HELD:
                self._held.append(call)
            case Deed.DONE_UNCERTAINLY:
                self._carry_out(request)
                self._answer(call, UNCERTAIN)
            case Deed.LOST_UNCERTAINLY:
                self._answer(call, UNCERTAIN)
            case RuntimeFailure() as failure:
                self._answer(call, failure)

    def _take_look(self, call: CallRuntime) -> None:
        """Answer a look, as the seam says, when nothing is in progress: a test releases it with the rest."""
        directive = self._directive(call.request)
        if isinstance(directive, RuntimeFailure):
            self._answer(call, directive)
        elif self._held:
            self._held.append(call)
        else:
            self._answer(call, self._carry_out(call.request))

    def _directive(self, request: RuntimeRequest) -> Directive:
        if directives := self._directives.get(type(request)):
            return directives.popleft()
        if isinstance(request, StopContainer) and request.grace > 0:
            found = self._find(request.id)
            if found is not None and found[1].name in self.ignores_stop:
                return Deed.HELD
        return Deed.DONE

    def _answer(self, call: CallRuntime, outcome: RuntimeOutcome) -> None:
        call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))

    # --- requests --------------------------------------------------------------------------------------

    def _carry_out(self, request: RuntimeRequest) -> RuntimeOutcome:
        carry_out: Callable[..., RuntimeOutcome] = getattr(self, f"_{type(request).__name__}")
        return carry_out(request)

    def _RunSandbox(self, request: RunSandbox) -> RuntimeOutcome:  # noqa: N802
        pod = request.pod
        self._check(
            not any(each.observed.state is SandboxState.READY for each in self._of(pod.uid)),
            f"a second sandbox of {pod.name}",
        )
        self._use(f"{pod.uid}/{request.attempt}")
        observed = SandboxObserved(
            id=f"s{next(self._serial)}",
            attempt=request.attempt,
            state=SandboxState.READY,
            created_at=self._now(),
            ips=("10.0.0.7",),
        )
        identity = PodIdentity(
            uid=pod.uid, namespace=pod.namespace, name=pod.name, source=pod.source
        )
        self.sandboxes[observed.id] = ScriptedSandbox(identity, observed, shape_of(pod))
        return observed

    def _StopSandbox(self, request: StopSandbox) -> RuntimeOutcome:  # noqa: N802
        each = self.sandboxes.get(request.id)
        if each is not None:
            each.observed = replace(each.observed, state=SandboxState.NOT_READY, ips=())
            for one in tuple(each.containers.values()):
                if one.state is ContainerState.RUNNING:
                    self._end(each, one, 137)
        return None

    def _RemoveSandbox(self, request: RemoveSandbox) -> RuntimeOutcome:  # noqa: N802
        self.sandboxes.pop(request.id, None)
        return None

    def _SignalContainer(self, request: SignalContainer) -> RuntimeOutcome:  # noqa: N802
        found = self._find(request.id)
        if found is None or found[1].state is not ContainerState.RUNNING:
            return RuntimeFailure(kind=RuntimeFailureKind.NOT_FOUND, message="it has ended")
        return None

    def _LookAtPod(self, request: LookAtPod) -> RuntimeOutcome:  # noqa: N802
        return self._seen(request.uid)

    def _FindImage(self, request: FindImage) -> RuntimeOutcome:  # noqa: N802
        is_there = request.image in self.images
        return ImageFound(image_id=f"sha256:{request.image}" if is_there else "")

    def _PullImage(self, request: PullImage) -> RuntimeOutcome:  # noqa: N802
        self.images.add(request.image)
        return ImageFound(image_id=f"sha256:{request.image}", size=17)

    def _CreateContainer(self, request: CreateContainer) -> RuntimeOutcome:  # noqa: N802
        self.created_with.append(request)
        each = self.sandboxes.get(request.sandbox.id)
        name = request.container["name"]
        if each is None or each.observed.state is not SandboxState.READY:
            return RuntimeFailure(kind=RuntimeFailureKind.NOT_FOUND, message="no such sandbox")
        self._use(f"{each.pod.uid}/{name}/{request.attempt}")
        one = ContainerObserved(
            id=f"c{next(self._serial)}",
            name=name,
            attempt=request.attempt,
            state=ContainerState.CREATED,
            image=request.container["image"],
            image_id=request.image_id,
            spec_hash=request.spec_hash,
            created_at=self._now(),
        )
        each.containers[one.id] = one
        return one

    def _StartContainer(self, request: StartContainer) -> RuntimeOutcome:  # noqa: N802
        found = self._find(request.id)
        if found is None:
            return NOT_FOUND
        each, one = found
        self._check_order(each, one)
        self._check(one.state is ContainerState.CREATED, f"{one.name} was started twice")
        others = [
            other
            for sandbox in self._of(each.pod.uid)
            for other in sandbox.containers.values()
            if other.name == one.name and other.state is ContainerState.RUNNING
        ]
        self._check(not others, f"two instances of {one.name} run")
        if one.name in self.cannot_start:
            self._end(each, one, 128)
            ended, message = each.containers[one.id], self.cannot_start[one.name]
            each.containers[one.id] = replace(ended, reason="StartError", message=message)
            return each.containers[one.id]
        running = replace(one, state=ContainerState.RUNNING, started_at=self._now())
        each.containers[one.id] = running
        if one.name in self.exits_at_once:
            self._end(each, running, self.exits_at_once[one.name])
        return each.containers[one.id]

    def _StopContainer(self, request: StopContainer) -> RuntimeOutcome:  # noqa: N802
        found = self._find(request.id)
        if found is None:
            return None
        each, one = found
        if one.state in {ContainerState.RUNNING, ContainerState.UNKNOWN}:
            self._end(each, one, self.exits_when_stopped)
        earlier = [
            call
            for call in self._held
            if isinstance(call.request, StopContainer) and call.request.id == one.id
        ]
        self._held = [call for call in self._held if call not in earlier]
        for call in earlier:
            self._answer(call, each.containers[one.id])
        return each.containers[one.id]

    def _RemoveContainer(self, request: RemoveContainer) -> RuntimeOutcome:  # noqa: N802
        found = self._find(request.id)
        if found is not None:
            del found[0].containers[request.id]
        return None

    def _ResizeContainer(self, request: ResizeContainer) -> RuntimeOutcome:  # noqa: N802
        found = self._find(request.id)
        return NOT_FOUND if found is None else found[1]

    # --- inside ----------------------------------------------------------------------------------------

    def _end(self, each: ScriptedSandbox, one: ContainerObserved, code: int) -> None:
        shape = each.shape.get(one.name)
        if (
            shape is not None
            and shape.part is ContainerPart.REGULAR
            and shape.behaviour.after(code) is AfterExit.ENDED
            and not each.shape.restarts_all
        ):
            self._ended.add((each.pod.uid, one.name, one.spec_hash))
        each.containers[one.id] = replace(
            one,
            state=ContainerState.EXITED,
            finished_at=self._now(),
            exit_code=code,
            reason="Error" if code else "Completed",
        )

    def _find(self, container_id: str) -> tuple[ScriptedSandbox, ContainerObserved] | None:
        for each in self.sandboxes.values():
            if container_id in each.containers:
                return each, each.containers[container_id]
        return None

    def _of(self, uid: PodUid) -> list[ScriptedSandbox]:
        return [each for each in self.sandboxes.values() if each.pod.uid == uid]

    def _seen(self, uid: PodUid) -> PodContainersAre:
        newest_first = reversed(self._of(uid))
        return PodContainersAre(uid=uid, sandboxes=tuple(each.contents for each in newest_first))

    def _everything(self) -> ContainersAre:
        return ContainersAre(
            sandboxes=tuple(each.contents for each in self.sandboxes.values()),
            name="scripted",
            version="1.2.3",
            assumes_images=self.assumes_images,
            network_trouble=self.network_trouble,
        )

    def _check_stop(self, request: RuntimeRequest) -> None:
        match request:
            case RunSandbox(pod=pod) | CreateContainer(pod=pod):
                uid = pod.uid
            case StartContainer(id=container_id) if found := self._find(container_id):
                uid = found[0].pod.uid
            case _:
                return
        self._check(uid not in self.stopping, f"after the stop of {uid}: {named(request)}")

    def _check_last_hook(self, request: RuntimeRequest) -> None:
        """Check that a container is not stopped gracefully before its hook was called."""
        found = self._find(request.id) if isinstance(request, StopContainer) else None
        if not isinstance(request, StopContainer) or found is None or request.grace <= 0:
            return
        each, one = found
        shape = each.shape.get(one.name)
        if one.state is ContainerState.RUNNING and shape is not None and shape.pre_stop:
            ref = HookRef(each.pod.uid, one.id, HookKind.PRE_STOP)
            self._check(self.hooks.was_called(ref), f"{one.name} is stopped before its hook")

    def _check_order(self, each: ScriptedSandbox, one: ContainerObserved) -> None:
        """Check that init containers and sidecars before this container are as far as they should be."""
        shape = each.shape.get(one.name)
        ended = (each.pod.uid, one.name, one.spec_hash)
        self._check(ended not in self._ended, f"{one.name} had ended for good")
        if shape is None or shape.part is ContainerPart.EPHEMERAL or self._has_begun(each):
            return
        for earlier in each.shape.inits:
            if earlier.name == one.name:
                return
            instances = [two for two in each.containers.values() if two.name == earlier.name]
            newest = max(instances, key=lambda two: two.attempt, default=None)
            is_over = newest is not None and (
                any(self._has_counted(each, two) for two in instances)
                if earlier.part is ContainerPart.SIDECAR
                else newest.exit_code == 0
            )
            self._check(is_over, f"{one.name} was started before {earlier.name} was over")

    def _has_counted(self, each: ScriptedSandbox, one: ContainerObserved) -> bool:
        """Return whether an instance was started, and its hook succeeded if it has one."""
        shape = each.shape.get(one.name)
        has_hook = shape is not None and shape.post_start is not None
        ref = HookRef(each.pod.uid, one.id, HookKind.POST_START)
        return one.started_at is not None and (not has_hook or self.hooks.has_succeeded(ref))

    def _has_begun(self, each: ScriptedSandbox) -> bool:
        regular = {shape.name for shape in each.shape.regular}
        return any(
            one.name in regular and one.state is not ContainerState.CREATED
            for one in each.containers.values()
        )

    def _use(self, name: str) -> None:
        self._check(name not in self._used, f"{name} was used twice")
        self._used.add(name)

    def _check(self, is_right: bool, fault: str) -> None:  # noqa: FBT001
        if not is_right:
            self.faults.append(fault)

    def _now(self) -> Timestamp:
        assert self.clock is not None
        return Timestamp(self.clock.wall() - self.clock_is_behind)


class ScriptedHooks(Port[HooksMessage]):
    """Carries out the hooks of scripted containers: by default at once, with success.

    It carries each out once, and checks that its container runs and its pod is not being stopped.
    """

    def __init__(self, containers: ScriptedContainers) -> None:
        self._containers = containers
        self.called: list[str] = []
        """All hooks in few words."""
        self.holds: set[HookKind] = set()
        """Kinds of hooks that end when the test says so."""
        self.failures: dict[HookKind, str] = {}
        self.held: dict[HookRef, RunHook] = {}
        self.loses_ends = False
        """Whether what is told of ends is lost, as in a crash over it."""
        self._ended: dict[HookRef, HookEnded] = {}
        self._ever: set[HookRef] = set()
        self._succeeded: set[HookRef] = set()

    @override
    def tell(self, message: HooksMessage, /) -> None:
        match message:
            case RunHook():
                self._run(message)
            case ShortenHook(ref=ref, within=within):
                self.called.append(f"{ref.kind} of {ref.container_id} only {within:g}")
                if ref in self.held and within <= 0:
                    self._end(self.held.pop(ref), "given up")
            case ForgetHook(ref=ref):
                if ref in self.held:
                    self.called.append(f"{ref.kind} of {ref.container_id} no more")
                    del self.held[ref]
                self._ended.pop(ref, None)
            case _:
                assert_never(message)

    def release(self, failure: str = "") -> None:
        """Let what is held end."""
        held, self.held = self.held, {}
        for request in held.values():
            self._end(request, failure)

    def lose(self) -> None:
        """Never answer what is held."""
        self.held.clear()

    def heal(self) -> None:
        """Carry out all hooks from now on, with success, and tell of their ends."""
        self.holds.clear()
        self.failures.clear()
        self.loses_ends = False
        self.release()

    def was_called(self, ref: HookRef) -> bool:
        return ref in self._ever

    def has_succeeded(self, ref: HookRef) -> bool:
        return ref in self._succeeded

    def taken(self) -> list[str]:
        """Return what was called since the last look."""
        taken, self.called = self.called, []
        return taken

    def _run(self, request: RunHook) -> None:
        ref = request.ref
        if ref in self._ended:
            request.reply_to.tell(self._ended[ref])
        if ref in self._ever:
            return
        self._check(request)
        self.called.append(f"{ref.kind} of {ref.container_id} within {request.within:g}")
        if ref.kind in self.holds:
            self.held[ref] = request
        else:
            self._end(request, self.failures.get(ref.kind, ""))

    def _end(self, request: RunHook, failure: str) -> None:
        ended = self._ended[request.ref] = HookEnded(ref=request.ref, failure=failure)
        if not failure:
            self._succeeded.add(request.ref)
        if not self.loses_ends:
            request.reply_to.tell(ended)

    def _check(self, request: RunHook) -> None:
        ref = request.ref
        where = f"{ref.kind} of {ref.container_id}"
        state = self._containers.state_of(ref.container_id)
        faults = self._containers.faults
        if state is not ContainerState.RUNNING:
            faults.append(f"{where} is called, though it is {state}")
        if ref.kind is HookKind.POST_START and ref.uid in self._containers.stopping:
            faults.append(f"{where} is called after the stop of its pod")
        self._ever.add(ref)


UNCERTAIN = RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message="no answer in time")
NOT_FOUND = RuntimeFailure(kind=RuntimeFailureKind.NOT_FOUND, message="no such container")
REFUSED = RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message="the runtime said no")
