"""A stage for the keeper of probes and its probers. The test says what probes answer and workers want."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from actors.probes.keeper import ProbeKeeper, ProbeKeeperMemory, ProbeKeeperPorts
from actors.probes.specs import begin
from actors.probes.watching import (
    PROBE_KEEPER,
    PROBERS,
    DropProbe,
    FollowProbes,
    OnlyProbes,
    ProbeIs,
    ProbeRemark,
    ProbesBegan,
    ProbesToRun,
    RestProbe,
    RunProbe,
    prober_key,
)
from kernel import DynamicSpec, Port, Runtime, Steps, SupervisorSpec, isolated
from messages.events import PostEvent
from messages.pod_runtime import ProbeVerdict
from messages.pods import Pod
from messages.probing import (
    DescribeProbes,
    ProbedPod,
    ProbeKey,
    ProbeKind,
    ProbeOutcome,
    ProbeResult,
    ProbesAgain,
    ProbesDescribed,
    ProbesSay,
    ReleaseProbes,
    RunningInstance,
    WantProbes,
)
from messages.units import Seconds, Timestamp
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.patience import PATIENCE

PAGE: dict[str, Any] = {"httpGet": {"port": 80}}
STARTED = Timestamp(1_000.0)
LIVENESS, READINESS, STARTUP = ProbeKind.LIVENESS, ProbeKind.READINESS, ProbeKind.STARTUP


def probed_pod(*kinds: ProbeKind, probe: Mapping[str, Any] | None = None, **fields: Any) -> Pod:
    """Return a pod with the container ``main``, which has probes of these ``kinds``."""
    container: dict[str, Any] = {"name": "main", "image": "web:1"}
    container.update({kind.field_name: dict(probe or PAGE) for kind in kinds})
    return make_pod("web", spec={"containers": [container]}, **fields)


class PlainProbes(Port[ProbesToRun]):
    """Carries out no probe: the test says what they answer. Acknowledges as the real one does."""

    def __init__(self) -> None:
        self.wishes: dict[ProbeKey, RunProbe] = {}
        self.counts: dict[tuple[ProbeKey, str], ProbeResult] = {}
        """What probes have said of each instance."""
        self.followers: dict[Port[ProbesBegan], None] = {}
        self.diary: list[str] = []

    @override
    def tell(self, message: ProbesToRun, /) -> None:
        match message:
            case RunProbe(key=key):
                self.wishes[key] = message
                self._note(f"run {key.kind} of {message.target.container_id}")
                self._acknowledge(message)
            case RestProbe(key=key):
                self.wishes.pop(key, None)
                self._note(f"rest {key.kind}")
            case DropProbe(key=key):
                self.wishes.pop(key, None)
                self._note(f"drop {key.kind}")
            case OnlyProbes(keys=keys):
                self.wishes = {key: wish for key, wish in self.wishes.items() if key in keys}
            case FollowProbes(subscriber=subscriber):
                self.followers[subscriber] = None
            case _:
                raise AssertionError(message)

    def answers(self, key: ProbeKey, outcome: ProbeOutcome, counts: ProbeResult) -> None:
        """Tell an answer, and what counts now."""
        wish = self.wishes[key]
        self.counts[key, wish.target.container_id] = counts
        wish.reply_to.tell(
            ProbeIs(
                key=key,
                container_id=wish.target.container_id,
                result=counts,
                is_confirmed=outcome.result is not ProbeResult.UNKNOWN,
                remark=ProbeRemark(outcome, 1, 1, STARTED),
            )
        )

    def _acknowledge(self, wish: RunProbe) -> None:
        known = self.counts.get((wish.key, wish.target.container_id))
        wish.reply_to.tell(
            ProbeIs(
                key=wish.key,
                container_id=wish.target.container_id,
                result=known or begin(wish.spec.kind, wish.initial).result,
                is_confirmed=known is not None,
            )
        )

    def _note(self, step: str) -> None:
        if not self.diary or self.diary[-1] != step:
            self.diary.append(step)


class ProbesStage:
    """The keeper of probes, its probers, and a worker of one pod."""

    play: Stage

    def __init__(self) -> None:
        self.runner = PlainProbes()
        self.events: Probe[PostEvent] = Probe()
        self.worker: Probe[ProbesSay | ProbesAgain] = Probe()
        self.memory = ProbeKeeperMemory()

    def tree(self) -> SupervisorSpec:
        """Return the actors."""
        return SupervisorSpec(
            name="agent",
            children=(isolated(PROBE_KEEPER, self._make_keeper), DynamicSpec(key=PROBERS)),
        )

    def _make_keeper(self) -> ProbeKeeper:
        ports = ProbeKeeperPorts(
            runner=self.runner,
            probers=self.play.port(PROBERS),
            events=lambda: self.events,
            address=self.play.port,
            me=self.play.port(PROBE_KEEPER),
        )
        return ProbeKeeper(ports, self.memory)

    def wants(
        self,
        pod: Pod,
        running: str | None = "c1",
        ip: str = "10.0.0.1",
        known: ProbeVerdict | None = None,
        *,
        is_ending: bool = False,
    ) -> None:
        """Have the worker say that the instance ``running`` of ``main`` runs."""
        instances = {"main": RunningInstance(running, STARTED)} if running else {}
        want = WantProbes(
            pod=pod,
            running=instances,
            ips=(ip,),
            is_ending=is_ending,
            known={"main": known} if known is not None else {},
            reply_to=self.worker,
        )
        self.play.tell(PROBE_KEEPER, want)

    def releases(self, pod: Pod) -> None:
        """Have the worker need no probes any more."""
        self.play.tell(PROBE_KEEPER, ReleaseProbes(uid=pod.uid))

    def answers(
        self,
        pod: Pod,
        kind: ProbeKind,
        result: ProbeResult,
        counts: ProbeResult | None = None,
        text: str = "",
        *,
        is_outage: bool = False,
    ) -> None:
        """Have a probe answer. ``counts`` is what its thresholds make of it, the answer itself by default."""
        outcome = ProbeOutcome(result, text, is_outage)
        self.runner.answers(key_of(pod, kind), outcome, counts or result)
        self.play.settle()

    def runner_begins_anew(self) -> None:
        """Have who carries out probes begin a new life, which knows what it was told."""
        for follower in tuple(self.runner.followers):
            follower.tell(ProbesBegan())
        self.play.settle()

    def crashes(self, path: str) -> None:
        """Crash an actor, and let time pass until its next life is up."""
        self.play.system.crash(path)
        self.play.advance(1.0)

    def prober_crashes(self, pod: Pod, kind: ProbeKind) -> None:
        """Crash the prober of a probe."""
        self.crashes(prober_key(key_of(pod, kind)).path)

    def said(self) -> ProbeVerdict | None:
        """Return what the worker was told last of ``main``, of what it was told since the last call."""
        told = [each for each in self.worker.drain() if isinstance(each, ProbesSay)]
        return told[-1].verdicts.get("main") if told else None

    def ran(self) -> list[str]:
        """Return what was asked of who carries out probes since the last call."""
        diary, self.runner.diary = self.runner.diary, []
        return diary

    def probers(self) -> list[str]:
        """Return the names of the probers that there are."""
        return sorted(name for name in self.play.describe() if name.startswith("probers/"))

    def described(self) -> tuple[ProbedPod, ...]:
        """Return what the keeper answers."""

        def question(reply_to: Port[ProbesDescribed]) -> DescribeProbes:
            return DescribeProbes(reply_to=reply_to)

        return self.play.ask(PROBE_KEEPER, question).pods


def key_of(pod: Pod, kind: ProbeKind) -> ProbeKey:
    """Return the key of a probe of ``main``."""
    return ProbeKey(pod.uid, "main", kind)


def verdict(
    container_id: str = "c1", *, alive: bool = True, started: bool = True, ready: bool = True
) -> ProbeVerdict:
    """Return a verdict."""
    return ProbeVerdict(
        is_alive=alive, is_started=started, is_ready=ready, container_id=container_id
    )


@contextmanager
def probes_stage(runtime: Runtime | None = None) -> Iterator[ProbesStage]:
    """Start a stage. No pod has probes yet."""
    probes = ProbesStage()
    probes.play = Stage(probes.tree(), runtime)
    probes.play.start()
    try:
        yield probes
    finally:
        probes.play.system.stop()
        is_stepped = isinstance(probes.play.runtime, Steps)
        probes.play.system.wait(Seconds(0.0 if is_stepped else PATIENCE))
