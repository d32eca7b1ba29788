"""Thresholds of probes against a plain model that looks at all answers of an instance anew each time."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from actors.probes.specs import ProbeSpec
from actors.probes.watched import ExecIsDue
from manifests.handlers import ExecAction
from messages.probing import ProbeKind, ProbeOutcome, ProbeResult
from tests.support.probes.probe_stage import ProbeStage, key, spec, target

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
WARNING, UNKNOWN = ProbeResult.WARNING, ProbeResult.UNKNOWN
ANSWERS = st.sampled_from([SUCCESS, SUCCESS, FAILURE, FAILURE, WARNING, UNKNOWN])
BEGINNING = {
    ProbeKind.LIVENESS: SUCCESS,
    ProbeKind.READINESS: FAILURE,
    ProbeKind.STARTUP: UNKNOWN,
}


class Model:
    """All answers of one instance, and what they come to by the words of the rule."""

    def __init__(self, wanted: ProbeSpec) -> None:
        self.wanted = wanted
        self.answers: list[ProbeResult] = []

    @property
    def result(self) -> ProbeResult:
        """The last run of equal answers that was long enough; what a probe begins with if there is none."""
        long_enough = {
            FAILURE: self.wanted.failure_threshold,
            SUCCESS: self.wanted.success_threshold,
        }
        for end in range(len(self.answers), 0, -1):
            last = self.answers[end - 1]
            if self.answers[max(0, end - long_enough[last]) : end] == [last] * long_enough[last]:
                return last
        return BEGINNING[self.wanted.kind]

    @property
    def rests(self) -> bool:
        """Whether nobody asks it any more."""
        if self.wanted.kind is ProbeKind.LIVENESS:
            return self.result is FAILURE
        return self.wanted.kind is ProbeKind.STARTUP and self.result is not UNKNOWN


class ThresholdsMachine(RuleBasedStateMachine):
    """One probe, asked again and again, of instances that come and go, by engines that end."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = ProbeStage()
        self.told_runs: dict[int, ExecIsDue] = {}

    @override
    def teardown(self) -> None:
        """Close what is open."""
        self.stage.engine.close()

    @initialize(
        kind=st.sampled_from(list(ProbeKind)),
        failures=st.integers(1, 4),
        successes=st.integers(1, 3),
    )
    def begin(self, kind: ProbeKind, failures: int, successes: int) -> None:
        """Ask for a probe."""
        self.wanted = spec(
            ExecAction(command=("ready",)),
            kind,
            failure_threshold=failures,
            success_threshold=successes if kind is ProbeKind.READINESS else 1,
        )
        self.instance = 1
        self.model = Model(self.wanted)
        self.told = BEGINNING[kind]
        self.watch()

    @rule()
    def watch(self) -> None:
        """Ask for it, as before."""
        self.stage.watch(self.wanted, target(f"c{self.instance}", after=-1e6))

    @rule()
    def restart_container(self) -> None:
        """Ask for it of another instance."""
        self.instance += 1
        self.model = Model(self.wanted)
        self.told = BEGINNING[self.wanted.kind]
        self.watch()

    @rule()
    def crash(self) -> None:
        """End the engine. Another one goes on."""
        self.stage.engine.close()
        self.stage.engine = self.stage.new_engine()

    @precondition(lambda self: not self.model.rests)
    @rule(answer=ANSWERS)
    def answer(self, answer: ProbeResult) -> None:
        """Let it be due, and answer. What is unknown comes until nobody tries again."""
        for _ in range(3 if answer is UNKNOWN else 1):
            due = self.due()
            self.stage.note(due, ProbeOutcome(answer))
        if answer is not UNKNOWN:
            self.model.answers.append(FAILURE if answer is FAILURE else SUCCESS)

    def due(self) -> ExecIsDue:
        """Return the run that is due, as soon as it is."""
        for _ in range(3):
            self.told_runs |= {each.run: each for each in self.stage.runs_due()}
            if due := self.told_runs.get(self.stage.known(key(self.wanted.kind)).run):
                return due
            self.stage.advance(self.wanted.period)
        raise AssertionError("nothing is due")

    @invariant()
    def it_counts_as_in_the_model(self) -> None:
        """What counts, what is told, and whether it rests."""
        count = self.stage.known(key(self.wanted.kind)).count
        assert count.result is self.model.result
        assert count.is_held == self.model.rests
        changes = [each.result for each in self.stage.news() if each.is_change]
        assert changes == ([] if self.told is count.result else [count.result])
        self.told = count.result


TestThresholds = ThresholdsMachine.TestCase
