"""The HTTP source: pods from a URL that is asked again and again.

The actor around pieces that know nothing of it: ``asking`` has the request made on a helper thread, ``fetch``
makes it, ``verdicts`` decides what the answer means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Actor, Key, Port
from manifests.pod_manifest import ManifestRules, decode_document
from manifests.refusals import Refused
from manifests.verdicts import VerdictReport
from messages.pod_runtime import ListRuntimePods, PodsObserved, RuntimePod
from messages.pods import HTTP
from messages.sources import (
    DescribeSource,
    ListPods,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
)
from messages.units import Seconds, Timestamp
from settings.addresses import masked_url
from sources.http.asking import (
    Asking,
    Body,
    FetchCrashed,
    Fetched,
    FetchFailed,
    FetchMessage,
    MakeFetcher,
    Unmodified,
    Validators,
    one_thread,
)
from sources.http.verdicts import HttpState, confirm, judge, refuse
from sources.kept_uids import WAITING, StaticUids
from sources.listings import Listings

WARNINGS: Final = 3
"""So many polls that fail for one reason are logged as warnings until one succeeds; further ones are logged
for debugging (rule H10)."""
MOST_REASONS: Final = 20
"""So many different reasons are warned of until a poll succeeds: a server may fail in ever new ways."""

_log = structlog.get_logger("source/http")


HttpSourceMessage: TypeAlias = SourceMessage | FetchMessage | PodsObserved


def _name_of(message: HttpSourceMessage) -> Hashable | None:
    if isinstance(message, DescribeSource | Fetched | FetchFailed | FetchCrashed):
        return None
    return type(message).__name__


HTTP_SOURCE = Key[HttpSourceMessage]("source/http", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSourceRules:
    """The settings of the HTTP source. The ``repr`` shows neither URL nor headers."""

    url: str = field(repr=False)
    """The manifest URL. May hold a password, or a token in its query."""
    headers: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Headers of each request, with all their values. Often a token."""
    check_frequency: Seconds
    """Time between the beginnings of two requests."""
    ca_file: Path | None
    """PEM of authorities to trust beside the system's."""
    manifests: ManifestRules
    uids: StaticUids | None = None
    """The UIDs that its pods keep; None if they all have their own."""


@dataclass(slots=True)
class HttpMemory:
    """What outlives a life of the HTTP source.

    Above all the pods of the last good body: they must not go when the source crashes while the URL is down.
    """

    state: HttpState = field(default_factory=HttpState)
    validators: Validators | None = None
    """Of the last good body."""
    report: VerdictReport = field(default_factory=lambda: VerdictReport(HTTP))
    last_listed: Timestamp | None = None
    trouble: str = ""
    """Why the last poll failed; empty if it did not."""
    failures: Counter[str] = field(default_factory=Counter)
    """How many polls failed since the last good one, by reason."""


class FetchCrashedError(Exception):
    """A request to the URL failed as it never should: there is a bug."""


class HttpSource(Actor[HttpSourceMessage]):
    """Asks the URL when it starts, at every check, and when it is told to.

    Owns: the verdicts on what the URL answers, the request under way, the time of the next one.
    Hears: ``Fetched``, ``FetchFailed`` and ``FetchCrashed`` from its helper thread, ``Rescan``, ``ListPods``,
    ``PodsJudged``, ``MirrorsJudged``, ``DescribeSource``;
    ``PodsObserved`` of the runtime, if pods may keep the UIDs under which they run.
    Tells: PodManager ``SourceListed`` when the pods differ from those told last, after the first poll of
    each life if any pods are known, and for each ``ListPods``. Who tells people ``VerdictsMayDiffer``. The
    runtime ``ListRuntimePods``: it polls nothing before it knows which UIDs there are.
    Fails when: there is a bug. Whatever the URL answers, or does not, becomes a verdict or an error.

    Order: one request after the other; one that is asked for meanwhile begins when the other is over. Each
    listing is complete, with a higher epoch than the one before. Answers to an earlier life are not heard.
    Repetition: a listing may repeat; unchanged pods are then the identical objects.
    """

    def __init__(
        self,
        rules: HttpSourceRules,
        pod_manager: Port[SourceListed],
        memory: HttpMemory,
        make_fetcher: MakeFetcher,
        make_executor: Callable[[], Executor] = one_thread,
        runtime: Port[ListRuntimePods] | None = None,
    ) -> None:
        """``runtime`` knows what runs; None if nobody does, and no pod keeps the UID of one that does."""
        self._rules = rules
        self._runtime = runtime
        self._pod_manager = pod_manager
        self._memory = memory
        self._make_fetcher = make_fetcher
        self._make_executor = make_executor
        self._url = masked_url(rules.url)
        self._decode = partial(decode_document, rules=rules.manifests)

    @override
    def started(self) -> None:
        rules = self._rules
        self._next_poll = self.alarm(self._poll)
        executor = self._make_executor()
        # Does not wait: a thread in the middle of a request ends as soon as that is broken off.
        self.resources.callback(executor.shutdown, wait=False, cancel_futures=True)
        fetcher = self._make_fetcher(rules.url, rules.headers, rules.ca_file)
        self.resources.callback(fetcher.close)
        self._asking = Asking(self.me, fetcher, executor)
        self._listings = Listings(HTTP, self._pod_manager, self.incarnation)
        if self._is_waiting and self._runtime is not None:
            self._runtime.tell(ListRuntimePods(reply_to=self.me))
        self._next_poll.after(Seconds(0.0))

    @override
    def receive(self, message: HttpSourceMessage, /) -> None:
        match message:
            case Rescan():
                self._poll()
            case PodsObserved(pods=pods):
                self._learn(pods)
            case Fetched() | FetchFailed() | FetchCrashed():
                self._end_poll(message)
            case ListPods():
                self._listings.tell(self._memory.state.pods)
            case PodsJudged() | MirrorsJudged():
                self._memory.report.hear(message)
                self._log_verdicts()
            case DescribeSource(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)

    # Asking.

    @property
    def _is_waiting(self) -> bool:
        return self._rules.uids is not None and self._rules.uids.is_waiting

    def _learn(self, pods: tuple[RuntimePod, ...]) -> None:
        if self._rules.uids is not None and self._is_waiting:
            self._rules.uids.learn(pods)
            self._poll()

    def _poll(self) -> None:
        if self._is_waiting or not self._asking.begin(self._memory.validators):
            return
        self._next_poll.after(self._rules.check_frequency)

    def _end_poll(self, outcome: FetchMessage) -> None:
        match outcome:
            case Fetched(answer=answer):
                self._take(answer)
                self._finish_poll("")
            case FetchFailed(reason=reason, code=code):
                self._refuse(reason, code)
                self._finish_poll(reason)
            case FetchCrashed(error=error):
                raise FetchCrashedError(error)
            case _:
                assert_never(outcome)

    def _finish_poll(self, failure: str) -> None:
        self._note_trouble(failure or self._memory.state.error)
        self._log_verdicts()
        if self._rules.uids is not None:
            self._rules.uids.keep()
        self._listings.tell_if_new(self._memory.state.pods)
        if self._asking.finish():
            self._poll()

    # What the answer means.

    def _take(self, answer: Body | Unmodified) -> None:
        memory = self._memory
        if isinstance(answer, Unmodified):
            memory.state = confirm(memory.state)
        else:
            memory.state = judge(memory.state, answer.data, self._decode, self._url)
        if memory.state.error:
            return
        memory.last_listed = self.clock.wall()
        if isinstance(answer, Body):
            # Those of a good body only (K2): a bad body is not to be answered with "unmodified".
            memory.validators = answer.validators

    def _refuse(self, reason: str, code: RejectReason | None) -> None:
        if code is not None:
            refused = Refused(code=code, reason=reason)
            self._memory.state = refuse(self._memory.state, refused, self._url)

    # What people see.

    def _log_verdicts(self) -> None:
        self._memory.report.log(self._memory.state.verdicts, "Could not process manifest")

    def _note_trouble(self, trouble: str) -> None:
        memory = self._memory
        recovered, memory.trouble = bool(memory.trouble) and not trouble, trouble
        if recovered:
            memory.failures.clear()
            _log.info("manifest URL can be read again", url=self._url)
        elif trouble:
            times = memory.failures[trouble] + 1
            is_counted = times > 1 or len(memory.failures) < MOST_REASONS
            if is_counted:  # not for ever more reasons: each poll may have a new one
                memory.failures[trouble] = times
            is_news = is_counted and times <= WARNINGS
            log = _log.warning if is_news else _log.debug
            log(
                "Failed to read pods from URL",
                url=self._url,
                reason=trouble,
                kept=len(memory.state.pods or ()),
                further="for debugging only" if times == WARNINGS else "",
            )

    def _described(self) -> SourceDescribed:
        memory = self._memory
        trouble = memory.trouble and f"{self._url}: {memory.trouble}"
        return memory.report.described(
            memory.state.verdicts,
            ready=memory.state.pods is not None,
            epoch=self._listings.epoch,
            last_listed=memory.last_listed,
            error=WAITING if self._is_waiting else trouble,
        )
