"""The API server shows what workers tell, and lets pods go that ended, whatever happens in between."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from typing_extensions import override

from actors.pods.status_writes import status_patch
from messages.api import CallApi, FailureKind, Verb
from messages.pod_runtime import ContainerHistory
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.statuses import PodStatus
from tests.support.apiserver.store import ApiStore
from tests.support.pods.observations import backing_off, exited, running, waiting
from tests.support.pods.status_stage import StatusStage

NAMES = st.sampled_from(["web", "shop"])
KINDS = st.sampled_from(
    [
        *(FailureKind.UNREACHABLE, FailureKind.TIMEOUT, FailureKind.SERVER_ERROR),
        *(FailureKind.CONFLICT, FailureKind.NOT_FOUND, FailureKind.INVALID),
        *(FailureKind.THROTTLED, FailureKind.FORBIDDEN),
    ]
)
STATES = st.one_of(
    st.just(waiting()),
    st.builds(running, attempt=st.integers(0, 3)),
    st.builds(backing_off, attempt=st.integers(0, 3)),
)


class Checked(Port[CallApi]):
    """Passes calls on. No pod may be deleted before it is finished, nor by its name alone."""

    def __init__(self, calls: Port[CallApi], finished: set[PodUid]) -> None:
        self._calls = calls
        self._finished = finished
        self.wrongs: list[str] = []

    @override
    def tell(self, message: CallApi, /) -> None:
        if message.request.verb is Verb.DELETE:
            uid = (message.request.body or {})["preconditions"]["uid"]
            if uid not in self._finished:
                self.wrongs.append(f"{uid} is deleted, and not finished")
        self._calls.tell(message)


class StatusModel(RuleBasedStateMachine):
    """What workers told last, beside what the API server shows."""

    def __init__(self) -> None:
        super().__init__()
        self.finished: set[PodUid] = set()
        self.told: dict[PodUid, PodStatus] = {}
        self.pods: dict[str, Pod] = {}
        """The newest pod of each name, as its worker knows it."""
        self.stage = StatusStage(ApiStore(), is_joined=True)
        self.checked = Checked(self.stage.api.calls, self.finished)

    @initialize()
    def the_watch_begins(self) -> None:
        self.stage.connects(self.checked)
        self.stage.watches()

    # --- the agent's world -----------------------------------------------------------------------------

    @rule(name=NAMES, state=STATES)
    def a_worker_tells(self, name: str, state: ContainerHistory) -> None:
        pod = self.bound(name)
        if pod.uid not in self.finished:
            self.told[pod.uid] = self.stage.tells(pod, state)

    @rule(name=NAMES, code=st.sampled_from([0, 137]))
    def a_pod_ends(self, name: str, code: int) -> None:
        pod = self.bound(name)
        if pod.uid not in self.finished:
            self.finished.add(pod.uid)
            self.told[pod.uid] = self.stage.tells(pod, exited(code=code), is_finished=True)

    @rule(name=NAMES)
    def a_pod_is_deleted_and_ends(self, name: str) -> None:
        self.somebody_deletes_a_pod(name, grace=30)
        self.a_pod_ends(name, code=137)

    @rule(name=NAMES)
    def nothing_is_left_of_a_pod(self, name: str) -> None:
        pod = self.pods.get(name)
        if pod is not None and pod.uid in self.finished and name not in self.stage.names():
            del self.pods[name]
            self.stage.forgets(pod)

    @rule()
    def the_keeper_crashes(self) -> None:
        self.stage.crashes()

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.stage.advance(seconds)

    # --- the cluster -----------------------------------------------------------------------------------

    def bound(self, name: str) -> Pod:
        """Return the pod that the worker of this name has, a new one if there is none."""
        if name not in self.pods:
            if name in self.stage.names():
                self.stage.removes(name, grace=0)
            self.pods[name] = self.stage.binds(name)
        return self.pods[name]

    @rule(name=NAMES, grace=st.sampled_from([0, 30, 30]))
    def somebody_deletes_a_pod(self, name: str, grace: int) -> None:
        self.bound(name)
        if name in self.stage.names():
            self.stage.removes(name, grace=grace)

    @rule(name=NAMES)
    def somebody_creates_a_pod_again(self, name: str) -> None:
        if name not in self.stage.names():
            self.pods[name] = self.stage.binds(name)

    @rule(name=NAMES, phase=st.sampled_from(["Unknown", "Pending"]))
    def somebody_writes_over_a_status(self, name: str, phase: str) -> None:
        self.bound(name)
        if name in self.stage.names():
            self.stage.store.change("pods", "default", name, status={"phase": phase})
            self.stage.settle()

    @rule(kind=KINDS, times=st.integers(1, 4))
    def calls_fail(self, kind: FailureKind, times: int) -> None:
        self.stage.api.calls.fail(kind, times=times)

    @rule(times=st.integers(1, 3))
    def answers_are_lost(self, times: int) -> None:
        self.stage.api.calls.lose_answers(times=times)

    @rule()
    def calls_take_long(self) -> None:
        self.stage.api.calls.hold()

    @rule()
    def calls_are_answered(self) -> None:
        self.stage.api.calls.release()
        self.stage.settle()

    @rule()
    def the_watch_breaks(self) -> None:
        self.stage.api.watches.break_off(FailureKind.UNREACHABLE)

    @rule()
    def the_watch_lists_anew(self) -> None:
        self.stage.api.watches.mend()
        self.stage.settle()

    # --- the end -------------------------------------------------------------------------------------------

    @override
    def teardown(self) -> None:
        for document in self.stage.store.pods():
            if "deletionTimestamp" in document["metadata"]:
                self.a_pod_ends(document["metadata"]["name"], code=0)
        self.the_watch_lists_anew()
        self.calls_are_answered()
        self.stage.api.calls.recover()
        self.stage.advance(400.0)  # longer than the longest backoff
        self.check_end()
        self.stage.play.stop()

    def check_end(self) -> None:
        """Fail unless everything is as it should be, and stays so."""
        assert self.checked.wrongs == []
        for document in self.stage.store.pods():
            shown = Pod.of(document)
            status = self.told.get(shown.uid)
            if status is not None:
                assert status_patch(self.pods[shown.name], status, shown) is None
            assert not (shown.is_deleting and shown.uid in self.finished)
        described = self.stage.described()
        assert described.waiting == 0
        assert not described.troubles
        self.stage.check()
        self.stage.asked()
        self.stage.advance(60.0)
        assert self.stage.asked() == []


TestStatusModel = StatusModel.TestCase
