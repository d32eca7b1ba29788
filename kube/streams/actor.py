"""The actor of the watch streams: it remembers who wants what, and drives the loop they run on.

The streams are asyncio tasks on a thread of their own, which tell subscribers directly. Who wants what
outlives a crash: a new life lists everything anew, with the marks of the requests. When a life ends, by a
crash too, subscribers are told that nothing is current until the next life follows their targets, and lists
beside watches are answered LOST.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Actor, Key
from kube.clients import streaming_client
from kube.credentials.access import Credentials
from kube.streams.connections import MakeClient
from kube.streams.keeper import WatchKeeper
from kube.streams.loop import WatchLoop
from kube.streams.memory import WatchMemory
from kube.streams.one_off_list import lost_answer
from kube.streams.room import ConnectionRoom, connections_for, descriptors_lacked
from kube.streams.rules import WatchRules
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
class WatchLoopEnded:
    """The loop ended by itself, with this bug."""

    bug: BaseException


WatchesOwnMessage: TypeAlias = WatchesMessage | WatchLoopEnded

WATCHES: Key[WatchesOwnMessage] = Key("watches")

_log = structlog.get_logger("watches")


class WatchError(Exception):
    """Nothing is watched any longer."""


class Watches(Actor[WatchesOwnMessage]):
    """Lists and watches every target that somebody wants.

    Owns: who wants what, and the loop that all streams run on. Has a thread of its own, since closing the
    streams takes up to a second.
    Hears: ``Watch``, ``Unwatch``, ``ListTarget``, ``ListAllAnew``, ``DescribeWatches``; ``WatchLoopEnded``
    from the loop.
    Tells: subscribers every ``WatchFact`` of their targets; askers ``TargetListed`` and
    ``WatchesDescribed``. All from the loop's thread. At the end of its life, however it ends:
    ``WatchFailed`` for each target that does not fail already, and LOST to those who wait for a list.
    Fails when: there is a bug on the loop. Whatever the API server does is a ``WatchFailed``.

    Order: facts of one target come in the order of the API server, ``ObjectsAre`` before any change.
    Repetition: a change may be told again after a reconnect, with the version that it was told with.
    ``WatchRecovered`` is told once a stream is open and confirmed, so after the ``ObjectsAre`` of a new
    list.
    """

    def __init__(
        self,
        credentials: Credentials,
        memory: WatchMemory,
        rules: WatchRules,
        make_client: MakeClient = streaming_client,
        chance: random.Random | None = None,
        room: ConnectionRoom | None = None,
    ) -> None:
        """``room`` says how many connections there can be. More are tried, and the log is told."""
        self._credentials = credentials
        self._memory = memory
        self._rules = rules
        self._make_client = make_client
        self._chance = chance or random.Random()  # noqa: S311  # spreads load, guards nothing
        self._room = room or ConnectionRoom()
        self._loop: WatchLoop | None = None

    @override
    def started(self) -> None:
        me = self.me
        # Subscribers that left while the last life's loop was ending could not tell it.
        self._memory.failures.keep_only(self._memory.subscribers.keys())
        self._loop = WatchLoop(self._keeper, ended=lambda bug: me.tell(WatchLoopEnded(bug=bug)))
        self.resources.callback(self._loop.close)
        for target, subscribers in self._memory.subscribers.items():
            mark = self._memory.marks.get(target, 0)
            for subscriber in subscribers:
                self._loop.call(_watching(target, subscriber, mark))

    @override
    def receive(self, message: WatchesOwnMessage, /) -> None:
        assert self._loop is not None  # noqa: S101  # since ``started``
        match message:
            case Watch(target=target, subscriber=subscriber, mark=mark):
                self._memory.want(target, subscriber, mark)
                self._look_for_room()
                self._loop.call(_watching(target, subscriber, mark))
            case Unwatch(target=target, subscriber=subscriber):
                self._memory.forget(target, subscriber)
                self._loop.call(lambda keeper: keeper.unwatch(target, subscriber))
            case ListTarget():
                if not self._loop.call(lambda keeper: keeper.list_once(message)):
                    message.reply_to.tell(lost_answer(message))
            case ListAllAnew():
                self._loop.call(lambda keeper: keeper.list_all_anew())
            case DescribeWatches():
                self._loop.call(lambda keeper: keeper.describe(message))
            case WatchLoopEnded(bug=bug):
                raise WatchError(f"{type(bug).__name__}: {bug}") from bug
            case _:
                assert_never(message)

    def _look_for_room(self) -> None:
        """Say if there are too few descriptors for all watches: once, and again for twice as many."""
        watches = len(self._memory.subscribers)
        connections = connections_for(watches, self._rules.streams_per_connection)
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
        return WatchKeeper(
            self._credentials,
            self._memory,
            self._rules,
            self._make_client,
            self._chance,
            self.clock,
        )


def _watching(
    target: WatchTarget, subscriber: Port[WatchFact], mark: int
) -> Callable[[WatchKeeper], None]:
    return lambda keeper: keeper.watch(target, subscriber, mark)
