"""Mirrors against a hostile world: whatever happened, in the end the cluster shows what runs, once.

Each deletion is checked while it is sent: it must not hit a mirror that is right, nor a pod of somebody
else's. That the API server has no two pods of one name makes every creation the only one.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from typing_extensions import override

from actors.mirrors.pod import can_be_shown
from actors.mirrors.verdicts import REFERENCES
from actors.pod_manager import POD_MANAGER
from manifests.references import pod_references
from messages.api import CallApi, FailureKind, Verb
from messages.pods import CONFIG_MIRROR, CONTENT_DIGEST, FILE, HTTP, Pod, SourceName
from messages.port import Port
from tests.support.apiserver.store import ApiStore
from tests.support.mirrors.mirror_stage import (
    NODE,
    MirrorStage,
    make_secretive,
    make_static,
    mirror_made_by,
    ordinary_pod,
)

PLACES: dict[str, SourceName] = {"web": FILE, "shop": FILE, "mail": HTTP}
NAMES = st.sampled_from(sorted(PLACES))
CONTENTS = st.sampled_from(["1", "2"])
FAILURES = st.sampled_from(
    [
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.THROTTLED,
        FailureKind.SERVER_ERROR,
        FailureKind.FORBIDDEN,
        FailureKind.INVALID,
        FailureKind.CONFLICT,
        FailureKind.MALFORMED,
    ]
)


class Watched(Port[CallApi]):
    """Passes calls on, and looks at each deletion before it is carried out."""

    def __init__(self, calls: Port[CallApi], model: MirrorModel) -> None:
        self._calls = calls
        self._model = model

    @override
    def tell(self, message: CallApi, /) -> None:
        request = message.request
        if request.verb is Verb.DELETE:
            *_, namespace, _, name = request.path.split("/")
            uid = (request.body or {})["preconditions"]["uid"]
            self._model.check_deletion(namespace, name, uid)
        if request.verb is Verb.CREATE and any(pod_references(request.body or {})):
            self._model.stage.calls.wrongs.append("what cannot be shown is asked for")
        self._calls.tell(message)


class MirrorModel(RuleBasedStateMachine):
    """What should be, beside what is."""

    is_strict = False
    """Whether the API server shows a node its own pods only, as since 1.32."""

    def __init__(self) -> None:
        super().__init__()
        self.statics: dict[str, Pod] = {}
        self.strangers: dict[str, str] = {}
        """Ordinary pods that have the name of a static one, by UID."""
        self.stage = MirrorStage(ApiStore(strict_nodes=self.is_strict), (FILE, HTTP))
        self.calls = Watched(self.stage.calls.port, self)
        self.stage.calls.port = self.calls
        self.listed: set[SourceName] = set()
        self.is_watching = False

    @initialize(names=st.sets(NAMES), content=CONTENTS)
    def the_agent_has_run_before(self, names: set[str], content: str) -> None:
        # What is in the manifests shows only once their source lists.
        uid = self.stage.registers()
        for name in sorted(names):
            static = make_static(name, content, source=PLACES[name])
            self.statics[name] = static
            self.stage.store.add(mirror_made_by(uid, static))

    # --- the agent's world ---------------------------------------------------------------------------

    @rule(name=NAMES, content=CONTENTS, is_fixed=st.booleans())
    def somebody_writes_a_manifest(self, name: str, content: str, *, is_fixed: bool) -> None:
        uid = "fixed-" + name if is_fixed else f"{name}-{content}"
        self.statics[name] = make_static(name, content, uid=uid, source=PLACES[name])
        self.lists(PLACES[name])

    @rule(name=NAMES)
    def somebody_writes_a_manifest_that_references_a_secret(self, name: str) -> None:
        self.statics[name] = make_secretive(name, source=PLACES[name])
        self.lists(PLACES[name])

    @rule(name=NAMES)
    def somebody_removes_a_manifest(self, name: str) -> None:
        self.statics.pop(name, None)
        self.lists(PLACES[name])

    @rule(source=st.sampled_from([FILE, HTTP]))
    def a_source_has_nothing_to_list_from_yet(self, source: SourceName) -> None:
        if source not in self.listed:
            self.stage.takes_for_empty(source)

    @rule()
    def the_keeper_crashes(self) -> None:
        self.stage.crashes()

    @rule()
    def pod_manager_crashes(self) -> None:
        self.stage.crashes(POD_MANAGER)
        self.everybody_lists()

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.stage.advance(seconds)

    # --- the cluster ---------------------------------------------------------------------------------

    @rule()
    def the_watch_begins(self) -> None:
        if not self.is_watching:
            self.is_watching = True
            self.stage.watches()

    @rule()
    def the_node_is_registered(self) -> None:
        if self.node_uid is None:
            self.stage.registers()

    @precondition(lambda self: self.node_uid is not None)
    @rule()
    def the_node_is_deleted(self) -> None:
        self.stage.deregisters()

    @rule(name=NAMES, grace=st.sampled_from([0, 30]))
    def somebody_deletes_the_pod(self, name: str, grace: int) -> None:
        if self.stage.store.has("pods", "default", f"{name}-{NODE}"):
            if grace == 0:
                self.strangers.pop(name, None)
            if grace == 0 or name not in self.strangers:
                self.stage.removes(name, grace)

    @rule(name=NAMES, kind=st.sampled_from(["here", "elsewhere", "mirror of another's"]))
    def somebody_takes_the_name(self, name: str, kind: str) -> None:
        if not self.stage.store.has("pods", "default", f"{name}-{NODE}"):
            static, owners = make_static(name), [{"kind": "ReplicaSet", "name": "a", "uid": "u"}]
            made = self.stage.store.add(
                mirror_made_by("", static, ownerReferences=owners)
                if kind == "mirror of another's"
                else ordinary_pod(static, NODE if kind == "here" else kind)
            )
            self.strangers[name] = made["metadata"]["uid"]
            self.stage.settle()

    @rule(name=NAMES, content=CONTENTS)
    def an_earlier_life_left_a_mirror(self, name: str, content: str) -> None:
        if not self.stage.store.has("pods", "default", f"{name}-{NODE}"):
            static = make_static(name, content, source=PLACES[name])
            self.stage.store.add(mirror_made_by(self.node_uid or "former", static))
            self.stage.settle()

    # --- what is between -----------------------------------------------------------------------------

    @rule(kind=FAILURES, times=st.integers(1, 5))
    def calls_fail(self, kind: FailureKind, times: int) -> None:
        self.stage.api.calls.fail(kind, times=times)

    @rule(times=st.integers(1, 3))
    def answers_are_lost(self, times: int) -> None:
        self.stage.api.calls.lose_answers(times=times)

    @rule()
    def the_watch_lags(self) -> None:
        self.stage.api.watches.pause()

    @rule()
    def the_watch_catches_up(self) -> None:
        self.stage.api.watches.resume()
        self.stage.settle()

    @rule()
    def the_watch_breaks(self) -> None:
        self.stage.api.watches.break_off()
        self.stage.settle()

    @rule()
    def the_watch_lists_anew(self) -> None:
        self.stage.api.watches.mend()
        self.stage.settle()

    # --- what must hold ------------------------------------------------------------------------------

    def check_deletion(self, namespace: str, name: str, uid: str) -> None:
        """Complain if that hits what is to stay."""
        if not self.stage.store.has("pods", namespace, name):
            return
        pod = Pod.of(self.stage.store.get("pods", namespace, name))
        if pod.uid == uid:
            static = self.statics.get(name.removesuffix(f"-{NODE}"))
            if uid in self.strangers.values():
                self.stage.calls.wrongs.append("a pod of somebody else's is deleted")
            elif static is not None and self.is_right(pod, static):
                self.stage.calls.wrongs.append("a right one is deleted")

    @property
    def node_uid(self) -> str | None:
        """The UID of the Node, if there is one."""
        store = self.stage.store
        return store.get("nodes", NODE)["metadata"]["uid"] if store.has("nodes", NODE) else None

    def is_right(self, pod: Pod, static: Pod) -> bool:
        """Whether that is what the cluster should show; without a Node any owner will do."""
        owners = [owner["uid"] for owner in pod.document["metadata"].get("ownerReferences", [])]
        return (
            not pod.is_deleting
            and pod.annotations.get(CONFIG_MIRROR) == static.uid
            and pod.annotations.get(CONTENT_DIGEST) == static.annotations[CONTENT_DIGEST]
            and owners == [self.node_uid or owners[0]]
        )

    def lists(self, source: SourceName) -> None:
        self.listed.add(source)
        names = [name for name in self.statics if PLACES[name] == source]
        self.stage.serves(source, *(self.statics[name] for name in names))

    def everybody_lists(self) -> None:
        if self.is_watching:
            self.stage.watcher.list_pods()
        for source in sorted(self.listed):
            self.lists(source)

    @override
    def teardown(self) -> None:
        stage = self.stage
        self.the_watch_begins()
        self.the_watch_lists_anew()
        self.the_watch_catches_up()
        stage.api.calls.recover()
        self.listed |= {FILE, HTTP}
        self.everybody_lists()
        self.the_node_is_registered()
        # Longer than the longest backoff.
        stage.advance(400.0)
        self.check_end()
        stage.play.stop()

    def check_end(self) -> None:
        """Fail unless everything is as it should be, and stays so."""
        stage = self.stage
        pods = {pod["metadata"]["name"]: Pod.of(pod) for pod in stage.store.pods()}
        hidden = {n: static for n, static in self.statics.items() if not can_be_shown(static)}
        free = {n: s for n, s in self.statics.items() if n not in {*self.strangers, *hidden}}
        for name, static in free.items():
            assert self.is_right(pods.pop(static.name), static), name
        verdicts = {**stage.sources[FILE].refused, **stage.sources[HTTP].refused}
        # A static pod whose name another pod of this node holds is not served, and so not judged.
        judged = {static.uid for name, static in hidden.items() if name not in self.strangers}
        assert {verdicts.get(uid) for uid in judged} <= {REFERENCES}
        assert {pod.uid for pod in pods.values()} == set(self.strangers.values())

        stage.check()
        stage.asked()
        stage.advance(60.0)
        names = {one.removeprefix("POST ") for one in stage.asked() if not one.startswith("GET ")}
        assert names <= self.tried_on()

    def tried_on(self) -> set[str]:
        """Return names that are tried again and again: no look says whether they are free."""
        return {f"{name}-{NODE}" for name in self.strangers} if self.is_strict else set()


class StrictMirrorModel(MirrorModel):
    """The same where a node may not look at what has a name, nor learn that nothing has it."""

    is_strict = True


TestMirrorModel = MirrorModel.TestCase
TestStrictMirrorModel = StrictMirrorModel.TestCase
