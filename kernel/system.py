"""The actor system: one tree of actors, its addresses, and the way in from outside.

All code that is not an actor (``run.py``, HTTP handlers, tests) comes in through here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import pykka
import structlog
from typing_extensions import override

from kernel.cell import Cell
from kernel.children import ActorChild, Child, ChildState, Parent
from kernel.clock import Clock
from kernel.current import current_incarnation
from kernel.dynamic import DynamicPort, DynamicSupervisor
from kernel.endings import Ended, EndReason
from kernel.mailbox import Crash, Envelope, Fence, ReplyPort
from kernel.ports import AskInsideActorError, AskTimeoutError, Key, Port
from kernel.reports import EndingsObserver, FailedLoopsObserver, StatusesObserver
from kernel.runtimes import Runtime, Threads
from kernel.services import Services
from kernel.specs import AnySpec, ChildSpec, DynamicSpec, SupervisorSpec
from kernel.supervisor import Supervisor
from kernel.tree import ActorDescription, TreeSummary, described, family, summarized
from messages.units import Seconds

M = TypeVar("M")
A = TypeVar("A")

EXIT_STOPPED = 0
EXIT_UNCLEAN = 1
"""An actor was abandoned while the tree stopped."""
EXIT_FAILED = 70
"""The root supervisor gave up; EX_SOFTWARE of sysexits.h."""

_log = structlog.get_logger("kernel")


class ActorSystem(Parent):
    """Runs the tree of ``spec``. Start it once, stop it, and ``wait`` for its exit code."""

    def __init__(
        self,
        spec: SupervisorSpec,
        *,
        clock: Clock | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._services = Services(clock, runtime or Threads(), self._fail)
        self.control = self._services.control
        self.clock = self.control.clock
        self.telemetry = self._services.telemetry
        self.addresses = self._services.addresses
        self._runtime = self._services.runtime
        self._dynamic: dict[str, DynamicPort] = {}
        self._abandoned_while_stopping = False
        self._is_started = threading.Event()
        self._finished = threading.Event()
        self._exit_code = EXIT_STOPPED
        self.on_milestone: Callable[[], None] = _ignore_milestone
        """Called on the control thread when the tree is up, and when it is down. Set it before ``start``."""
        self.observe_endings(self._note_abandoned)
        root = self._build(spec, self)
        assert isinstance(root, Supervisor)  # noqa: S101  # of a SupervisorSpec
        self._root = root

    # From outside.

    def start(self) -> None:
        """Begin to start the tree. Returns at once; ``wait_started`` waits until it is up."""
        self._services.open()
        self.control.post(self._root.start)

    def wait_started(self, deadline: Seconds) -> bool:
        """Return whether every child was started, or failed to start, within ``deadline`` seconds.

        Returns False at once when the tree is down.
        """
        self._runtime.work_off()
        return self._is_started.wait(deadline) and not self._finished.is_set()

    def stop(self) -> None:
        """Begin to stop the tree, in the reverse order of its start. Returns at once.

        Takes no lock, so it may be called from anywhere, also more than once.
        """
        self.control.post(self._root.stop)

    def wait(self, deadline: Seconds | None = None) -> int | None:
        """Return the exit code once the tree is down. None if it is not down within ``deadline`` seconds."""
        self._runtime.work_off()
        return self._exit_code if self._finished.wait(deadline) else None

    def address(self, key: Key[M]) -> Port[M]:
        """Return the port of ``key``, whether or not its actor exists yet."""
        dynamic = self._dynamic.get(key.path)
        if dynamic is not None:
            return cast("Port[M]", dynamic)
        return self.addresses.cell(key)

    def ask(
        self, port: Port[M], question: Callable[[Port[A]], M], deadline: Seconds = Seconds(2.0)
    ) -> A:
        """Tell ``port`` the message that ``question`` makes of a reply port, and return the answer.

        Only for code that is not an actor. Raises AskInsideActorError in an actor, AskTimeoutError after
        ``deadline`` seconds, ActorDeadError when the address is closed, and what the handler raised.
        """
        future: pykka.Future[A] = pykka.ThreadingFuture()
        who = self.send_question(port, question(ReplyPort(future)), future)
        return self._answer(future, who, deadline)

    def fence(self, port: Port[Any], deadline: Seconds = Seconds(5.0)) -> None:
        """Return when everything told to ``port`` before is handled. Raises the errors of ``ask``."""
        future: pykka.Future[None] = pykka.ThreadingFuture()
        who = self.send_question(port, Fence(), future)
        self._answer(future, who, deadline)

    def ping(self, deadline: Seconds = Seconds(2.0)) -> None:
        """Return when the control thread, which runs supervisors and timers, has answered.

        Raises the errors of ``ask``.
        """
        self._look(lambda _root: None, deadline)

    def summarize(self, deadline: Seconds = Seconds(2.0)) -> TreeSummary:
        """Return the tree, with dynamic children only counted. Raises the errors of ``ask``."""
        return self._look(summarized, deadline)

    def describe(self, deadline: Seconds = Seconds(2.0)) -> tuple[ActorDescription, ...]:
        """Return all nodes of the tree, parents before their children. Raises the errors of ``ask``.

        Takes the control thread 25 ms for 5,000 actors.
        """
        return self._look(described, deadline)

    def _look(self, at: Callable[[Child], A], deadline: Seconds) -> A:
        _refuse_inside_actors()
        future: pykka.Future[A] = pykka.ThreadingFuture()
        self.send_look(at, future)
        return self._answer(future, "the control thread", deadline)

    def send_look(self, at: Callable[[Child], A], future: pykka.Future[A]) -> None:
        """Set ``future`` to what ``at`` returns for the root, on the control thread. Returns at once."""
        self.control.post(lambda: future.set(at(self._root)))

    def crash(self, path: str, found: Port[bool] | None = None) -> None:
        """Make the actor or supervisor of ``path`` fail, if there is one.

        Returns at once. ``found`` is told whether there is one, when the control thread has looked.
        """

        def crash() -> None:
            child = next((each for each in family(self._root) if each.name == path), None)
            if found is not None:
                found.tell(child is not None)
            if isinstance(child, ActorChild):
                child.cell.put(Crash())
            elif isinstance(child, Supervisor):
                child.fail("crashed on request")

        self.control.post(crash)

    def observe_endings(self, observer: EndingsObserver) -> None:
        """Call ``observer`` with each ending, on the control thread. For use before ``start``."""
        self._services.reports.observe_endings(observer)

    def observe_statuses(self, observer: StatusesObserver) -> None:
        """Call ``observer`` whenever somebody fails, and when it runs again or is gone.

        On the control thread. For use before ``start``.
        """
        self._services.reports.observe_statuses(observer)

    def observe_failed_loops(self, observer: FailedLoopsObserver) -> None:
        """Call ``observer`` with the names of all failed loops whenever they change.

        On the control thread. For use before ``start``. A loop counts as failed from the moment that it
        failed too often until it is gone, or has been healthy for the ``reset_after`` of its backoff:
        between two attempts it looks well for a moment. The dynamic children of one supervisor are one
        loop, ``NAME/*``, that fails when most of them do.
        """
        self._services.failed_loops.observe(observer)

    @property
    def is_started(self) -> bool:
        """Whether every child was started, or failed to start."""
        return self._is_started.is_set()

    @property
    def is_quiet(self) -> bool:
        """Whether no message is being handled, and none waits that could be, until time passes.

        That is certain, because an actor is busy while it tells: a message on its way shows as a busy cell,
        or has raised a count between the two readings.
        """
        cells = self.addresses.all()
        before = self._activity(cells)
        idle = not self.control.has_work and all(cell.is_idle for cell in cells)
        return idle and not self.control.has_work and self._activity(cells) == before

    def _activity(self, cells: tuple[Cell[Any], ...]) -> tuple[int, int]:
        return sum(cell.handled + cell.lives for cell in cells), self.control.events

    def send_question(self, port: Port[Any], message: object, future: pykka.Future[Any]) -> str:
        """Tell ``port`` the ``message``, and return the path of ``port``. ``future`` gets any failure.

        Raises AskInsideActorError in an actor, and TypeError when ``port`` is not an actor's address.
        """
        _refuse_inside_actors()
        if not isinstance(port, Cell):
            raise TypeError(f"{type(port).__name__} cannot be asked: it is not an actor's address")
        port.put_envelope(Envelope(message, future))
        return port.key.path

    def _answer(self, future: pykka.Future[A], who: str, deadline: Seconds) -> A:
        self._runtime.work_off()
        try:
            return future.get(timeout=deadline)
        except pykka.Timeout:
            raise AskTimeoutError(f"{who} did not answer within {deadline:g} s") from None

    # The root's parent.

    @override
    def child_started(self, child: Child) -> None:
        self._is_started.set()
        self.on_milestone()

    @override
    def child_ended(self, child: Child, ended: Ended) -> None:
        child.forget()
        if ended.reason is EndReason.FAILED:
            self._exit_code = EXIT_FAILED
        elif self._abandoned_while_stopping:
            self._exit_code = EXIT_UNCLEAN
        self._services.close()
        self._finished.set()
        self._is_started.set()
        self.on_milestone()

    def _build(self, spec: AnySpec, parent: Parent) -> Child:
        if isinstance(spec, ChildSpec):
            return ActorChild(spec, self._services, parent)
        if isinstance(spec, DynamicSpec):
            dynamic = DynamicSupervisor(spec, self._services, parent)
            self._dynamic[spec.name] = DynamicPort(dynamic)
            return dynamic
        supervisor = Supervisor(spec, self._services, parent)
        for child in spec.children:
            supervisor.children[child.name] = self._build(child, supervisor)
        return supervisor

    def _note_abandoned(self, ended: Ended) -> None:
        """Note that an actor was abandoned while the tree stops: then the exit code is not 0."""
        if ended.abandoned and self._root.state is ChildState.STOPPING:
            self._abandoned_while_stopping = True

    def _fail(self, why: str) -> None:
        """Make the root give up. On the control thread."""
        self._root.fail(why)


def _ignore_milestone() -> None:
    """Do nothing: no observer was set."""


def _refuse_inside_actors() -> None:
    if current_incarnation() is not None:
        raise AskInsideActorError("actors tell, they do not ask")
