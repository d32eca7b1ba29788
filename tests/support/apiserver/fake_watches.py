"""Watches as actors see them, over an ``ApiStore``: each fact is told while the change is made.

Lists can be slow, watches can lag, and both can fail. Nothing is tried again by itself: what failed
comes back with ``mend``, or when somebody asks again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeAlias, TypeVar, assert_never

from typing_extensions import override

from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.port import Port
from messages.watches import (
    ListAllAnew,
    ListTarget,
    ObjectsAre,
    TargetListed,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from tests.support.apiserver.fake_failures import failure_of, failure_of_status
from tests.support.apiserver.history import Change, event_of
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.store import ApiStore

T = TypeVar("T")

PicksTarget: TypeAlias = Callable[[WatchTarget], bool]
Outcome: TypeAlias = ObjectsAre | ApiFailure


def any_target(_target: WatchTarget) -> bool:
    """Pick every target."""
    return True


def _names_one_object(target: WatchTarget) -> bool:
    return target.field_selector.startswith("metadata.name=")


def _in_words(verb: str, target: WatchTarget) -> str:
    """Return ``list PATH (SELECTOR)``, as the sentences of failures have it."""
    selector = f" ({target.field_selector})" if target.field_selector else ""
    return f"{verb} {target.path}{selector}"


@dataclass(slots=True, kw_only=True, eq=False)
class Followed:
    """One subscription."""

    target: WatchTarget
    subscriber: Port[WatchFact]
    stop: Callable[[], None] | None = None
    """Ends it at the store; None while it is deaf."""
    version: str = ""
    """Of the last change that it was told; empty until the list that was asked for has come."""
    failure: ApiFailure | None = None
    """What was told last of why it fails."""
    since: float | None = None
    """When it ended; None before."""
    is_listing: bool = False
    lists: int = 0
    """How many were begun: only what the last of them found is told."""


@dataclass(slots=True)
class FakeWatches(Port[Watch | Unwatch | ListTarget | ListAllAnew]):
    """Tells who watches what changes, while it changes; lists at once, unless lists are held."""

    _store: ApiStore
    _as_node: str
    _followed: dict[WatchTarget, list[Followed]] = field(default_factory=dict)
    _marks: dict[WatchTarget, int] = field(default_factory=dict)
    _broken: ApiFailure | None = None
    _breaks: PicksTarget = any_target
    _failures: deque[ApiFailure] = field(default_factory=deque)
    _holds: PicksTarget | None = None
    _holds_answers: bool = False
    _held: deque[Callable[[], None]] = field(default_factory=deque)
    _late: deque[Callable[[], None]] | None = None
    _asked: list[str] = field(default_factory=list)

    @override
    def tell(self, message: Watch | Unwatch | ListTarget | ListAllAnew, /) -> None:
        match message:
            case Watch():
                self._watch(message)
            case Unwatch(target=target, subscriber=subscriber):
                self._forget(target, subscriber)
            case ListTarget(target=target, mark=mark, reply_to=reply_to):
                assert _names_one_object(target), f"{target} is no single object"
                self._send_list(
                    target,
                    mark,
                    lambda outcome: self._tell(
                        reply_to, TargetListed(target=target, mark=mark, outcome=outcome)
                    ),
                )
            case ListAllAnew():
                for followed in self._all():
                    self._list(followed)
            case _:
                assert_never(message)

    @property
    def targets(self) -> list[WatchTarget]:
        """What is wanted at present, in the order of asking, once for each subscriber."""
        return [followed.target for followed in self._all()]

    def asked(self) -> list[str]:
        """Return what the API server was asked for since the last look, in order, and forget it.

        Each is ``list PATH (SELECTOR)`` or ``watch PATH (SELECTOR)``; held and failed ones included.
        """
        asked, self._asked = self._asked, []
        return asked

    def break_off(
        self,
        what: FailureKind | ApiFailure = FailureKind.UNREACHABLE,
        *,
        when: PicksTarget = any_target,
    ) -> None:
        """Tell those that ``when`` picks that their watch failed, and nothing more until ``mend``."""
        self._broken, self._breaks = failure_of(what), when
        for followed in self._all():
            if when(followed.target):
                self._fail(followed, self._broken)

    def mend(self) -> None:
        """Work again: each watch lists anew, and those that had failed recover."""
        self._broken = None
        for followed in self._all():
            self._list(followed)

    def mend_and_resume(self) -> None:
        """Work again: each watch goes on where it was, and is told what it missed.

        One that has no place to go on from, or a forgotten one, lists anew.
        """
        self._broken = None
        for followed in self._all():
            if self._store.remembers(followed.version):
                self._follow(followed)
                self._recover(followed)
            else:
                self._list(followed)

    def fail_lists(self, what: FailureKind | ApiFailure, *, times: int = 1) -> None:
        """Have the next ``times`` lists fail, of watches and others."""
        self._failures.extend([failure_of(what)] * times)

    def hold_lists(self, when: PicksTarget = any_target, *, are_carried_out: bool = False) -> None:
        """Keep the lists of targets that ``when`` picks under way, until ``release_lists``.

        They find what there is when they are released; if they ``are_carried_out``, what there was
        when they were asked for.
        """
        self._holds, self._holds_answers = when, are_carried_out

    def release_lists(self) -> None:
        """Have the lists that were held answered, in order, and hold no more."""
        self._holds = None
        while self._held:
            self._held.popleft()()

    def pause(self) -> None:
        """Keep back whatever there is to tell: the watches lag."""
        if self._late is None:
            self._late = deque()

    def resume(self) -> None:
        """Tell what was kept back, in order, and lag no more."""
        waiting, self._late = self._late or (), None
        for tell in waiting:
            tell()

    def _watch(self, message: Watch) -> None:
        target, known = message.target, self._marks.get(message.target, 0)
        followed = self._of(target, message.subscriber)
        if followed is None:
            followed = Followed(target=target, subscriber=message.subscriber)
            self._followed.setdefault(target, []).append(followed)
        if followed.failure is not None:
            self._tell_failure(followed, followed.failure)
        if followed.is_listing and 0 < message.mark <= known:
            return  # the list under way will do
        self._marks[target] = max(known, message.mark)
        self._list(followed)

    def _of(self, target: WatchTarget, subscriber: Port[WatchFact]) -> Followed | None:
        of_target = self._followed.get(target, ())
        return next((each for each in of_target if each.subscriber == subscriber), None)

    def _all(self) -> tuple[Followed, ...]:
        return tuple(chain.from_iterable(self._followed.values()))

    def _list(self, followed: Followed) -> None:
        self._stop(followed)
        followed.lists += 1
        followed.is_listing = True
        followed.version = ""  # a list is owed, also when this one fails
        self._send_list(
            followed.target,
            self._marks[followed.target],
            partial(self._take_list, followed, followed.lists),
        )

    def _take_list(self, followed: Followed, number: int, outcome: Outcome) -> None:
        if number != followed.lists:
            return
        if isinstance(outcome, ApiFailure):
            self._fail(followed, outcome)
            return
        followed.is_listing = False
        followed.version = outcome.resource_version
        self._tell(followed.subscriber, outcome)
        self._recover(followed)
        self._follow(followed)

    def _send_list(self, target: WatchTarget, mark: int, take: Callable[[Outcome], None]) -> None:
        self._asked.append(_in_words("list", target))
        if self._holds is None or not self._holds(target):
            take(self._found(target, mark))
        elif self._holds_answers:
            self._held.append(partial(take, self._found(target, mark)))
        else:
            self._held.append(lambda: take(self._found(target, mark)))

    def _found(self, target: WatchTarget, mark: int) -> Outcome:
        if self._broken is not None and self._breaks(target):
            return self._broken
        if self._failures:
            return self._failures.popleft()
        request = ApiRequest(
            verb=Verb.GET, path=target.path, query={"fieldSelector": target.field_selector}
        )
        try:
            answer = self._store.handle(request, as_node=self._as_node)
        except StatusError as error:
            return failure_of_status(error, _in_words("list", target))
        kind = self._store.collection(target.path, target.field_selector).kind
        typed = {"apiVersion": kind.api_version, "kind": kind.name}
        return ObjectsAre(
            target=target,
            objects=tuple({**typed, **item} for item in answer["items"]),
            resource_version=answer["metadata"]["resourceVersion"],
            mark=mark,
        )

    def _follow(self, followed: Followed) -> None:
        target = followed.target
        collection = self._store.collection(target.path, target.field_selector)

        def heard(change: Change) -> None:
            followed.version = str(change.version)
            event = event_of(change, collection, target.field_selector)
            if event is not None:
                op, document = event
                fact = WatchEvent(target=target, op=op, object=document)
                self._tell(followed.subscriber, fact)

        self._asked.append(_in_words("watch", target))
        followed.stop = self._store.follow(followed.version, heard)

    def _fail(self, followed: Followed, failure: ApiFailure) -> None:
        self._stop(followed)
        followed.is_listing = False
        standing, followed.failure = followed.failure, failure
        if standing is None or (standing.kind, standing.status) != (failure.kind, failure.status):
            self._tell_failure(followed, failure)

    def _tell_failure(self, followed: Followed, failure: ApiFailure) -> None:
        self._tell(followed.subscriber, WatchFailed(target=followed.target, failure=failure))

    def _recover(self, followed: Followed) -> None:
        if followed.failure is not None:
            followed.failure = None
            self._tell(followed.subscriber, WatchRecovered(target=followed.target))

    def _forget(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        followed = self._of(target, subscriber)
        if followed is None:
            return
        followed.lists += 1  # what a list under way finds is for nobody
        self._stop(followed)
        self._followed[target].remove(followed)
        if not self._followed[target]:
            del self._followed[target], self._marks[target]

    def _stop(self, followed: Followed) -> None:
        stop, followed.stop = followed.stop, None
        if stop is not None:
            stop()

    def _tell(self, port: Port[T], fact: T) -> None:
        if self._late is None:
            port.tell(fact)
        else:
            self._late.append(partial(port.tell, fact))
