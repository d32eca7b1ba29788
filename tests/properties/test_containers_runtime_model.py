"""Pods as containers against a hostile runtime: the invariants hold at each request, and all ends well.

The runtime of containers checks each request itself: no container name has two live instances, no attempt
is used twice, nothing starts after a stop or after it ended for good, and init containers and sidecars come
before what is behind them, with the hooks of these. No container is stopped gracefully before its hook.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typing_extensions import override

from messages.container_runtime import (
    CreateContainer,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import Mark, PodObserved
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.containers.actor import ContainersOptions
from runtimes.lifecycle_hooks.messages import HookKind
from tests.support.builders import make_pod
from tests.support.runtimes.containers_stage import ScriptedStage
from tests.support.runtimes.scripted_containers import REFUSED, Deed, ScriptedContainers
from tests.support.runtimes.situations import container, sidecar, spec_of

HOOKS = {"postStart": {"exec": {"command": ["true"]}}, "preStop": {"sleep": {"seconds": 1}}}
SPECS = {
    "always": spec_of("a", "b"),
    "once": spec_of("a", "b", policy="Never"),
    "until-success": spec_of("a", inits=(container("i"), container("j")), policy="OnFailure"),
    "with-sidecars": spec_of("a", inits=(sidecar("s"), container("i"), sidecar("t"))),
    "with-hooks": {
        "containers": [container("a", lifecycle=HOOKS), container("b", lifecycle=HOOKS)],
        "initContainers": [sidecar("s", lifecycle=HOOKS), container("i"), sidecar("t")],
    },
}
PODS: dict[str, Pod] = {name: make_pod(name, spec=spec) for name, spec in SPECS.items()}
NAMES = st.sampled_from(sorted(PODS))
REQUESTS = st.sampled_from(
    [
        RunSandbox,
        CreateContainer,
        StartContainer,
        StopContainer,
        StopSandbox,
        RemoveContainer,
        RemoveSandbox,
        PullImage,
    ]
)
DEEDS = st.sampled_from([Deed.HELD, Deed.DONE_UNCERTAINLY, Deed.LOST_UNCERTAINLY, REFUSED])


class HostileRuntime(RuleBasedStateMachine):
    """Commands, exits, failures, crashes and time, in any order."""

    @initialize(
        assumes_images=st.booleans(),
        parallel_starts=st.sampled_from([None, 1]),
        parallel_stops=st.sampled_from([None, 1]),
        holds=st.sets(st.sampled_from(HookKind)),
    )
    def begin(
        self,
        *,
        assumes_images: bool,
        parallel_starts: int | None,
        parallel_stops: int | None,
        holds: set[HookKind],
    ) -> None:
        self.containers = ScriptedContainers(assumes_images=assumes_images)
        self.containers.hooks.holds = holds
        options = ContainersOptions(parallel_starts=parallel_starts, parallel_stops=parallel_stops)
        self.stage = ScriptedStage(self.containers, options)
        self.stage.play.start()
        self.wanted: dict[str, str] = {}
        self.marks: dict[PodUid, Mark] = {}
        self.told: dict[PodUid, PodObserved] = {}
        self.counts: dict[tuple[PodUid, str], int] = {}

    @rule(name=NAMES)
    def run(self, name: str) -> None:
        if self.wanted.get(name) != "stop":
            self.wanted[name] = "run"
        self.stage.run(PODS[name])

    @rule(name=NAMES, grace=st.sampled_from([0.0, 1.0, 600.0]))
    def stop(self, name: str, grace: float) -> None:
        self.wanted[name] = "stop"
        self.containers.stopping.add(PODS[name].uid)
        self.marks[PODS[name].uid] = self.stage.stop(PODS[name], grace)

    @rule(name=st.sampled_from(["a", "b", "i", "j", "s", "t"]), code=st.sampled_from([0, 1]))
    def exit(self, name: str, code: int) -> None:
        self.containers.exit(name, code)
        self.stage.play.settle()

    @rule(name=NAMES)
    def sandbox_dies(self, name: str) -> None:
        self.containers.sandbox_dies(PODS[name].uid)
        self.stage.play.settle()

    @rule(request=REQUESTS, deed=DEEDS, after=st.integers(0, 2))
    def fail_one(self, request: type, deed: Deed, after: int) -> None:
        self.containers.next(request, Deed.DONE, after)
        self.containers.next(request, deed)

    @rule()
    def release(self) -> None:
        self.containers.release()
        self.stage.play.settle()

    @rule()
    def lose(self) -> None:
        self.containers.lose()

    @rule(kinds=st.sets(st.sampled_from(HookKind)))
    def hold_hooks(self, kinds: set[HookKind]) -> None:
        self.containers.hooks.holds = kinds

    @rule(kind=st.sampled_from(HookKind), failure=st.sampled_from(["", "exit code 1"]))
    def hooks_fail(self, kind: HookKind, failure: str) -> None:
        self.containers.hooks.failures[kind] = failure

    @rule(failure=st.sampled_from(["", "given up"]))
    def hooks_end(self, failure: str) -> None:
        self.containers.hooks.release(failure)
        self.stage.play.settle()

    @rule(loses=st.booleans())
    def lose_ends_of_hooks(self, *, loses: bool) -> None:
        self.containers.hooks.loses_ends = loses

    @rule()
    def go_away(self) -> None:
        self.containers.goes_away()
        self.stage.play.settle()

    @rule()
    def come_back(self) -> None:
        self.containers.comes_back()
        self.stage.play.settle()

    @rule()
    def crash(self) -> None:
        self.stage.crash()

    @rule(seconds=st.sampled_from([0.0, 1.0, 11.0, 301.0]))
    def wait(self, seconds: float) -> None:
        self.stage.play.advance(seconds)

    @invariant()
    def nobody_asks_for_what_may_never_be(self) -> None:
        assert self.containers.faults == []

    @invariant()
    def restart_counts_never_fall(self) -> None:
        for told in self.stage.told():
            self.told[told.uid] = told
            for name, history in told.containers.items():
                if history.current is not None:
                    key = (told.uid, name)
                    assert history.current.attempt >= self.counts.get(key, 0)
                    self.counts[key] = history.current.attempt

    @override
    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        self._all_is_well_in_the_end()
        self._everything_can_be_forgotten()
        assert self.containers.faults == []
        assert self.stage.play.stop() == 0

    def _all_is_well_in_the_end(self) -> None:
        self.containers.heal()
        self.containers.comes_back()
        # Long enough for every pause: the answers that are given up, then the longest back-off.
        for _ in range(8):
            self.stage.play.advance(200.0)
        self.restart_counts_never_fall()
        for name, wanted in self.wanted.items():
            pod = PODS[name]
            told = self.told[pod.uid]
            if wanted == "stop":
                assert not told.is_running
                assert told.mark == self.marks[pod.uid]
            elif name in {"always", "with-sidecars", "with-hooks"}:
                self._let_inits_succeed()
                assert self._names_alive(pod) >= {
                    each["name"] for each in SPECS[name]["containers"]
                }

    def _let_inits_succeed(self) -> None:
        for _ in range(3):
            self.containers.exit("i")
            self.containers.exit("j")
            self.stage.play.advance(1.0)

    def _names_alive(self, pod: Pod) -> set[str]:
        return {
            one.name
            for each in self.containers.sandboxes.values()
            if each.pod.uid == pod.uid
            for one in each.containers.values()
            if one.started_at is not None and one.finished_at is None
        }

    def _everything_can_be_forgotten(self) -> None:
        for name in self.wanted:
            self.containers.stopping.add(PODS[name].uid)
            self.stage.forget(PODS[name])
        self.stage.play.advance(Seconds(10.0))
        assert self.containers.sandboxes == {}
        assert self.stage.memory.records == {}
        assert self.stage.memory.calls == {}


TestHostileRuntime = HostileRuntime.TestCase
