"""The probes of a node, turn by turn: what is due, what came back, what counts, and who is told.

It has no thread of its own, so that a test can take its turns. ``loop`` gives it one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

import structlog

from actors.probes.attempts import Attempts, EventFd
from actors.probes.loop_messages import ForgetProbe, NoteRun, ProbeCommand, ProbeEdges, WatchProbe
from actors.probes.names import HostNames
from actors.probes.preparing import PreparedProbe, UnpreparedProbe, prepare
from actors.probes.specs import begin
from actors.probes.tick_queue import TICK, TickQueue, TickRoom, first_due, next_due
from actors.probes.watched import LATE_AFTER, ExecIsDue, ProbeFact, ProbeMemory, WatchedProbe, count
from manifests.handlers import ExecAction
from messages.probing import ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds

MOST_BEGUN: Final = 64
"""Attempts that are begun in one turn. Then the sockets are looked at again."""
MOST_TLS_BEGUN: Final = 4
"""Attempts over TLS that are begun in one tick. Each takes a millisecond or more, in which others wait."""
MOST_TRIES: Final = 3
"""Attempts in a row that fail through no fault of the target, until the probe waits for its next time."""
TOLD_AGAIN_AFTER: Final = Seconds(60.0)
"""How long beyond its timeout a command may take until it is told again, since that may have been lost."""
MOST_SPREAD: Final = Seconds(60.0)
"""Over what the first attempts of a young process are spread at the most, however long their periods are."""
STALL: Final = Seconds(0.05)
"""A turn that begins later than this after it was due comes after a stall of the thread."""
RUNS_OUT_AT: Final = 50.0
"""Attempts a second to one destination, from which on connections are broken off when they end. A closed
connection keeps its port for a minute, and there are some 28,000 of them for each destination."""


_log = structlog.get_logger("probes")


class ProbeEngine:
    """All probes of a node. Belongs to one thread; ``call`` alone may be used by others."""

    def __init__(self, memory: ProbeMemory, edges: ProbeEdges) -> None:
        self._memory = memory
        self._edges = edges
        self._clock = edges.clock
        self._event_fd = EventFd()
        self._commands: deque[ProbeCommand] = deque()
        self._dues: TickQueue[WatchedProbe] = TickQueue()
        self._tls_room = TickRoom(MOST_TLS_BEGUN)
        names = HostNames(self._event_fd.signal, edges.names, edges.look_up)
        self._attempts = Attempts(self._ended, self._event_fd, names, edges.connect)
        self._facts: list[ProbeFact] = []
        self._now = self._clock.monotonic()
        memory.owner = self
        self._has_begun = False

    @property
    def is_current(self) -> bool:
        """Whether no other engine has taken over."""
        return self._memory.owner is self

    def call(self, command: ProbeCommand) -> None:
        """Carry ``command`` out in the next turn."""
        self._commands.append(command)
        self._event_fd.signal()

    def wake(self) -> None:
        """End the wait of the turn in progress."""
        self._event_fd.signal()

    def _take_over(self) -> None:
        """Go on with what the memory has, in the first turn: before, an earlier engine may be in its last."""
        self._has_begun, self._now = True, self._clock.monotonic()
        if self._memory.began is None:
            self._memory.began = self._now
        for watched in self._memory.watched.values():
            self._resume(watched)

    def close(self) -> None:
        """Drop what is in progress. What is known of the probes stays in the memory."""
        self._attempts.close()

    @property
    def fd(self) -> int:
        """What is readable when there is something to do, but for what is due."""
        return self._attempts.fd

    def wait(self) -> float | None:
        """Return the seconds until something is due, as real time; None if nothing is."""
        due = self._next_due()
        has_more = self._facts or self._commands or not self._has_begun
        if has_more or (due is not None and due <= self._clock.monotonic()):
            return 0.0
        return None if due is None else self._clock.real_delay(due)

    def turn(self, longest: float | None = None) -> None:
        """Wait until there is something to do, for at most ``longest`` seconds, and do it."""
        if not self._has_begun:
            self._take_over()
        due, wait = self._next_due(), self.wait()
        if longest is not None:
            wait = longest if wait is None else min(wait, longest)
        events = self._attempts.poll(wait)
        before, self._now = self._now, self._clock.monotonic()
        self._look_for_stall(due, before)
        # Sockets first: an answer that is there in time counts, however late it is looked at.
        self._attempts.proceed(events, self._now)
        while self._commands:
            self._guarded(partial(self._obey, self._commands.popleft()))
        self._attempts.judge(self._now)
        for watched in self._dues.take_due(self._now, MOST_BEGUN):
            self._guarded(partial(self._begin, watched))
        if self._facts:
            facts, self._facts = self._facts, []
            self._edges.tell(facts)

    @staticmethod
    def _guarded(step: Callable[[], None]) -> None:
        """Take a step that is about one probe. A bug in it is no other probe's."""
        try:
            step()
        except Exception:  # noqa: BLE001  # it is logged, and the others go on
            _log.exception("the agent failed over a probe")

    def _next_due(self) -> Seconds | None:
        attempt, deadline = self._dues.next_due(), self._attempts.next_deadline()
        if attempt is None or deadline is None:
            return attempt if deadline is None else deadline
        return min(attempt, deadline)

    def _look_for_stall(self, due: Seconds | None, before: Seconds) -> None:
        """Note a stall. It may have begun at any time since the last turn, so all of that is given back."""
        if due is not None and self._now - max(due, before) > STALL:
            self._memory.lateness.stalls += 1
            self._attempts.note_stall(Seconds(self._now - before))

    # --- commands --------------------------------------------------------------------------------------

    def _obey(self, command: ProbeCommand) -> None:
        match command:
            case WatchProbe():
                self._watch(command)
            case ForgetProbe(key=key):
                self._forget(key)
            case NoteRun():
                self._note(command)
            case _:
                assert_never(command)

    def _watch(self, wanted: WatchProbe) -> None:
        key, spec, target, initial = wanted
        watched = self._memory.watched.get(key)
        if watched is None or watched.spec != spec:
            self._forget(key)
            watched = WatchedProbe(key, spec, target, begin(spec.kind, initial))
            self._memory.watched[key] = watched
            self._prepare(watched)
            self._schedule(watched, self._first_due(watched))
        elif watched.target.container_id != target.container_id:
            self._stop(watched)
            watched.target, watched.count = target, begin(spec.kind, initial)
            watched.told_at, watched.times, watched.tries = None, 0, 0
            watched.is_unknown = False
            self._prepare(watched)
            self._schedule(watched, self._first_due(watched))
        elif watched.target.ip != target.ip:
            # The address is another one: what is in progress is about nobody.
            is_asked = watched.is_asked and not watched.run
            watched.target = target
            self._prepare(watched)
            if is_asked:
                self._stop(watched)
                self._schedule(watched, self._now)
        elif watched.run:
            self._tell_due(watched)

    def _forget(self, key: ProbeKey) -> None:
        watched = self._memory.watched.pop(key, None)
        if watched is not None:
            self._stop(watched)
            self._count_destination(watched, -1)

    def _stop(self, watched: WatchedProbe) -> None:
        """End what is in progress or due."""
        self._dues.discard(watched.tick, watched)
        self._attempts.give_up(watched)
        watched.is_asked, watched.run = False, 0

    def _resume(self, watched: WatchedProbe) -> None:
        """Go on with a probe of an engine that has ended."""
        if watched.run:
            self._tell_due(watched)
            self._schedule_again(watched)
        elif not watched.count.is_held:
            watched.is_asked = False
            self._schedule(watched, watched.due)

    def _prepare(self, watched: WatchedProbe) -> None:
        """Find out what its attempts need, once for all of them."""
        self._count_destination(watched, -1)
        watched.prepared = None
        if not isinstance(watched.spec.handler, ExecAction):
            watched.prepared = prepare(watched.spec, watched.target.ip, self._edges.user_agent)
        self._count_destination(watched, 1)

    def _count_destination(self, watched: WatchedProbe, sign: int) -> None:
        if isinstance(watched.prepared, PreparedProbe):
            place = (watched.prepared.host, watched.prepared.port)
            rates = self._memory.per_second
            rates[place] = rates.get(place, 0.0) + sign / watched.spec.period
            if rates[place] < 1e-6:
                del rates[place]

    # --- when ------------------------------------------------------------------------------------------

    def _first_due(self, watched: WatchedProbe) -> Seconds:
        began, room = self._memory.began, min(watched.spec.period, MOST_SPREAD)
        is_young = began is not None and self._now - began < room
        spread = self._edges.chance.random() * room if is_young else 0.0
        age = self._clock.wall() - watched.target.started_at
        return first_due(watched.spec, age, spread, self._now)

    def _schedule(self, watched: WatchedProbe, due: Seconds) -> None:
        watched.due = due
        if not watched.count.is_held:
            watched.tick = self._dues.add(max(due, self._now), watched)

    def _schedule_next(self, watched: WatchedProbe) -> None:
        due, skipped = next_due(watched.spec, watched.due, self._now)
        self._memory.lateness.skipped += skipped
        self._schedule(watched, due)

    def _schedule_again(self, watched: WatchedProbe) -> None:
        """Have a command told again after a while, unless it has ended by then."""
        again = Seconds(self._now + watched.spec.timeout + TOLD_AGAIN_AFTER)
        watched.tick = self._dues.add(again, watched)

    # --- attempts --------------------------------------------------------------------------------------

    def _begin(self, watched: WatchedProbe) -> None:
        if watched.run:
            self._tell_again(watched)
            return
        prepared = watched.prepared
        is_tls = isinstance(prepared, PreparedProbe) and prepared.is_tls
        if is_tls and not self._tls_room.take(self._now):
            watched.tick = self._dues.add(Seconds(self._now + TICK), watched)
            return
        if not watched.tries:
            self._note_lateness(watched)
        watched.began, watched.is_asked = self._now, True
        if isinstance(watched.spec.handler, ExecAction):
            self._memory.runs += 1
            watched.run = self._memory.runs
            self._tell_due(watched)
            self._schedule_again(watched)
        elif isinstance(prepared, PreparedProbe):
            rate = self._memory.per_second.get((prepared.host, prepared.port), 0.0)
            self._attempts.begin(watched, prepared, self._now, is_reset=rate > RUNS_OUT_AT)
        else:
            why = prepared.why if isinstance(prepared, UnpreparedProbe) else ""
            watched.tries = MOST_TRIES
            self._ended(watched, ProbeOutcome(ProbeResult.UNKNOWN, why))

    def _note_lateness(self, watched: WatchedProbe) -> None:
        late, lateness = max(0.0, self._now - watched.due), self._memory.lateness
        lateness.begun += 1
        lateness.seconds += late
        lateness.longest = max(lateness.longest, late)
        if late > LATE_AFTER:
            lateness.late += 1

    def _tell_again(self, watched: WatchedProbe) -> None:
        """Tell once more of a command that nobody has answered for. One that waits or runs goes on."""
        self._memory.lateness.told_again += 1
        self._tell_due(watched)
        self._schedule_again(watched)

    def _note(self, noted: NoteRun) -> None:
        watched = self._memory.watched.get(noted.key)
        if watched is None or watched.run != noted.run:
            self._memory.lateness.late_notes += 1
            return
        self._dues.discard(watched.tick, watched)
        watched.run = 0
        if noted.took is not None:
            watched.began = Seconds(
                self._now - noted.took
            )  # it may have waited for its turn before
        self._ended(watched, noted.outcome)

    def _ended(self, watched: WatchedProbe, outcome: ProbeOutcome) -> None:
        """Take the outcome of the attempt in progress."""
        watched.is_asked = False
        if outcome.result is ProbeResult.UNKNOWN:
            watched.tries += 1
            if watched.tries < MOST_TRIES:
                watched.tick = self._dues.add(Seconds(self._now + TICK), watched)
                return
        watched.tries = 0
        moment = self._clock.now()
        if news := count(watched, outcome, moment):
            self._facts.append(news)
        if not watched.count.is_held:
            self._schedule_next(watched)

    def _tell_due(self, watched: WatchedProbe) -> None:
        handler = watched.spec.handler
        if isinstance(handler, ExecAction):
            self._facts.append(
                ExecIsDue(
                    watched.key,
                    watched.target.container_id,
                    handler.command,
                    watched.spec.timeout,
                    watched.run,
                )
            )
