"""Who carries out probes, on a stage: the owner of the loop, or a hollow runtime. And who wants them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from actors.probes.command_turns import CommandTurns
from actors.probes.engine import ProbeEngine
from actors.probes.loop_messages import (
    PROBE_LOOP,
    ForgetProbe,
    Loop,
    NoteRun,
    ProbeEdges,
    ProbeLoopMemory,
    ProbeLoopPorts,
    WatchProbe,
)
from actors.probes.loop_owner import ProbeLoopOwner
from actors.probes.specs import ProbeSpec, probe_of
from actors.probes.watched import ProbeFact, ProbeMemory
from actors.probes.watching import (
    FollowProbes,
    ProbeIs,
    ProbesBegan,
    ProbesToRun,
    ProbeTarget,
    RunProbe,
)
from kernel import Clock, Key, Port, Runtime
from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerRuntimeMessage,
    ExecEnded,
    ExecInContainer,
    RuntimeFailure,
)
from messages.events import PostEvent
from messages.pods import Pod
from messages.probing import (
    AnswersCounted,
    AnswersDescribed,
    DescribeAnswers,
    ProbeAnswer,
    ProbeKey,
    ProbeKind,
    ProbeOutcome,
    ProbeResult,
)
from messages.units import Seconds
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from runtimes.hollow.rules import HollowRules
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_for
from tests.support.runtimes.hollow_stage import HollowStage, hollow_pod

TICK = 0.05
"""Seconds of the test's clock between two turns."""


class SteppedLoop(Loop):
    """The engine of the real loop, which takes its turns when the test moves the clock."""

    def __init__(
        self,
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        clock: Clock,
    ) -> None:
        # As if the process were old: nothing is spread then.
        memory.began = Seconds(-1e9)
        self._memory = memory
        self._engine = ProbeEngine(
            memory, ProbeEdges(clock=clock, tell=tell, user_agent="kube-probe/1.34")
        )
        self._is_closed = False
        clock.on_advance(self._turn_if_needed)

    @override
    def watch(
        self,
        key: ProbeKey,
        spec: ProbeSpec,
        target: ProbeTarget,
        initial: ProbeResult | None = None,
    ) -> None:
        self._engine.call(WatchProbe(key, spec, target, initial))
        self._turn()

    @override
    def forget(self, key: ProbeKey) -> None:
        self._engine.call(ForgetProbe(key))
        self._turn()

    @override
    def note(
        self, key: ProbeKey, run: int, outcome: ProbeOutcome, took: Seconds | None = None
    ) -> None:
        self._engine.call(NoteRun(key, run, outcome, took))
        self._turn()

    @override
    def close(self) -> None:
        self._is_closed = True
        self._engine.close()

    def _turn_if_needed(self) -> None:
        if self._memory.watched:  # else nothing is due: a look at no sockets is dear
            self._turn()

    def _turn(self) -> None:
        if self._engine.is_current and not self._is_closed:
            self._engine.turn(0.0)


class Commands(Port[ContainerRuntimeMessage]):
    """Answers commands in containers at once, or keeps them for the test."""

    def __init__(self, answer: Callable[[], ExecEnded | RuntimeFailure | None]) -> None:
        self.answer = answer
        self.kept: list[AskContainer] = []
        self.begun: list[tuple[str, tuple[str, ...]]] = []

    @override
    def tell(self, message: ContainerRuntimeMessage, /) -> None:
        assert isinstance(message, AskContainer)
        assert isinstance(message.question, ExecInContainer)
        self.begun.append((message.question.id, message.question.command))
        answer = self.answer()
        if answer is None:
            self.kept.append(message)
        else:
            message.reply_to.tell(ContainerAnswered(ref=message.ref, answer=answer))

    def end(self, asked: AskContainer, answer: ExecEnded | RuntimeFailure) -> None:
        """Answer a command that was kept."""
        self.kept.remove(asked)
        asked.reply_to.tell(ContainerAnswered(ref=asked.ref, answer=answer))


class ProbedWorld(ABC):
    """A container that becomes ready 5 s after its start, is not ready any more after 20 s, and is probed."""

    play: Stage
    key: Key[Any]

    def __init__(self) -> None:
        self.told: Probe[ProbeIs] = Probe()
        self.began: Probe[ProbesBegan] = Probe()

    @abstractmethod
    def start_container(self) -> ProbeTarget:
        """Start the next instance of the container."""

    def tells(self, *messages: ProbesToRun) -> None:
        """Tell who carries out probes."""
        for message in messages:
            self.play.tell(self.key, message)

    def follows(self) -> None:
        """Follow whoever carries out probes."""
        self.tells(FollowProbes(subscriber=self.began))

    def passes(self, seconds: float) -> None:
        """Let time pass, turn by turn."""
        for _ in range(round(seconds / TICK)):
            self.play.advance(TICK)

    def crashes(self) -> None:
        """Crash who carries out probes, and let its next life begin."""
        self.play.system.crash(self.key.path)
        self.passes(0.5)

    def results(self) -> list[tuple[ProbeResult, bool]]:
        """Return what was told since the last call: what counts, and whether people should know of it."""
        return [(told.result, told.remark is not None) for told in self.told.drain()]

    def answers(self) -> dict[ProbeKey, AnswersCounted]:
        """Return what probes answered."""

        def question(reply_to: Port[AnswersDescribed]) -> DescribeAnswers:
            return DescribeAnswers(reply_to=reply_to)

        return dict(self.play.ask(self.key, question).answers)

    def stop(self) -> None:
        """End it."""
        self.play.stop()


class LoopWorld(ProbedWorld):
    """The owner of the loop. A command in the container says whether that is ready."""

    key = PROBE_LOOP

    def __init__(self, runtime: Runtime | None = None, *, has_commands: bool = True) -> None:
        super().__init__()
        self._has_commands = has_commands
        self.commands = Commands(self._answer)
        self.events: Probe[PostEvent] = Probe()
        self.memory = ProbeLoopMemory(turns=CommandTurns(2))
        self.ended: list[Callable[[BaseException], None]] = []
        self.target = ProbeTarget("c0", "10.0.0.1", EPOCH)
        self.play = stage_for((PROBE_LOOP, self._make), runtime=runtime)

    def _make(self, play: Stage) -> ProbeLoopOwner:
        me = play.port(PROBE_LOOP)
        ports = ProbeLoopPorts(
            containers=self.commands if self._has_commands else None,
            me=me,
            events=self.events,
            node_name="node1",
        )
        return ProbeLoopOwner(ports, self.memory, self._make_loop)

    def _make_loop(
        self,
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        ended: Callable[[BaseException], None],
        clock: Clock,
    ) -> Loop:
        self.ended.append(ended)
        return SteppedLoop(memory, tell, clock)

    @override
    def start_container(self) -> ProbeTarget:
        number = int(self.target.container_id[1:]) + 1
        self.target = ProbeTarget(f"c{number}", "10.0.0.1", self.play.clock.wall())
        return self.target

    def _answer(self) -> ExecEnded:
        runs_for = self.play.clock.wall() - self.target.started_at
        is_ready = 5.0 <= runs_for < 20.0
        return ExecEnded(exit_code=0 if is_ready else 1, output="" if is_ready else "not ready")


class HollowWorld(ProbedWorld):
    """A hollow runtime. Annotations say when the container is ready."""

    key = HOLLOW_CONTAINERS

    def __init__(self, runtime: Runtime | None = None) -> None:
        super().__init__()
        self.hollow = HollowStage(HollowRules(), runtime)
        self.play = self.hollow.play
        self.pod: Pod = hollow_pod(
            spec={"containers": [{"name": "main", "image": "web:1"}]},
            ready_after="5s",
            unready_after="20s",
        )
        self._attempt = -1

    @override
    def start_container(self) -> ProbeTarget:
        self._attempt += 1
        container = self.hollow.started(self.pod, attempt=self._attempt)
        assert container.started_at is not None
        return ProbeTarget(container.id, "10.244.0.2", container.started_at)


def readiness(**fields: Any) -> ProbeSpec:
    """Return a readiness probe with a command, a period of 1 s and a failure threshold of 2."""
    probe = {
        "exec": {"command": ["is-ready"]},
        "periodSeconds": 1,
        "failureThreshold": 2,
        **fields,
    }
    found = probe_of({"name": "main", "readinessProbe": probe}, ProbeKind.READINESS)
    assert found is not None
    return found


def wish(
    world: ProbedWorld,
    target: ProbeTarget,
    initial: ProbeResult | None = None,
    spec: ProbeSpec | None = None,
) -> RunProbe:
    """Return the wish that the readiness of ``main`` is probed."""
    return RunProbe(
        key=KEY,
        spec=spec or readiness(),
        target=target,
        initial=initial,
        reply_to=world.told,
    )


def answer_of(world: ProbedWorld) -> ProbeAnswer:
    """Return the last answer of the probe."""
    return world.answers()[KEY].answer


KEY = ProbeKey(hollow_pod().uid, "main", ProbeKind.READINESS)
