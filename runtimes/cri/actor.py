"""CriRuntime: the runtime of containers that speaks the Container Runtime Interface.

What each request takes is in ``operations``, what is known is in ``inventory``, and what changes is seen by
``pleg``. This file is the actor around them: who is answered, who is told, and whether the runtime is there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, assert_never

import structlog
from typing_extensions import override

from kernel import Failure, LevelIs, Operation, PooledActor, Unset
from messages.cluster import RUNTIME_CLASSES
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    FindImage,
    FollowContainers,
    LookAtPod,
    PodContainersAre,
    PullImage,
    RuntimeFailure,
)
from messages.container_runtime_health import DescribeContainerRuntime
from messages.pod_runtime import DescribeRuntime
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri.connection import RuntimeConnection
from runtimes.cri.hands import hands
from runtimes.cri.health import HealthReporter
from runtimes.cri.inventory import Seen
from runtimes.cri.messages import (
    CheckHealth,
    Connect,
    CriMemory,
    CriPorts,
    CriRuntimeMessage,
    ForgetPodsBut,
    LookAgain,
    NoteExit,
    Purpose,
    RunningOperation,
    StreamEnded,
    StreamTold,
    WaitingLook,
)
from runtimes.cri.operations.flow import Disk, OperationContext, RpcError, is_away, one_line
from runtimes.cri.operations.requests import answer_to, operation_of, pod_of
from runtimes.cri.pleg import EventStream, Pleg
from runtimes.cri.running_operations import (
    RunningOperations,
    RuntimeFollowers,
    as_runtime_failure,
    uncertain,
)
from runtimes.cri.wire.transport import Wire

HEALTH_EVERY: Final = Seconds(5.0)
HEALTH_SOON: Final = Seconds(1.0)
"""While the runtime or its network is not ready."""
OWN_WITHIN: Final = Seconds(60.0)
"""How long an operation of our own may take: a look, above all. The file system of a pod may hang
meanwhile."""

OVERTIME: Final = Seconds(30.0)
"""How much longer than its deadline a request may take. The wire ends each call in its time, and says what is
known of it: this is for what hangs beside, such as a file system."""

_log = structlog.get_logger("runtime")


class CriRuntime(PooledActor[CriRuntimeMessage]):
    """Carries requests to containerd, CRI-O or another such runtime, and sees what changes.

    Owns: what is known of sandboxes and containers; the requests in progress; the stream of events.
    Hears: ``CallRuntime``, ``AskContainer``, ``FollowContainers``, ``DescribeRuntime``; outcomes of calls and
    of work on the disk; events (coalesced per container, but exits); RuntimeClasses (``LevelIs``);
    ``ForgetPodsBut`` (coalesced).
    Tells: the sender of a call ``RuntimeAnswered`` or ``ContainerAnswered``, once; who finds and pulls images
    the calls about them; followers ``ContainersAre`` when they begin to follow, after a crash, whenever the
    runtime is there again, and when the network is ready or not any more, ``PodContainersAre`` for each pod
    that changed, ``RuntimeIsAway``; who reports the Node ``RuntimeHasNews`` when something else is bad.
    Fails when: it has a bug. Requests go on in the next life with the outcomes that have come meanwhile; the
    one in which it failed is answered as uncertain. Everything is looked at once more.

    Order: answers come before the facts that include them. A look at a pod waits until no other request of
    this pod is in progress. Repetition: requests may repeat as the seam says.
    It never waits: calls and work on the disk are carried out elsewhere, and their outcomes are messages.
    """

    def __init__(
        self, ports: CriPorts, memory: CriMemory, context: OperationContext, wire: Wire, disk: Disk
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._context = context
        self._hands = hands(wire, disk)
        self._stream = EventStream(wire, ports.me, memory)
        self._followers = RuntimeFollowers(memory)
        self._health = HealthReporter(memory, ports)

    @override
    def started(self) -> None:
        memory = self._memory
        self._operations = RunningOperations(
            self.operations(memory.operations, self._handle_end, self._hands)
        )
        self._pleg = Pleg(
            self._context,
            self._stream,
            self._operations,
            self._begin,
            self.alarm(self._look_at_all),
            self._look_later,
        )
        self._connection = RuntimeConnection(
            self._followers,
            self._operations,
            self._stream,
            self._pleg,
            self._begin,
            self.alarm(self._connect_again),
        )
        self._looks_are_late = self.alarm(self._give_up_looks)
        self._health.begin(self.clock.monotonic())
        self._answer_lost()
        if not memory.away:
            self._followers.tell_everything()
        self._connection.start()
        if self._ports.runtime_classes is not None:
            self._ports.runtime_classes.follow(RUNTIME_CLASSES, self._ports.me)
        self.later(HEALTH_EVERY, self._check_health)
        self._set_alarm()

    @override
    def receive(self, message: CriRuntimeMessage, /) -> None:
        match message:
            case CallRuntime() | AskContainer():
                self._memory.handling = message
                self._handle_request(message)
                self._memory.handling = None
            case StreamTold() | StreamEnded():
                self._handle_stream(message)
            case FollowContainers(subscriber=subscriber):
                self._followers.follow(subscriber)
            case LevelIs(value=handlers):
                self._memory.runtime_classes = None if isinstance(handlers, Unset) else handlers
            case ForgetPodsBut(known=known):
                self._forget_but(known)
            case DescribeRuntime() | DescribeContainerRuntime():
                self._health.answer(message, self.clock.monotonic())
            case _:
                assert_never(message)

    def _forget_but(self, known: frozenset[PodUid]) -> None:
        memory = self._memory
        for uid in self._context.pods() - known:
            if not (memory.away or uid in memory.inventory or self._operations.is_changing(uid)):
                self._context.forget(uid)

    def _answer_lost(self) -> None:
        """Answer what the life before failed over, if it does not go on."""
        memory = self._memory
        failed = (each.purpose for each in self._operations.recover() if not each.is_answered)
        lost = {id(each): each for each in (memory.handling, *failed)}
        memory.handling = None
        kept = [*self._operations.purposes(), *(each.call for each in memory.looks)]
        for each in lost.values():
            if isinstance(each, CallRuntime | AskContainer) and not any(
                each is one for one in kept
            ):
                self._followers.answer(each, uncertain("the runtime failed over the request"))

    # --- requests --------------------------------------------------------------------------------------

    def _handle_request(self, message: CallRuntime | AskContainer) -> None:
        memory = self._memory
        if isinstance(message, CallRuntime) and isinstance(message.request, FindImage | PullImage):
            self._ports.images.tell(message)
        elif isinstance(message, CallRuntime) and isinstance(message.request, LookAtPod):
            memory.looks.append(WaitingLook(message, self.clock.monotonic()))
            self._look_for_callers()
        elif memory.away:
            away = uncertain(f"the runtime is away: {memory.away}")
            self._followers.answer(message, replace(away, is_away=True))
        elif isinstance(message, CallRuntime):
            uid = pod_of(message.request, memory.inventory)
            self._begin(message, operation_of(message.request, self._context), uid)
        else:
            self._begin(message, answer_to(message.question, message.deadline, self._context))

    def _look_for_callers(self) -> None:
        """Begin the looks of callers at pods of which nothing is in progress."""
        memory = self._memory
        if memory.away or not memory.looks:
            self._set_alarm()
            return
        waiting, memory.looks = memory.looks, []
        for each in waiting:
            request = each.call.request
            if isinstance(request, LookAtPod) and not self._operations.is_changing(request.uid):
                self._begin(each.call, operation_of(request, self._context))
            else:
                memory.looks.append(each)
        self._set_alarm()

    # --- operations ------------------------------------------------------------------------------------

    def _begin(self, purpose: Purpose, flow: Operation[Any], uid: PodUid | None = None) -> None:
        within = OWN_WITHIN
        if isinstance(purpose, CallRuntime | AskContainer):
            within = Seconds(purpose.deadline + OVERTIME)
        self._operations.begin(RunningOperation(purpose, uid, self.clock.monotonic()), flow, within)

    def _handle_end(self, ended: RunningOperation, result: object) -> None:
        error = result.error if isinstance(result, Failure) else None
        if isinstance(result, Failure):
            result = as_runtime_failure(result, ended.purpose)
        self._handle_result(ended, result)
        if ended.uid is not None and isinstance(ended.purpose, CallRuntime):
            self._followers.tell_others(ended.purpose, ended.uid)
            if isinstance(result, RuntimeFailure):
                # What failed may have left something: a sandbox without a network, a name that is taken.
                self._pleg.look_at(ended.uid)
        if isinstance(error, RpcError) and is_away(error.failure) and not self._memory.away:
            self._connection.lose(error.failure.message)
            self._health.tell_node(self.clock.monotonic())
        self._look_for_callers()

    def _handle_result(self, ended: RunningOperation, result: object) -> None:
        purpose = ended.purpose
        match purpose:
            case CallRuntime() | AskContainer():
                self._answer_with(purpose, result)
                ended.is_answered = True
            case Connect():
                self._memory.inventory.forget_stuck()
                self._connection.greeted(result)
                self._health.tell_node(self.clock.monotonic())
            case LookAgain():
                self._looked(purpose, result, ended.began)
            case NoteExit(uid=uid):
                if result == uid:
                    self._followers.tell_pods((uid,))
                    self._pleg.exit_recorded(uid)
                elif isinstance(result, RuntimeFailure):
                    self._pleg.look_at(uid)
            case CheckHealth():
                self._checked(result)
            case _:
                assert_never(purpose)

    def _answer_with(self, call: CallRuntime | AskContainer, result: object) -> None:
        if isinstance(result, Seen) and result.uid is not None:
            changed = self._memory.inventory.take(result)
            contents = self._memory.inventory.contents(result.uid)
            self._followers.answer(call, PodContainersAre(uid=result.uid, sandboxes=contents))
            self._followers.tell_pods(changed)
        else:
            self._followers.answer(call, result)

    # --- whether the runtime is there ------------------------------------------------------------------

    def _looked(self, purpose: LookAgain, result: object, began: Seconds) -> None:
        seen = result if isinstance(result, Seen) else None
        if seen is not None and seen.uid is None:
            self._health.note_look(began, self.clock.monotonic(), self.clock.wall())
        changed = self._pleg.take(purpose, seen)
        is_away = bool(self._memory.away)
        if isinstance(result, RuntimeFailure) and purpose.uid is None:
            self._connection.lose(f"it does not tell what there is: {result.message}")
        elif seen is None and not is_away:
            self._pleg.look_at(None)  # which tells whether the runtime or this pod is the trouble
        elif purpose.uid is None and is_away:
            self._connection.is_there()
        elif not is_away:
            self._followers.tell_pods(changed)
        self._health.tell_node(self.clock.monotonic())

    def _checked(self, result: object) -> None:
        is_another = self._connection.checked(result)
        if (is_another or not self._followers.knows_network) and not self._memory.away:
            self._followers.tell_everything()
        self._health.tell_node(self.clock.monotonic())

    # --- what changes ----------------------------------------------------------------------------------

    def _handle_stream(self, message: StreamTold | StreamEnded) -> None:
        if not self._stream.is_current(message.stream):
            return
        if isinstance(message, StreamTold):
            happened = message.happened
            self._stream.note_event()
            if happened is not None:
                self._memory.pleg.note_event(happened.at, self.clock.wall())
                self._pleg.happened(happened)
            return
        again_after = self._stream.ended(message.failure)
        if again_after is None:
            return
        _log.debug("the stream of events has ended", reason=one_line(message.failure.message)[:300])
        self.later(again_after, self._open_again, message.stream)
        if not self._memory.away:
            # Whether the runtime is still there, and the same, shows when it is asked.
            self._connection.check()
            self._pleg.look_at(None)

    def _open_again(self, stream: int) -> None:
        if self._stream.is_current(stream) and not self._stream.is_open:
            self._stream.reopen()
            self._pleg.look_at(None)

    # --- in time ---------------------------------------------------------------------------------------

    def _connect_again(self) -> None:
        self._connection.due()

    def _look_at_all(self) -> None:
        self._pleg.due(is_away=bool(self._memory.away))

    def _look_later(self, delay: Seconds, uid: PodUid) -> None:
        self.later(delay, self._look_at, uid)

    def _look_at(self, uid: PodUid) -> None:
        if not self._memory.away:
            self._pleg.look_at(uid)

    def _check_health(self) -> None:
        self._health.examine(self.clock.monotonic())
        self._connection.check()
        self.later(HEALTH_EVERY if self._health.is_well else HEALTH_SOON, self._check_health)

    def _set_alarm(self) -> None:
        dues = [each.since + each.call.deadline for each in self._memory.looks]
        self._looks_are_late.at(Seconds(min(dues)) if dues else None)

    def _give_up_looks(self) -> None:
        """Answer the callers whose looks have waited for too long."""
        now, memory = self.clock.monotonic(), self._memory
        waiting, memory.looks = memory.looks, []
        for each in waiting:
            if each.since + each.call.deadline <= now:
                self._followers.answer(each.call, uncertain("it could not be looked at in time"))
            else:
                memory.looks.append(each)
        self._set_alarm()
