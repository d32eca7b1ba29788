"""The keeper of images: it finds and pulls them for pods, and removes those that nobody uses.

What a pull takes is in ``image_operations``, what a removal takes in ``collecting``; who is told what in
``pull_desk`` and ``garbage_desk``. This file is the actor around them.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

import structlog
from typing_extensions import override

from kernel import PooledActor, Timer
from messages.images import DescribeImages
from messages.units import Seconds
from runtimes.container_runtime import CallRuntime
from runtimes.cri.images.collecting import Collected
from runtimes.cri.images.courses import Course, Crew, ImageStepEnded, RecordJob
from runtimes.cri.images.garbage_desk import GarbageDesk
from runtimes.cri.images.image_memory import (
    GarbageCollection,
    ImageMemory,
    ImageSearch,
    ImageWork,
    RecordReading,
    RecordWriting,
)
from runtimes.cri.images.image_messages import (
    GarbageDue,
    ImageKeeperMessage,
    ImagePorts,
    PullsDue,
)
from runtimes.cri.images.image_operations import PullHelp
from runtimes.cri.images.node_credentials import NodeKeyring
from runtimes.cri.images.options import DEFAULT_IMAGES, ImageOptions
from runtimes.cri.images.pull_desk import UNCERTAIN, PullDesk, answer
from runtimes.cri.images.pull_queue import PullOrder
from runtimes.cri.images.pull_records import PullRecords
from runtimes.cri.images.record_file import remembered, write_records
from runtimes.cri.operations.flow import DiskFailure, Operation

LOOK_EVERY: Final = Seconds(10.0)
"""How often pulls are looked at that are under way."""

_log = structlog.get_logger("images")


class ImageKeeper(PooledActor[ImageKeeperMessage]):
    """Finds and pulls images, and removes those that nobody uses.

    Owns: the pulls that wait or are under way, and who waits for each; who pulled what; when each image was
    used last.
    Hears: ``CallRuntime`` with ``FindImage`` or ``PullImage``; outcomes of its calls and jobs;
    ``DescribeImages``; its own timers.
    Tells: whoever made a call ``RuntimeAnswered``, once; events about pods whose pull takes long, and about
    the Node when images cannot be removed.
    Fails when: it has a bug. The next life goes on with all that is under way. What the last one failed over
    is answered as uncertain.

    Order: pulls begin in the order in which they were first asked for. One pull serves all that ask for the
    same image with the same credentials. Repetition: a call that repeats replaces the one before. It never
    waits and does no I/O: calls go over the wire, and jobs to threads. Calls that come before the records
    of the process before are read wait for them.
    """

    def __init__(
        self, ports: ImagePorts, memory: ImageMemory, options: ImageOptions = DEFAULT_IMAGES
    ) -> None:
        self._memory = memory
        self._options = options
        self._crew = Crew(
            wire=ports.wire,
            disk=ports.disk,
            clerk=ports.clerk,
            me=ports.me,
            now=self._now,
        )
        self._ports = ports
        self._timer: Timer | None = None

    @override
    def started(self) -> None:
        node = NodeKeyring(
            self._options.credentials, self._memory.cache, self._now, self._note_plugin_error
        )
        help_ = PullHelp(
            node=node,
            records=self._memory.records,
            save=self._save,
            deadline=self._options.pulls.deadline,
        )
        self._pulls = PullDesk(
            self._memory, help_, self._options.verification, self._ports.events, self._begin
        )
        self._garbage = GarbageDesk(
            self._memory, self._options, self._ports, self._begin, self._save, self._now
        )
        self._recover()
        if not self._memory.has_records:
            self._read_records()
        if self._options.garbage.is_on:
            self.me.tell(GarbageDue())
        self._go_on()

    @override
    def receive(self, message: ImageKeeperMessage, /) -> None:
        self._memory.in_hand = message
        match message:
            case CallRuntime():
                self._take_call(message)
            case ImageStepEnded():
                self._take_outcome(message)
            case DescribeImages(reply_to=reply_to):
                reply_to.tell(self._memory.figures.described(self._memory.queue))
            case PullsDue():
                self._timer = None
                self._give_up_jobs()
                self._pulls.look(self._now())
            case GarbageDue():
                self.after(self._options.garbage.every, GarbageDue())
                self._give_up_jobs()
                self._garbage.begin()
            case _:
                assert_never(message)
        self._go_on()
        self._memory.in_hand = None

    def _take_call(self, call: CallRuntime) -> None:
        if self._memory.has_records:
            self._pulls.take(call, self._now())
        else:
            self._memory.waiting.append(call)

    def _go_on(self) -> None:
        self._pulls.begin_pulls(self._now())
        if self._timer is None and (len(self._memory.queue) or self._memory.waiting):
            self._timer = self.after(LOOK_EVERY, PullsDue())

    # --- operations ------------------------------------------------------------------------------------

    def _begin(self, work: ImageWork, operation: Operation[Any]) -> None:
        course = self._memory.courses.begin(work, operation, self._crew)
        if course.has_ended:
            self._finish(course)

    def _take_outcome(self, ended: ImageStepEnded) -> None:
        course = self._memory.courses.take(ended, self._crew)
        if course is not None and course.has_ended:
            self._finish(course)

    def _give_up_jobs(self) -> None:
        for ended in self._memory.courses.overdue(self._now()):
            self._take_outcome(ended)

    def _finish(self, course: Course[ImageWork]) -> None:
        match course.owner:
            case ImageSearch() as search:
                self._pulls.finish_search(search, course.result, self._now())
            case PullOrder() as order:
                self._pulls.finish_pull(order, course.result, self._now())
            case GarbageCollection():
                result: Collected = course.result
                self._garbage.finish(result)
            case RecordReading():
                self._take_records(course.result)
            case RecordWriting():
                pass
            case _:
                assert_never(course.owner)
        self._memory.courses.end(course.ref)

    # --- records ---------------------------------------------------------------------------------------

    def _read_records(self) -> None:
        running = [course.owner for course in self._memory.courses]
        if not any(isinstance(owner, RecordReading) for owner in running):
            self._begin(RecordReading(), self._reading())

    def _reading(self) -> Operation[Any]:
        path, directory = self._options.records, self._options.kubelet_records
        outcome = yield RecordJob(lambda: remembered(path, directory))
        return outcome

    def _take_records(self, found: object) -> None:
        memory = self._memory
        memory.has_records = True
        if isinstance(found, PullRecords):
            memory.records.replace_by(found)
        waiting, memory.waiting = memory.waiting, []
        for call in waiting:
            self._pulls.take(call, self._now())

    def _save(self) -> Operation[None]:
        path, data = self._options.records, self._memory.records.encoded()
        if path is None:
            return
        outcome = yield RecordJob(lambda: write_records(path, data))
        trouble = outcome.message if isinstance(outcome, DiskFailure) else ""
        if trouble and trouble != self._memory.writing_trouble:
            _log.warning("records of pulls are not written", file=str(path), reason=trouble)
        elif self._memory.writing_trouble and not trouble:
            _log.info("records of pulls are written again", file=str(path))
        self._memory.writing_trouble = trouble

    # --- after a crash ---------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Answer what the life before failed over, whatever it was doing."""
        memory = self._memory
        failed, memory.in_hand = memory.in_hand, None
        course = memory.courses.take_failed()
        if course is None and isinstance(failed, ImageStepEnded):
            course = memory.courses.end(failed.course)
        given_up = self._give_up(course.owner) if course is not None else ()
        if isinstance(failed, CallRuntime) and not (failed in given_up or self._is_known(failed)):
            answer(failed, UNCERTAIN)

    def _is_known(self, call: CallRuntime) -> bool:
        """Return whether a call will be answered."""
        searches = (course.owner for course in self._memory.courses)
        return (
            call in self._memory.waiting
            or any(call is each.call for each in searches if isinstance(each, ImageSearch))
            or any(call is waiter.call for order in self._memory.queue for waiter in order.waiters)
        )

    def _give_up(self, work: ImageWork) -> tuple[CallRuntime, ...]:
        """Give up an operation, and return the calls that are answered by that."""
        match work:
            case ImageSearch(call=call):
                answer(call, UNCERTAIN)
                return (call,)
            case PullOrder(waiters=waiters):
                calls = tuple(waiter.call for waiter in waiters)
                self._pulls.drop(work)
                return calls
            case RecordReading():
                self._take_records(None)
                return ()
            case GarbageCollection() | RecordWriting():
                return ()
            case _:
                assert_never(work)

    # --- small things ----------------------------------------------------------------------------------

    def _now(self) -> Seconds:
        return self.clock.monotonic()

    def _note_plugin_error(self, plugin: str) -> None:
        self._memory.figures.plugin_errors[plugin] += 1
