"""A crash at any step, also while calls raise and hang, changes nothing in the end, and doubles no run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from kernel.mailbox import Crash
from messages.pod_runtime import PodObserved
from messages.pods import Pod
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime, ProviderRuntimeMessage
from runtimes.provider.calls import ProviderCallEnded
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from tests.support.builders import make_pod
from tests.support.kernel.schedule import Schedule
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.provider.provider_stage import HandMadeCalls, ProviderStage, loaded_of
from tests.support.provider.providers import AbleProvider

GOOD, FAILING, HANGING = (make_pod(name) for name in ("good", "failing", "hanging"))


class Answers:
    """The answers of calls that the runtime hears, of which one is lost in a crash."""

    def __init__(self, lost: int = 0) -> None:
        self.heard = 0
        self._lost = lost

    def pass_on(
        self, receive: Callable[[ProviderRuntimeMessage], None], message: ProviderRuntimeMessage
    ) -> None:
        """Have ``message`` handled, or crash instead."""
        if isinstance(message, ProviderCallEnded):
            self.heard += 1
            if self.heard == self._lost:
                raise RuntimeError("lost")
        receive(message)


@contextmanager
def staged(schedule: Schedule, answers: Answers | None = None) -> Iterator[ProviderStage]:
    """Start the runtime on ``schedule``, with a supervisor that bears many crashes."""
    heard = answers or Answers()
    provider, calls, memory = AbleProvider(), HandMadeCalls(), ProviderMemory()

    def make(play: Stage) -> PodProviderRuntime:
        port = play.port(PROVIDER_RUNTIME)
        provider.attach(RuntimeContext(memory, lambda: port))
        actor = PodProviderRuntime(loaded_of(provider), calls, port, memory, ProviderRules())
        # In front of the method of its class: every message passes here.
        vars(actor)["receive"] = partial(heard.pass_on, actor.receive)
        return actor

    play = stage_for((PROVIDER_RUNTIME, make), runtime=schedule, root=PATIENT_ROOT)
    play.start()
    try:
        yield ProviderStage(play, provider, calls, memory)
    finally:
        assert play.stop() == 0


def story(stage: ProviderStage) -> dict[str, object]:
    """Run three pods, of which one fails at first and one hangs; stop and forget them."""
    attempts: Counter[str] = Counter()

    def on_run(pod: Pod) -> str:
        attempts[pod.name] += 1
        if pod == FAILING and attempts[pod.name] == 1:
            raise RuntimeError("no")
        return "Running"

    stage.provider.on_run = on_run
    stage.runs(GOOD)
    stage.runs(FAILING)
    stage.advance(5.0)
    stage.calls.hold("run")
    stage.runs(HANGING)
    stage.provider.fail("observe", ConnectionError("down"))
    stage.advance(40.0)
    stage.calls.let_go()
    stage.advance(10.0)
    running = {pod.name: _phase(stage, pod) for pod in (GOOD, FAILING, HANGING)}
    stage.provider.fail("stop", RuntimeError("no"))
    for pod in (GOOD, HANGING):
        stage.stops(pod.uid, grace=3.0)
    stage.advance(10.0)
    mark = stage.forgets(GOOD.uid)
    stage.advance(10.0)
    asked = Counter(stage.provider.drain())
    return {
        "running": running,
        "reported": sorted(stage.provider.reports),
        "runs": {words: count for words, count in asked.items() if words.startswith("run")},
        "is stopped": any(words.startswith("stop hanging") for words in asked),
        "is forgotten": PodObserved(uid=GOOD.uid, mark=mark) == _last(stage, GOOD),
        "failing": _phase(stage, FAILING),
    }


def _phase(stage: ProviderStage, pod: Pod) -> str:
    return str(_last(stage, pod).phase)


def _last(stage: ProviderStage, pod: Pod) -> PodObserved:
    return [told for told in stage.heard() if told.uid == pod.uid][-1]


@pytest.mark.parametrize("seed", range(2))
def test_a_crash_at_any_step_changes_nothing_in_the_end(seed: int) -> None:
    undisturbed = Schedule(seed)
    with staged(undisturbed) as stage:
        expected = story(stage)
    assert expected["runs"] == {"run good": 1, "run failing": 2, "run hanging": 1}
    assert expected["is forgotten"]
    assert expected["reported"] == [FAILING.uid]
    for at in range(1, undisturbed.taken, 3):
        schedule = Schedule(seed)
        schedule.crash_at = at
        with staged(schedule) as stage:
            cell = stage.play.system.addresses.cell(PROVIDER_RUNTIME)
            schedule.crash = lambda cell=cell: cell.put(Crash())  # type: ignore[misc]
            assert story(stage) == expected, f"crashed at step {at} of {undisturbed.taken}"


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_of_a_call_that_is_lost_in_a_crash_is_found_again(seed: int) -> None:
    undisturbed = Answers()
    with staged(Schedule(seed), undisturbed) as stage:
        expected = story(stage)
    assert undisturbed.heard > 20
    for lost in range(1, undisturbed.heard + 1):
        with staged(Schedule(seed), Answers(lost)) as stage:
            assert story(stage) == expected, f"answer {lost} of {undisturbed.heard} was lost"
            assert len(stage.play.endings) == 1
