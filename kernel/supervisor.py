"""Supervisors: they start, stop and restart children, by OTP's strategies.

A supervisor is a state machine on the control thread. It never waits: reports of its children and timers
move it from one state to the next. Under rest_for_one and one_for_all it restarts children in a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import ParamSpec

import structlog
from typing_extensions import override

from kernel.children import Child, ChildState, Parent
from kernel.clock import Timer
from kernel.endings import Ended, EndReason, Hook, one_line, with_traceback
from kernel.reports import ActorStatus
from kernel.restarts import Again, RestartWindow, decide, is_restarted
from kernel.services import Services
from kernel.specs import DynamicSpec, OnExhausted, Restart, Strategy, SupervisorSpec
from messages.units import Seconds

P = ParamSpec("P")
_log = structlog.get_logger("kernel")


def all_stopped(children: Iterable[Child]) -> bool:
    """Stop the last child that is up. Return True when no child was up.

    Called again at each ending, it stops the children one by one, in exact reverse order.
    """
    for child in reversed(tuple(children)):
        if not child.is_down:
            child.stop()
            return False
    return True


class RestartGroup:
    """Children that are stopped in reverse order, and started again when the backoff is over."""

    __slots__ = ("_is_due", "_is_stopping", "_timer", "first", "members")

    def __init__(self, first: int, members: Sequence[Child], timer: Timer) -> None:
        self.first = first
        """The place of the first member among the children of its supervisor."""
        self.members = members
        self._timer = timer
        self._is_stopping = True
        self._is_due = False

    def waits_for(self, child: Child) -> bool:
        """Return whether the members are being stopped, and ``child`` is one of them."""
        return self._is_stopping and child in self.members

    def go_on_stopping(self) -> bool:
        """Stop the last member that is up. Return whether the group is to start now."""
        if all_stopped(self.members):
            self._is_stopping = False
        return self._is_due and not self._is_stopping

    def due(self) -> bool:
        """Note that the backoff is over. Return whether the group is to start now."""
        self._is_due = True
        return not self._is_stopping

    def cancel(self) -> None:
        """Cancel the timer of the backoff."""
        self._timer.cancel()


class Supervisor(Child, Parent):
    """A child that has children. It starts them in order and stops them in reverse order."""

    def __init__(
        self,
        spec: SupervisorSpec | DynamicSpec,
        services: Services,
        parent: Parent,
    ) -> None:
        super().__init__(spec, services, parent)
        self.type = "supervisor"
        self.strategy = spec.strategy if isinstance(spec, SupervisorSpec) else Strategy.ONE_FOR_ONE
        self.intensity = spec.intensity
        self.period = spec.period
        self.backoff = spec.backoff
        self.children: dict[str, Child] = {}
        self._restarts = RestartWindow(spec.intensity, spec.period)
        self._group: RestartGroup | None = None
        self._failure = ""
        """Why it gives up. Empty while it does not."""
        self._deadline: Timer | None = None
        self._lives = 0
        self._is_finishing = False

    # Called by its own supervisor.

    @override
    def start(self) -> None:
        self.state = ChildState.STARTING
        self._lives += 1
        self._failure = ""
        self._group = None
        self._is_finishing = False
        self._restarts = RestartWindow(self.intensity, self.period)
        for child in self.children.values():
            child.settle(ChildState.WAITING)
        self._later(self._start_next)

    @override
    def stop(self) -> None:
        if self.is_down:
            self.settle(ChildState.STOPPED)
        elif self.state is not ChildState.STOPPING:
            self._guarded(self._wind_up)

    @override
    def abandon(self, why: str) -> None:
        # Before its children go: it restarts none of them any more.
        self._cease()
        for child in reversed(tuple(self.children.values())):
            if not child.is_down:
                child.abandon(why)
        self._later(self._stop_next)

    @override
    def forget(self) -> None:
        for child in self.children.values():
            child.forget()

    # Reports of its children.

    @override
    def child_started(self, child: Child) -> None:
        if self.is_failing(child):
            action = partial(self._note_health, child, child.restarts)
            self.services.set_timer(self.backoff.reset_after, action)
        self._guarded(self._start_next)

    def _note_health(self, child: Child, restarts: int) -> None:
        if child.restarts == restarts and child.state is ChildState.RUNNING:
            self.note_failing(child, failed=False)

    def note_failing(self, child: Child, *, failed: bool) -> None:
        """Note that ``child`` failed too often, or is well again."""
        self.services.failed_loops.note(child.name, failed=failed)

    def is_failing(self, child: Child) -> bool:
        """Whether ``child`` counts as failed, even if it runs at this moment."""
        return child.name in self.services.failed_loops

    @override
    def child_ended(self, child: Child, ended: Ended) -> None:
        self._guarded(self._on_child_ended, child, ended)

    def _on_child_ended(self, child: Child, ended: Ended) -> None:
        is_unwanted = self.is_unwanted(child)
        if is_unwanted:
            self.on_child_gone(child)
        if self.state is ChildState.STOPPING:
            self._stop_next()
        elif is_unwanted:
            return
        elif self._group is not None and self._group.waits_for(child):
            self._stop_group()
        elif is_restarted(child.restart, ended.reason):
            self._restart(child, ended)
        else:
            child.settle(ChildState.STOPPED)
            self.on_child_gone(child)
            self._start_next()

    def is_unwanted(self, child: Child) -> bool:  # noqa: ARG002  # asked of dynamic supervisors
        """Whether ``child`` is stopping for good. Only children of dynamic supervisors ever are."""
        return False

    def on_child_gone(self, child: Child) -> None:
        """React to the end of a ``child`` that is not started again on its own.

        It still is when its group or this supervisor is restarted.
        """
        self.note_failing(child, failed=False)
        self.services.reports.well(child.name, "gone", child.restarts)
        child.forget()

    # Starting, in order.

    def _start_next(self) -> None:
        if self.state not in {ChildState.STARTING, ChildState.RUNNING} or self._group is not None:
            return
        for child in self.children.values():
            if child.state is ChildState.WAITING:
                child.start()
                return
            if child.state is ChildState.STARTING:
                return
        if self.state is ChildState.STARTING:
            self.report_started()

    # Restarting.

    def _restart(self, child: Child, ended: Ended) -> None:
        decision = decide(
            self.services.control.clock.monotonic(),
            self._window_of(child),
            child.streak,
            self.backoff,
            child.on_exhausted,
        )
        if not isinstance(decision, Again):
            self._give_up(f"{child.name} failed too often: {ended.error or ended.reason}")
            return
        child.state = ChildState.FAILED if decision.exhausted else ChildState.BACKOFF
        child.restarts += 1
        if decision.exhausted:
            self.note_failing(child, failed=True)
        self.services.reports.restarted(child.name, ended.reason, decision.delay)
        status = ActorStatus(
            name=child.name, state=child.state, restarts=child.restarts, error=child.last_error
        )
        self.services.reports.troubled(status)
        if self.strategy is Strategy.ONE_FOR_ONE:
            action = partial(self._guarded, self._retry, child)
            child.retry = self.services.set_timer(decision.delay, action)
            self._start_next()
        else:
            self._restart_group(child, decision.delay)

    def _window_of(self, child: Child) -> RestartWindow:
        if child.on_exhausted is OnExhausted.ESCALATE:
            return self._restarts
        if child.window is None:
            child.window = RestartWindow(self.intensity, self.period)
        return child.window

    def _retry(self, child: Child) -> None:
        child.retry = None
        child.start()

    # Restarting several: stop them in reverse, wait for the backoff, start them in order.

    def _restart_group(self, child: Child, delay: Seconds) -> None:
        is_all = self.strategy is Strategy.ONE_FOR_ALL
        first = 0 if is_all else tuple(self.children).index(child.name)
        if self._group is not None:
            first = min(first, self._group.first)
            self._group.cancel()
        timer = self.services.set_timer(delay, partial(self._guarded, self._group_due))
        self._group = RestartGroup(first, tuple(self.children.values())[first:], timer)
        self._stop_group()

    def _stop_group(self) -> None:
        assert self._group is not None  # noqa: S101  # asked only while there is a group
        if self._group.go_on_stopping():
            self._start_group(self._group)

    def _group_due(self) -> None:
        assert self._group is not None  # noqa: S101  # whoever drops it cancels its timer
        if self._group.due():
            self._start_group(self._group)

    def _start_group(self, group: RestartGroup) -> None:
        self._group = None
        for child in group.members:
            if child.restart is not Restart.TEMPORARY:
                child.settle(ChildState.WAITING)
            elif child.state is not ChildState.WAITING:
                self.on_child_gone(child)
        self._start_next()

    # Stopping.

    def fail(self, why: str) -> None:
        """Stop all children and fail, for the reason ``why``. Does nothing when it is stopping or down."""
        if self.state in {ChildState.STARTING, ChildState.RUNNING}:
            self._guarded(self._give_up, why)

    def _give_up(self, why: str) -> None:
        self._cease()
        self._failure = why
        self.services.reports.gave_up(self.name, why)
        self._wind_up()

    def _wind_up(self) -> None:
        self._cease()
        why = f"supervisor {self.name} did not stop within {self.shutdown:g} s"
        action = partial(self._guarded, self.abandon, why)
        self._deadline = self.services.set_timer(self.shutdown, action)
        self._stop_next()

    def _cease(self) -> None:
        """Start and restart no child from here on."""
        self.state = ChildState.STOPPING
        if self._group is not None:
            self._group.cancel()
            self._group = None
        for child in self.children.values():
            if child.is_down:
                child.settle(ChildState.STOPPED)

    def _stop_next(self) -> None:
        if self.state is ChildState.STOPPING and self.stop_children():
            self._finish()

    def stop_children(self) -> bool:
        """Go on stopping the children. Return whether all are down."""
        return all_stopped(self.children.values())

    def _finish(self) -> None:
        if self._is_finishing:
            return
        self._is_finishing = True
        if self._deadline is not None:
            self._deadline.cancel()
        reason = EndReason.FAILED if self._failure else EndReason.SHUTDOWN
        ended = Ended(
            name=self.name,
            incarnation=self._lives,
            reason=reason,
            hook=Hook.CHILDREN if self._failure else None,
            error=self._failure,
        )
        # As an event of its own: the parent may be in the middle of asking this one to stop.
        self.services.control.post(partial(self.report_ended, ended))

    # Its own exceptions take the same path as giving up.

    def _later(self, event: Callable[[], None]) -> None:
        self.services.control.post(partial(self._guarded, event))

    def _guarded(self, event: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            event(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  # rule: a supervisor's own failure is a failure
            _log.error("supervisor failed", actor=self.name, exception=with_traceback(error))
            self._collapse(one_line(error))

    def _collapse(self, why: str) -> None:
        """Give up. If the failure happened while stopping, abandon all children at once."""
        if self.state is not ChildState.STOPPING:
            self._guarded(self._give_up, why)
            return
        self._failure = self._failure or why
        for child in reversed(tuple(self.children.values())):
            with suppress(BaseException):
                child.abandon(why)
        self._stop_next()
