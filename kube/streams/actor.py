"""The actor of the watch streams: it remembers who wants what, and drives the keeper of the streams.

The streams are tasks on the event loop of the process, which tell subscribers directly. Who wants what
outlives a crash: a new life lists everything anew, with the marks of the requests. When a life ends, by a
crash too, subscribers are told that nothing is current until the next life follows their targets, and lists
beside watches are answered LOST.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Key, PooledActor
from kube.api_loop import SharedCredentials
from kube.streams.keeper import KeeperTask, WatchKeeper
from kube.streams.listing import lost_answer
from kube.streams.rules import ConnectionRoom, connections_for, descriptors_lacked
from kube.streams.shared import SharedStreams, WatchMemory
from messages.port import Port
from messages.watches import (
    DescribeWatches,
    ListAllAnew,
    ListTarget,
    Unwatch,
    Watch,
    WatchesMessage,
    WatchFact,
    WatchTarget,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperEnded:
    """The keeper ended by itself, with this bug."""

    bug: BaseException


WatchesOwnMessage: TypeAlias = WatchesMessage | KeeperEnded

WATCHES: Key[WatchesOwnMessage] = Key("watches")

_log = structlog.get_logger("watches")


class WatchError(Exception):
    """Nothing is watched any longer."""


class Watches(PooledActor[WatchesOwnMessage]):
    """Lists and watches every target that somebody wants.

    Owns: who wants what, and the keeper of the streams. That lives on a loop which other agents may share.
    Hears: ``Watch``, ``Unwatch``, ``ListTarget``, ``ListAllAnew``, ``DescribeWatches``; ``KeeperEnded``
    from the loop.
    Tells: subscribers every ``WatchFact`` of their targets; askers ``TargetListed`` and
    ``WatchesDescribed``. All from the loop's thread. At the end of its life, however it ends:
    ``WatchFailed`` for each target that does not fail already, and LOST to those who wait for a list.
    Fails when: there is a bug in the keeper, or the loop ends. Whatever the API server does is a
    ``WatchFailed``.

    Order: facts of one target come in the order of the API server, ``ObjectsAre`` before any change.
    Repetition: a change may be told again after a reconnect, with the version that it was told with.
    ``WatchRecovered`` is told once a stream is open and confirmed, so after the ``ObjectsAre`` of a new
    list. It never waits: streams that are to end are closed while the next life begins.
    """

    def __init__(
        self,
        credentials: SharedCredentials,
        memory: WatchMemory,
        streams: SharedStreams,
        room: ConnectionRoom | None = None,
    ) -> None:
        """``room`` says how many connections there can be. More are tried, and the log is told."""
        self._credentials = credentials
        self._memory = memory
        self._streams = streams
        self._room = room or ConnectionRoom()
        self._task: KeeperTask | None = None

    @override
    def started(self) -> None:
        me = self.me
        self._task = KeeperTask(
            self._streams, self._keeper, ended=lambda bug: me.tell(KeeperEnded(bug=bug))
        )
        self.resources.callback(self._task.close)
        # Subscribers that left while the last life's keeper was ending could not tell it.
        wanted = frozenset(self._memory.subscribers)
        failures = self._memory.failures
        self._task.call(lambda _keeper: failures.keep_only(wanted))
        for target, subscribers in self._memory.subscribers.items():
            mark = self._memory.marks.get(target, 0)
            for subscriber in subscribers:
                self._task.call(_watching(target, subscriber, mark))

    @override
    def receive(self, message: WatchesOwnMessage, /) -> None:
        task = self._task
        assert task is not None  # noqa: S101  # since ``started``
        match message:
            case Watch(target=target, subscriber=subscriber, mark=mark):
                self._memory.want(target, subscriber, mark)
                self._look_for_room()
                task.call(_watching(target, subscriber, mark))
            case Unwatch(target=target, subscriber=subscriber):
                self._memory.forget(target, subscriber)
                task.call(lambda keeper: keeper.unwatch(target, subscriber))
            case ListTarget():
                if not task.call(lambda keeper: keeper.list_once(message)):
                    message.reply_to.tell(lost_answer(message))
            case ListAllAnew():
                task.call(lambda keeper: keeper.list_all_anew())
            case DescribeWatches():
                task.call(lambda keeper: keeper.describe(message))
            case KeeperEnded(bug=bug):
                raise WatchError(f"{type(bug).__name__}: {bug}") from bug
            case _:
                assert_never(message)

    def _look_for_room(self) -> None:
        """Say if there are too few descriptors for all watches: once, and again for twice as many."""
        watches = len(self._memory.subscribers)
        connections = connections_for(watches, self._streams.rules.streams_per_connection)
        lacked = descriptors_lacked(connections, self._room) or 0
        if lacked > self._memory.descriptors_lacked:
            self._memory.descriptors_lacked = lacked
            _log.warning(
                "few descriptors, so some watches may find no connection",
                watches=watches,
                connections=connections,
                room_for=self._room.connections,
                descriptors_needed=lacked,
            )

    def _keeper(self) -> WatchKeeper:
        return WatchKeeper(self._credentials, self._memory, self._streams, self.clock)


def _watching(
    target: WatchTarget, subscriber: Port[WatchFact], mark: int
) -> Callable[[WatchKeeper], None]:
    return lambda keeper: keeper.watch(target, subscriber, mark)
