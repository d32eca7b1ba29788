"""A whole standalone agent that runs hollow pods: listings, exits, time, and crashes of anybody.

After each step, whatever happened before it:

1. no container name of a pod has two live instances, and no static full name two pods that run;
2. nothing of a pod starts after it was told to stop;
3. init containers and sidecars come before what is behind them;
4. restart counts never fall, and a terminal pod starts nothing;
6. a status never goes back;
7. no container is ended whose pod was wanted all the time; and in the end exactly those pods run that should.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from typing_extensions import override

from actors.pods.keeper_parts import POD_KEEPER
from actors.pods.status_keeper import STATUS_KEEPER
from kernel import Port
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pods import HTTP, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import FollowStatuses, PodStatusChanged
from stores.statuses.rendering import render_status
from tests.support.builders import make_pod
from tests.support.pods.status_watch import violations
from tests.support.questions import describe_statuses
from tests.support.worlds.running_alone import RunningAlone

TIMES: Final = "--hollow-times=time-to-create=50ms,time-to-start=50ms,time-to-stop=700ms"
TO_REST: Final = 700.0
"""Seconds: longer than any grace, and than the longest back-off."""


def _container(name: str, **fields: Any) -> JsonObject:
    return {"name": name, "image": f"registry.example/{name}:1", **fields}


KINDS: Final[dict[str, tuple[JsonObject, dict[str, str]]]] = {
    "plain": ({"containers": [_container("main")]}, {}),
    "in order": (
        {
            "initContainers": [
                _container("first"),
                _container("proxy", restartPolicy="Always"),
                _container("second"),
            ],
            "containers": [_container("server"), _container("helper")],
        },
        {"run-for.first": "1s", "run-for.second": "300ms", "ready-after.server": "2s"},
    ),
    "work": (
        {"restartPolicy": "OnFailure", "containers": [_container("work")]},
        {"run-for": "2s", "exits": "1,0"},
    ),
    "once": (
        {
            "restartPolicy": "Never",
            "initContainers": [_container("proxy", restartPolicy="Always")],
            "containers": [_container("work")],
        },
        {"run-for": "5s", "exits": "3"},
    ),
    "crash loop": ({"containers": [_container("main")]}, {"run-for": "3s", "exits": "1"}),
    "dying sandbox": ({"containers": [_container("main")]}, {"sandbox-dies-after": "4s"}),
}
RUNNING: Final = {
    "plain": {"main"},
    "in order": {"proxy", "server", "helper"},
    "dying sandbox": {"main"},
}
ENDED: Final = {"work": PodPhase.SUCCEEDED, "once": PodPhase.FAILED}
UNDISTURBED: Final = {"plain", "in order", "work", "crash loop"}
"""Kinds of pods of which nothing is ended while they are wanted."""

SUPERVISORS: Final = frozenset({"pods", "objects"})
"""Those of dynamic children, that may have none."""
NAMES = st.sampled_from(["a", "b", "c"])


class _StatusFollower(Port[PodStatusChanged]):
    """Compares each status of a pod with the one before it."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._shown: dict[PodUid, JsonObject] = {}

    @override
    def tell(self, message: PodStatusChanged, /) -> None:
        uid = message.pod.uid
        if uid.startswith("fixed"):  # it lives more than once
            return
        shown = render_status(message.pod, message.status)
        found = violations(self._shown.get(uid) or {}, shown)
        self.violations += [f"{uid}: {each}" for each in found]
        self._shown[uid] = shown


class RunningAgentModel(RuleBasedStateMachine):
    """The agent, what a source lists for it, and what should run."""

    def __init__(self) -> None:
        super().__init__()
        self.agent = RunningAlone(TIMES)
        self.watch, self.play = self.agent.watch, self.agent.play
        self.follower = _StatusFollower()
        self.wanted: dict[str, Pod] = {}
        self.kinds: dict[PodUid, str] = {}
        self.was_unwanted: set[PodUid] = set()
        self.serial = 0
        self.play.tell(STATUS_KEEPER, FollowStatuses(subscriber=self.follower))

    # --- the source ------------------------------------------------------------------------------------

    @rule(name=NAMES, kind=st.sampled_from(sorted(KINDS)), is_fixed=st.booleans())
    def a_pod_is_edited(self, name: str, kind: str, *, is_fixed: bool) -> None:
        self.serial += 1
        uid = PodUid(f"fixed-{name}-{kind}" if is_fixed else f"{name}-{self.serial}")
        spec, said = KINDS[kind]
        annotations = {f"hollow.actorlet/{key}": value for key, value in said.items()}
        spec = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 5, **spec}
        self._drop(name)
        self.kinds[uid] = kind
        self.wanted[name] = make_pod(name, uid=uid, source=HTTP, spec=spec, annotations=annotations)

    @rule(name=NAMES)
    def a_pod_is_withdrawn(self, name: str) -> None:
        self._drop(name)

    def _drop(self, name: str) -> None:
        before = self.wanted.pop(name, None)
        if before is not None:
            self.was_unwanted.add(before.uid)

    @rule()
    def the_source_lists(self) -> None:
        self.agent.lists(*self.wanted.values())

    # --- the agent -------------------------------------------------------------------------------------

    @rule(data=st.data(), after=st.sampled_from([0.0, 0.03, 0.3]))
    def an_actor_crashes(self, data: st.DataObject, after: float) -> None:
        self.play.system.crash(data.draw(st.sampled_from(self._actors())))
        self.play.advance(after)

    @rule(data=st.data(), steps=st.integers(0, 40))
    def an_actor_crashes_in_the_midst_of_a_listing(self, data: st.DataObject, steps: int) -> None:
        victim = data.draw(st.sampled_from(self._actors()))
        self.agent.tells_listing(*self.wanted.values())
        for _ in range(steps):
            self.agent.steps.step()
        self.play.system.crash(victim)
        self.play.settle()

    def _actors(self) -> list[str]:
        nodes = self.play.describe().values()
        supervisors = {*SUPERVISORS, *(node.parent for node in nodes)}
        return sorted({node.name for node in nodes} - supervisors)

    @rule(seconds=st.sampled_from([0.02, 0.06, 0.3, 2.0, 12.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.play.advance(seconds)

    # --- what always holds -----------------------------------------------------------------------------

    @invariant()
    def nothing_happened_that_may_never_be(self) -> None:
        assert self.watch.violations == []
        assert self.follower.violations == []
        assert self._disturbed() == set()

    def _disturbed(self) -> set[PodUid]:
        """Return the pods that were ended though they were wanted all the time."""
        return {
            uid
            for uid in self.watch.killed_pods - self.was_unwanted
            if self.kinds[uid] in UNDISTURBED
        }

    @override
    def teardown(self) -> None:
        self.the_source_lists()
        self.play.advance(TO_REST)
        self.nothing_happened_that_may_never_be()
        wanted = {pod.uid for pod in self.wanted.values()}
        statuses = self.play.ask(STATUS_KEEPER, describe_statuses).statuses
        lives = self.play.ask(POD_KEEPER, _describe_lives).lives
        assert set(statuses) == set(lives) == wanted
        running = self.watch.running()
        assert set(running) <= wanted
        for uid in wanted:
            kind = self.kinds[uid]
            if kind in RUNNING:
                assert running.get(uid) == RUNNING[kind], kind
                assert statuses[uid].phase is PodPhase.RUNNING
            elif kind in ENDED:
                assert uid not in running
                assert statuses[uid].phase is ENDED[kind]
        errors = [ended.error for ended in self.play.endings if ended.error]
        assert [error for error in errors if "crashed on request" not in error] == []
        assert self.play.stop() == 0


def _describe_lives(reply_to: Port[PodLivesDescribed]) -> DescribePodLives:
    return DescribePodLives(reply_to=reply_to)


TestRunningAgent = RunningAgentModel.TestCase
