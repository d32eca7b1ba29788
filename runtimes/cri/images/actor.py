"""The keeper of images: it finds and pulls them for pods, and removes unused ones.

``pulling`` finds and pulls, ``collecting`` removes. This file is the actor around them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final, assert_never

import structlog
from typing_extensions import override

from kernel import Failure, Operation, PooledActor
from messages.container_runtime import CallRuntime
from messages.container_runtime_health import DescribeImages
from messages.units import Seconds
from runtimes.cri.hands import hands
from runtimes.cri.images.collecting import Collected, ImageCollector
from runtimes.cri.images.messages import (
    IMAGE_RECORDS,
    GarbageCollection,
    ImageKeeperMessage,
    ImageMemory,
    ImagePorts,
    ImageSearch,
    ImageWork,
    RecordReading,
    RecordWriting,
)
from runtimes.cri.images.node_credentials import NodeKeyring
from runtimes.cri.images.options import DEFAULT_IMAGES, ImageOptions
from runtimes.cri.images.pull_queue import PullOrder
from runtimes.cri.images.pull_records import PullRecords
from runtimes.cri.images.pulling import UNCERTAIN, ImagePuller, PullHelp, answer
from runtimes.cri.images.record_file import remembered, write_records
from runtimes.cri.operations.flow import DiskError, on_images

LOOK_EVERY: Final = Seconds(10.0)
"""How often pulls are looked at that are under way."""

_log = structlog.get_logger("images")


class ImageKeeper(PooledActor[ImageKeeperMessage]):
    """Finds and pulls images, and removes unused ones.

    Owns: the pulls that wait or are under way, and who waits for each; who pulled what; when each image was
    used last.
    Hears: ``CallRuntime`` with ``FindImage`` or ``PullImage``; outcomes of its calls and jobs;
    ``DescribeImages``.
    Tells: the sender of a call ``RuntimeAnswered``, once; events about pods whose pull takes long, and about
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
        self._ports = ports

    @override
    def started(self) -> None:
        self._operations = self.operations(
            self._memory.operations, self._finish, hands(self._ports.wire, self._ports.disk)
        )
        node = NodeKeyring(
            self._options.credentials, self._memory.cache, self._now, self._note_plugin_error
        )
        save = partial(_save, self._options.records, self._memory)
        help_ = PullHelp(
            node=node,
            records=self._memory.records,
            save=save,
            deadline=self._options.pulls.deadline,
        )
        self._pulls = ImagePuller(
            self._memory,
            help_,
            self._options.verification,
            self._ports.events,
            self._operations.begin,
        )
        self._garbage = ImageCollector(
            self._memory,
            self._options,
            self._ports,
            self._operations.begin,
            save,
            self._now,
        )
        self._next_look = self.alarm(self._look)
        self._recover()
        if not self._memory.has_records:
            self._read_records()
        if self._options.garbage.is_on:
            self.later(Seconds(0.0), self._collect)
        self._go_on()

    @override
    def receive(self, message: ImageKeeperMessage, /) -> None:
        match message:
            case CallRuntime():
                self._memory.handling = message
                self._handle_call(message)
                self._memory.handling = None
            case DescribeImages(reply_to=reply_to):
                reply_to.tell(self._memory.figures.described(self._memory.queue))
            case _:
                assert_never(message)
        self._go_on()

    def _look(self) -> None:
        """Look for pulls that take long, and for pods that cannot wait any longer."""
        self._pulls.look(self._now())
        self._go_on()

    def _collect(self) -> None:
        """Look for unused images, now and from time to time."""
        self.later(self._options.garbage.every, self._collect)
        if not self._is_doing(GarbageCollection):
            self._garbage.begin()
        self._go_on()

    def _handle_call(self, call: CallRuntime) -> None:
        if self._memory.has_records:
            self._pulls.handle(call, self._now())
        else:
            self._memory.waiting.append(call)

    def _go_on(self) -> None:
        self._pulls.begin_pulls(self._now())
        if self._next_look.due is None and (len(self._memory.queue) or self._memory.waiting):
            self._next_look.after(LOOK_EVERY)

    # --- operations ------------------------------------------------------------------------------------

    def _is_doing(self, kind: type[ImageWork]) -> bool:
        return any(isinstance(each, kind) for each in self._operations.purposes())

    def _finish(self, work: ImageWork, result: Any) -> None:
        if isinstance(result, Failure):
            # Its text may show a secret value.
            kind, operation = type(result.error).__name__, type(work).__name__
            _log.error("an operation failed", operation=operation, error=kind, where=result.where)
            self._give_up(work)
        else:
            self._handle_result(work, result)
        self._go_on()

    def _handle_result(self, work: ImageWork, result: Any) -> None:
        match work:
            case ImageSearch():
                self._pulls.finish_search(work, result, self._now())
            case PullOrder():
                self._pulls.finish_pull(work, result, self._now())
            case GarbageCollection():
                found: Collected = result
                self._garbage.finish(found)
            case RecordReading():
                self._handle_records(result)
            case RecordWriting():
                pass
            case _:
                assert_never(work)

    # --- records ---------------------------------------------------------------------------------------

    def _read_records(self) -> None:
        path, directory = self._options.records, self._options.kubelet_records
        if not self._is_doing(RecordReading):
            reading = on_images(lambda: remembered(path, directory), IMAGE_RECORDS)
            self._operations.begin(RecordReading(), reading)

    def _handle_records(self, found: object) -> None:
        memory = self._memory
        memory.has_records = True
        if isinstance(found, PullRecords):
            memory.records.replace_by(found)
        waiting, memory.waiting = memory.waiting, []
        for call in waiting:
            self._pulls.handle(call, self._now())

    # --- after a crash ---------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Answer what the life before failed over, whatever it was doing."""
        memory = self._memory
        failed, memory.handling = memory.handling, None
        given_up = [call for work in self._operations.recover() for call in self._give_up(work)]
        if failed is not None and not (failed in given_up or self._is_known(failed)):
            answer(failed, UNCERTAIN)

    def _is_known(self, call: CallRuntime) -> bool:
        """Return whether a call will be answered."""
        work = self._operations.purposes()
        return (
            call in self._memory.waiting
            or any(call is each.call for each in work if isinstance(each, ImageSearch))
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
                self._handle_records(None)
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


def _save(path: Path | None, memory: ImageMemory) -> Operation[None]:
    """Write the records of pulls. What keeps them from being written is logged once."""
    if path is None:
        return
    data, trouble = memory.records.encoded(), ""
    try:
        yield from on_images(lambda: write_records(path, data), IMAGE_RECORDS)
    except DiskError as error:
        trouble = str(error)
    if trouble and trouble != memory.writing_trouble:
        _log.warning("records of pulls are not written", file=str(path), reason=trouble)
    elif memory.writing_trouble and not trouble:
        _log.info("records of pulls are written again", file=str(path))
    memory.writing_trouble = trouble
