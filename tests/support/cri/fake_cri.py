"""A runtime in memory that answers the methods of the CRI, well or as badly as it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from google.protobuf.message import Message

from runtimes.cri.wire import containerd_events_pb2 as containerd
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure, RpcOutcome
from tests.support.cri.fake_machine import CriError, FakeMachine, Happening
from tests.support.cri.fake_replies import reply_of

Answer = Callable[[RpcOutcome], None]
CRI_EVENTS: Final = "GetContainerEvents"
CONTAINERD_EVENTS: Final = "Subscribe"
NEVER: Final = float("inf")


@dataclass(slots=True, kw_only=True)
class Fault:
    """Something that is wrong with a method."""

    method: str
    times: float = 1
    """For so many calls; ``NEVER`` ends it for none."""
    delay: float = 0.0
    """Seconds until the failure is answered, or from the end of what was asked for. ``NEVER``: it hangs."""
    failure: RpcFailure | None = None
    """What is answered, whatever becomes of what was asked for."""
    effect_after: float | None = None
    """Seconds until what was asked for is done, also when nobody waits for it any more. ``NEVER``: it is not,
    and no answer comes but the failure. None: at once, or never with a failure."""
    leaves_half: bool = False
    """A sandbox that was to be made is left, not ready, with its name. So containerd 1.6 leaves one if it is
    killed while it makes it."""
    garbage: Callable[[Any], Message] | None = None
    """Makes the answer another one."""
    of: Callable[[Any], bool] = lambda _: True
    """For which requests."""


@dataclass(slots=True, eq=False)
class FakeStream:
    """A follower of events."""

    method: str
    told: Callable[[Message], None]
    ended: Callable[[RpcFailure | None], None]


@dataclass(slots=True, eq=False)
class FakeCri:
    """Answers each method of the CRI that the agent uses."""

    machine: FakeMachine
    later: Callable[[float, Callable[[], None]], object]
    name: str = "containerd"
    version: str = "1.7.0"
    api_version: str = "v1"
    events: tuple[str, ...] = (CRI_EVENTS, CONTAINERD_EVENTS)
    """Which streams it has. Others are UNIMPLEMENTED."""
    ends_streams: RpcFailure | bool | None = False
    """With which failure, if with any, each stream ends at once. False: none does."""
    loses_events: bool = False
    repeats_events: bool = False
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, Message]] = field(default_factory=list)
    """Every call: its method and its request."""
    streams: list[FakeStream] = field(default_factory=list)
    when_spoilt: Callable[[], object] = lambda: None
    """Is called whenever a fault strikes, and whenever something is done late."""
    execs: dict[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)
    """What commands answer in containers; an empty success for all others."""

    def __post_init__(self) -> None:
        self.machine.tell = self._tell

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return sum(name == method for name, _ in self.asked)

    # --- calls -----------------------------------------------------------------------------------------

    def ask(self, method: str, request: Any, answer: Answer) -> None:
        """Take a call. It is answered once, maybe later, unless it hangs."""
        self.asked.append((method, request))
        fault = self._fault(method, request)
        if fault is None:
            self._carry_out(method, request, answer)
            return

        self.when_spoilt()
        self._spoil(fault, method, request, answer)

    def follow(
        self,
        method: str,
        told: Callable[[Message], None],
        ended: Callable[[RpcFailure | None], None],
    ) -> FakeStream | None:
        """Take a follower; None if it has ended already, by its own ``ended`` of None."""
        self.asked.append((method, cri.GetEventsRequest()))
        if method not in self.events:
            text = f"method {method} not implemented"
            ended(RpcFailure(code=RpcCode.UNIMPLEMENTED, message=text))
            return None
        if not isinstance(self.ends_streams, bool):
            ended(self.ends_streams)
            return None
        stream = FakeStream(method, told, ended)
        self.streams.append(stream)
        return stream

    def end_streams(self, failure: RpcFailure | None = None) -> None:
        """End each stream."""
        ending, self.streams = self.streams, []
        for stream in ending:
            stream.ended(failure)

    # --- inside ----------------------------------------------------------------------------------------

    def _fault(self, method: str, request: Message) -> Fault | None:
        for fault in self.faults:
            if fault.method in {method, "*"} and fault.times > 0 and fault.of(request):
                fault.times -= 1
                return fault
        return None

    def _spoil(self, fault: Fault, method: str, request: Any, answer: Answer) -> None:
        def spoilt(outcome: RpcOutcome) -> None:
            if fault.garbage is not None and not isinstance(outcome, RpcFailure):
                outcome = fault.garbage(outcome)
            self._after(fault.delay, lambda: answer(outcome))

        failure, effect_after = fault.failure, fault.effect_after
        if fault.leaves_half and method == "RunPodSandbox":
            self._carry_out(method, request, self._halve)
            effect_after = NEVER
        if effect_after is None:
            effect_after = NEVER if failure is not None else 0.0
        heard: Answer = spoilt if failure is None else _nobody_hears
        if 0 < effect_after < NEVER:
            self._carry_out_late(effect_after, method, request, heard)
        elif effect_after == 0:
            self._carry_out(method, request, heard)
        if failure is not None:
            self._after(fault.delay, lambda: answer(failure))

    def _halve(self, outcome: RpcOutcome) -> None:
        if isinstance(outcome, cri.RunPodSandboxResponse):
            self.machine.kill_pause(outcome.pod_sandbox_id)

    def _carry_out_late(self, after: float, method: str, request: Any, answer: Answer) -> None:
        """Have the effect later. A name is taken from now on, as long as the work goes on.

        containerd 1.6: of a CreateContainer that was cut short after 4 to 33 ms the container was there
        afterwards, and its name was reserved.
        """
        name = self.machine.name_for(method, request)
        if name in self.machine.names():
            self._carry_out(method, request, answer)  # it is refused
            return
        if name:
            self.machine.reserved[name] = "a call under way"

        machine, boots, called_at = self.machine, self.machine.boots, self.machine.now()

        def effect() -> None:
            if machine.boots == boots:
                self.when_spoilt()
                machine.reserved.pop(name, None)
                machine.called_at = called_at
                self._carry_out(method, request, answer)
                machine.called_at = 0

        self._after(after, effect)

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        if seconds == 0:
            action()
        elif seconds != NEVER:
            self.later(seconds, action)

    def _carry_out(self, method: str, request: Any, answer: Answer) -> None:
        if method == "StopContainer":
            try:
                self.machine.stop_container(
                    request.container_id,
                    request.timeout,
                    lambda: answer(cri.StopContainerResponse()),
                )
            except CriError as error:
                answer(error.failure)
            return
        try:
            reply = self._reply(method, request)
        except CriError as error:
            answer(error.failure)
        else:
            answer(reply)

    def _reply(self, method: str, request: Any) -> Message:
        if method == "Version":
            return cri.VersionResponse(
                version="0.1.0",
                runtime_name=self.name,
                runtime_version=self.version,
                runtime_api_version=self.api_version,
            )
        if method == "ExecSync":
            return self._exec(request)
        return reply_of(self.machine, method, request)

    def _exec(self, request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        if self.machine.container_status(request.container_id).state != cri.CONTAINER_RUNNING:
            raise CriError(RpcCode.OTHER, "container is not running")
        exit_code, output = self.execs.get(tuple(request.cmd), (0, ""))
        self._tell_exec_exit(request.container_id)
        return cri.ExecSyncResponse(exit_code=exit_code, stdout=output.encode())

    # --- events ----------------------------------------------------------------------------------------

    def _tell(self, what: Happening) -> None:
        if self.loses_events:
            return
        for stream in list(self.streams):
            container = self.machine.containers.get(what.id)
            is_end = what.kind == cri.CONTAINER_STOPPED_EVENT
            if container is not None and is_end and stream.method == CRI_EVENTS:
                # Not before the status of the container says so, too.
                pause = container.behaviour.says_running_for + 0.002
                self.later(pause, partial(self._send, stream, what))
            else:
                self._send(stream, what)

    def _send(self, stream: FakeStream, what: Happening) -> None:
        for _ in range(2 if self.repeats_events else 1):
            for event in self._written(what, stream.method):
                stream.told(event)

    def _written(self, what: Happening, method: str) -> Iterator[Message]:
        if method == CONTAINERD_EVENTS:
            yield from envelopes(what)
            return
        event = cri.ContainerEventResponse(
            container_id=what.id, container_event_type=what.kind, created_at=what.at
        )
        if what.sandbox_id in self.machine.sandboxes:
            status = self.machine.sandbox_status(what.sandbox_id)
            event.pod_sandbox_status.CopyFrom(status)
        yield event

    def _tell_exec_exit(self, container_id: str) -> None:
        ended = containerd.TaskExit(container_id=container_id, id="exec-1", exit_status=1)
        for stream in list(self.streams):
            if stream.method == CONTAINERD_EVENTS:
                stream.told(envelope("/tasks/exit", ended))


def _nobody_hears(_: RpcOutcome) -> None:
    """Drop the answer of a call that has failed for its caller."""


def envelopes(what: Happening) -> Iterator[containerd.Envelope]:
    """Yield what containerd itself tells, of the topics that are followed."""
    if what.kind == cri.CONTAINER_STARTED_EVENT:
        yield envelope("/tasks/start", containerd.TaskOOM(container_id=what.id))
    elif what.kind == cri.CONTAINER_DELETED_EVENT:
        yield envelope("/containers/delete", containerd.TaskOOM(container_id=what.id))
    elif what.kind == cri.CONTAINER_STOPPED_EVENT:
        if what.is_oom:
            yield envelope("/tasks/oom", containerd.TaskOOM(container_id=what.id))
        yield task_exit(what.id, what.exit_code, what.at)


def task_exit(container_id: str, exit_code: int, at: int) -> containerd.Envelope:
    """Return the event that a container's first process has ended."""
    ended = containerd.TaskExit(container_id=container_id, id=container_id, exit_status=exit_code)
    ended.exited_at.FromNanoseconds(at)
    return envelope("/tasks/exit", ended)


def envelope(topic: str, event: Message) -> containerd.Envelope:
    """Return an event of containerd's as it is sent."""
    sent = containerd.Envelope(namespace="k8s.io", topic=topic)
    sent.event.type_url = f"containerd.events.{event.DESCRIPTOR.name}"
    sent.event.value = event.SerializeToString()
    return sent
