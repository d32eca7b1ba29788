"""Dynamic children: they come and go while their supervisor runs, one for each watched object, say.

A child stays wanted from ``StartChild`` until ``StopChild`` or until it ends for good. A supervisor that
is restarted starts its wanted children again, so nobody else has to notice that it had failed. All dynamic
children of a supervisor count as one loop: see ``loops``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel.children import ActorChild, Child, ChildState, Parent
from kernel.current import current_incarnation
from kernel.endings import Ended
from kernel.mailbox import title_of
from kernel.ports import Port
from kernel.reports import are_most_failing, dynamic_loop_name
from kernel.services import Services
from kernel.specs import ChildSpec, DynamicSpec
from kernel.supervisor import Supervisor

_log = structlog.get_logger("kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChild:
    """Start a child. Does nothing to a child that is up or about to start, so it may be repeated.

    A child that is just stopping is started again once it has ended. Messages to its address are kept
    for the new life meanwhile.
    """

    spec: ChildSpec[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChild:
    """Stop the child of this path and close its address. Does nothing when there is none."""

    path: str


DynamicMessage: TypeAlias = StartChild | StopChild


class DynamicSupervisor(Supervisor):
    """A supervisor of dynamic children. It starts and stops them all at the same time."""

    def __init__(self, spec: DynamicSpec, services: Services, parent: Parent) -> None:
        super().__init__(spec, services, parent)
        self._successors: dict[str, ChildSpec[Any]] = {}
        """Children to start once the child of the same path, which is stopping, has ended."""
        self._unwanted: set[str] = set()
        """Children that are stopping for good."""
        self._failing: set[str] = set()
        """Children that failed too often and have not been healthy since."""
        self._left_to_stop: set[Child] | None = None
        """Children that are still up while all are being stopped. A set that shrinks: looking through
        ten thousand children at each ending would take ten thousand times as long."""
        self.is_gone = False
        """It will not be started again: messages to it are dead letters."""

    def handle(self, message: DynamicMessage) -> None:
        """Carry out one message. Runs on the control thread."""
        self._guarded(self._handle, message)

    def _handle(self, message: DynamicMessage) -> None:
        match message:
            case StartChild(spec=spec):
                self._add(spec)
                self.services.addresses.expect(spec.key, -1)
            case StopChild(path=path):
                self._remove(path)
            case _:
                assert_never(message)

    def _add(self, spec: ChildSpec[Any]) -> None:
        if spec.name in self._unwanted:
            self._successors[spec.name] = spec
            return
        if spec.name in self.children:
            return
        if self.services.addresses.cell(spec.key).owner is not None:
            _log.error("child refused: its name is taken", actor=spec.name, supervisor=self.name)
            return
        child = ActorChild(spec, self.services, self)
        self.children[spec.name] = child
        self._judge()
        if self.state is ChildState.RUNNING:
            child.start()

    def _remove(self, path: str) -> None:
        self._successors.pop(path, None)
        child = self.children.get(path)
        if child is None:
            return
        child.stop()
        if child.is_down:
            self.on_child_gone(child)
        else:
            self._unwanted.add(path)

    @override
    def on_child_gone(self, child: Child) -> None:
        self._unwanted.discard(child.name)
        self.children.pop(child.name, None)
        self.note_failing(child, failed=False)
        self.services.reports.well(child.name, "gone", child.restarts)
        successor = self._successors.pop(child.name, None)
        self.services.addresses.forget(child.name, is_wanted=successor is not None)
        if successor is not None:
            self._add(successor)

    @override
    def note_failing(self, child: Child, *, failed: bool) -> None:
        if failed:
            self._failing.add(child.name)
        else:
            self._failing.discard(child.name)
        self._judge()

    @override
    def is_failing(self, child: Child) -> bool:
        return child.name in self._failing

    def _judge(self) -> None:
        failing = are_most_failing(len(self._failing), len(self.children))
        self.services.failed_loops.note(dynamic_loop_name(self.name), failed=failing)

    @override
    def is_unwanted(self, child: Child) -> bool:
        return child.name in self._unwanted

    @override
    def _start_next(self) -> None:
        # Once the supervisor runs, each child starts when it is asked for and waits for no other.
        if self.state is not ChildState.STARTING:
            return
        self.report_started()
        for child in tuple(self.children.values()):
            if child.state is ChildState.WAITING:
                child.start()

    @override
    def start(self) -> None:
        self._left_to_stop = None
        self.is_gone = False
        super().start()

    @override
    def forget(self) -> None:
        self.is_gone = True
        super().forget()

    @override
    def child_ended(self, child: Child, ended: Ended) -> None:
        if self._left_to_stop is not None:
            self._left_to_stop.discard(child)
        super().child_ended(child, ended)

    @override
    def stop_children(self) -> bool:
        if self._left_to_stop is None:
            for child in self.children.values():
                child.stop()
            self._left_to_stop = {child for child in self.children.values() if not child.is_down}
        return not self._left_to_stop


class DynamicPort(Port[DynamicMessage]):
    """The address of a dynamic supervisor. It has no mailbox: messages go to the control thread."""

    __slots__ = ("_supervisor",)

    def __init__(self, supervisor: DynamicSupervisor) -> None:
        self._supervisor = supervisor

    @override
    def tell(self, message: DynamicMessage, /) -> None:
        supervisor, sender = self._supervisor, current_incarnation()
        services = supervisor.services
        if sender is not None and sender.is_cut_off:
            services.telemetry.dead_letter(
                supervisor.name, title_of(message), "told by an ended actor"
            )
        elif supervisor.is_gone:
            services.telemetry.dead_letter(supervisor.name, title_of(message), "address closed")
        else:
            if isinstance(message, StartChild):
                # Here, and not only when the message is handled: so what the same sender tells the
                # child next is kept, even while a child of the same path is stopping.
                services.addresses.expect(message.spec.key, 1)
            services.control.post(partial(supervisor.handle, message))
