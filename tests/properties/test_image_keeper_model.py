"""Whatever happens to the keeper of images, each call is answered once, and pulls keep their bounds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from messages.container_runtime import ImageFound, RuntimeOutcome
from messages.objects import ObjectId, ObjectValue
from messages.pods import Pod
from runtimes.cri.images.options import GarbageOptions, ImageOptions, PullOptions
from tests.support.images.image_stage import ImageStage, image_stage, pod_with, pull_secret

IMAGES = ("quay.io/a:1", "quay.io/b:1", "quay.io/missing:1")
USERS = ("alice", "bob")
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(IMAGES), st.sampled_from(USERS)),
    st.tuples(st.just("find"), st.sampled_from(IMAGES), st.sampled_from(USERS)),
    st.tuples(st.sampled_from(["let go", "cut", "crash", "away", "back"])),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 40.0, 400.0])),
)


class History:
    """Does the steps, and keeps who was answered."""

    def __init__(self, stage: ImageStage, parallel: int) -> None:
        self.stage = stage
        self.parallel = parallel
        self.asked: set[int] = set()
        self.answers: dict[Any, RuntimeOutcome] = {}

    def do(self, step: tuple[Any, ...]) -> None:
        stage = self.stage
        match step:
            case ("ask", image, user):
                pod, secrets = self._owner(user)
                self.asked.add(stage.ask(image, pod, secrets, deadline=100.0))
            case ("find", image, user):
                pod, secrets = self._owner(user)
                self.asked.add(stage.find_later(image, pod, secrets))
            case ("let go",) if stage.service.held:
                stage.service.let_go()
            case ("cut",):
                stage.service.cut()
            case ("crash",):
                stage.crash()
            case ("away",) | ("back",):
                stage.service.away = step[0] == "away"
            case ("wait", seconds):
                stage.play.advance(seconds)
            case _:
                pass
        stage.play.settle()
        self.look()

    def look(self) -> None:
        """Take the answers. Nobody is answered twice, and no more pulls are under way than may be."""
        for ref, outcome in self.stage.answered().items():
            assert ref not in self.answers
            self.answers[ref] = outcome
        assert len(self.stage.service.held) <= self.parallel

    def end(self) -> None:
        """Let everything end."""
        self.stage.service.away = False
        for _ in range(200):
            if not self.stage.service.held and not len(self.stage.memory.queue):
                break
            self.do(("let go",))
        self.do(("wait", 400.0))

    @staticmethod
    def _owner(user: str) -> tuple[Pod, dict[ObjectId, ObjectValue]]:
        return pod_with(f"of-{user}", user), pull_secret(user, user)


@given(st.lists(STEPS, max_size=30), st.sampled_from([1, 2]))
def test_each_call_is_answered_once_whatever_happens(
    steps: list[tuple[Any, ...]], parallel: int
) -> None:
    options = ImageOptions(
        pulls=PullOptions(parallel=parallel, per_second=0.0),
        garbage=GarbageOptions(high_percent=100),
    )
    with image_stage(options=options) as stage:
        stage.service.holds_pulls = True
        stage.service.offer(IMAGES[0])
        stage.service.offer(IMAGES[1], users=("alice",))
        history = History(stage, parallel)
        for step in steps:
            history.do(step)
        history.end()
        assert set(history.answers) == history.asked
        assert not len(stage.memory.queue)
        assert not stage.memory.operations.running
        found = [each for each in history.answers.values() if isinstance(each, ImageFound)]
        assert all(each.image_id in {"", *stage.service.images} for each in found)
