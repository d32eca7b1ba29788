"""The commands that agents have run in containers: those of probes, and those of hooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from typing_extensions import override

from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import Rpc, RpcFailure, RpcInFlight, RpcOutcome
from tests.environment.health import COMMAND, Answer
from tests.environment.machine import Machine
from tests.environment.runtimes.runtime import InThisLife
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_wire import TOO_LATE, FakeCall, FakeWire

HOOK: Final = "hook"
"""The command of a hook. What it is of follows: ``postStart`` or ``preStop``."""
EXEC: Final = "ExecSync"
HANGS_FOR: Final = 100.0


@dataclass(slots=True, eq=False)
class Hooks:
    """How the commands of hooks get on."""

    take: dict[str, float] = field(default_factory=dict)
    """Seconds that they take, by what they are of."""
    troubles: list[Answer] = field(default_factory=list)
    """How the next ones end in place of a success."""

    def begin(self, about: str) -> tuple[Answer, float]:
        """Return how the command ends that begins now, and after how many seconds.

        One that hangs goes on for longer than any grace: a postStart would for a day.
        """
        trouble = self.troubles.pop(0) if self.troubles else Answer.YES
        if trouble is Answer.NONE:
            return Answer.YES, HANGS_FOR
        return trouble, self.take.get(about, 0.0)


class CommandedCri(FakeCri):
    """Has containers carry out the commands of probes and hooks. What takes too long is killed."""

    def __init__(
        self,
        machine: Machine,
        later: Callable[[float, Callable[[], None]], object],
        asks: Callable[[str, str], Answer | None],
        hooks: Hooks,
    ) -> None:
        """``asks`` returns what a container answers to a probe. None if it does not run."""
        super().__init__(machine, later)
        self._machine = machine
        self._asks = asks
        self._hooks = hooks

    @override
    def ask(self, method: str, request: Any, answer: Callable[[RpcOutcome], None]) -> None:
        if method == EXEC and request.cmd[0] == HOOK:
            one = self._machine.containers.get(request.container_id)
            if one is not None:
                self._machine.witness.calls_hook(self._machine.instance(one), request.cmd[1])
        super().ask(method, request, answer)

    @override
    def _carry_out(self, method: str, request: Any, answer: Callable[[RpcOutcome], None]) -> None:
        if method != EXEC or request.cmd[0] not in {COMMAND, HOOK}:
            super()._carry_out(method, request, answer)
            return
        said, takes = self._begun(request)
        carry_out = super()._carry_out

        def end() -> None:
            self.execs[tuple(request.cmd)] = (int(said is Answer.NO), "")
            carry_out(method, request, answer)

        if said is Answer.NONE or takes > request.timeout:
            self.later(request.timeout, lambda: answer(TOO_LATE))
        elif takes:
            self.later(takes, end)
        else:
            end()

    def _begun(self, request: cri.ExecSyncRequest) -> tuple[Answer | None, float]:
        """Return how a command ends, and after how many seconds."""
        name, about = request.cmd
        if name == COMMAND:
            return self._asks(request.container_id, about), 0.0
        return self._hooks.begin(about)


class HeardWire(FakeWire):
    """Carries calls, and tells the witness of a machine what agents hear of commands.

    Nothing happens at the deadline of one that has ended: an hour has thousands.
    """

    def __init__(self, service: FakeCri, machine: Machine, in_this_life: InThisLife) -> None:
        super().__init__(service, in_this_life)
        self._machine = machine
        self._in_this_life = in_this_life

    @override
    def call(self, rpc: Rpc[Any], done: Callable[[RpcOutcome], None]) -> RpcInFlight:
        request = rpc.request
        if not isinstance(request, cri.ExecSyncRequest):
            return super().call(rpc, done)

        def heard(outcome: RpcOutcome) -> None:
            self._tell(request, outcome)
            done(outcome)

        return super().call(rpc, heard)

    @override
    def _limit(self, call: FakeCall, seconds: float) -> None:
        self._in_this_life(seconds, lambda: call.end(TOO_LATE), lambda: call.has_ended)

    def lose_agent(self) -> None:
        """Have nobody hear any more what becomes of the calls that are under way."""
        for call in self._open:
            call.has_ended = True
        self._open.clear()

    def _tell(self, request: cri.ExecSyncRequest, outcome: RpcOutcome) -> None:
        """Tell how a command has ended. One whose end nobody knows is no answer to a probe."""
        asked = self._machine.containers.get(request.container_id)
        if asked is None or request.cmd[0] not in {COMMAND, HOOK}:
            return
        one, (name, about) = self._machine.instance(asked), request.cmd
        is_yes = isinstance(outcome, cri.ExecSyncResponse) and outcome.exit_code == 0
        if name == HOOK:
            self._machine.witness.hook_ends(one, about, is_success=is_yes)
        elif not isinstance(outcome, RpcFailure) or outcome.code is TOO_LATE.code:
            self._machine.witness.answers(one, about, is_yes=is_yes)
