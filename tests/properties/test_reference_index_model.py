"""The index of references against a plain model: every pod that is held, looked at from top to bottom."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from messages.changes import Op, PodChange
from messages.holders import NO_MARK, Mark
from messages.objects import ObjectId, ObjectKind, Origin
from messages.pods import API, FILE, HTTP, Pod, PodUid, SourceName
from stores.objects.reference_index import (
    PodReferences,
    ReferenceChange,
    ReferenceIndex,
    ReferenceMemory,
)
from tests.support.objects.manager_players import needing

SOURCES = (API, FILE, HTTP)
NAMES = ("s1", "s2", "s3")
UIDS = ("u1", "u2", "u3", "u4")
HOOKS = ("", "restart", "signal:SIGHUP,splay=5s", "nonsense")


def pods(uid: st.SearchStrategy[str]) -> st.SearchStrategy[Pod]:
    """Few UIDs, few objects and few sources, so that they meet."""
    return st.builds(
        lambda uid, secrets, pull, env, hook, source, phase, mirror: needing(
            f"pod-{uid}",
            *secrets,
            pull=pull,
            env=env,
            hook=hook,
            uid=uid,
            source=source,
            phase=phase,
            **({"mirror": ""} if mirror else {}),
        ),
        uid,
        st.lists(st.sampled_from(NAMES), max_size=4),
        st.lists(st.sampled_from(NAMES), max_size=2),
        st.lists(st.sampled_from(NAMES), max_size=2),
        st.sampled_from(HOOKS),
        st.sampled_from(SOURCES),
        st.sampled_from(["", "Running", "Running", "Failed"]),
        st.sampled_from([False, False, False, True]),
    )


A_POD = pods(st.sampled_from(UIDS))
SOME_PODS = st.lists(A_POD, max_size=4, unique_by=lambda pod: pod.uid)


class Model:
    """Which pods are held by whom, and in which order their references came."""

    def __init__(self) -> None:
        self.listed: dict[PodUid, tuple[SourceName, Pod]] = {}
        self.registered: dict[PodUid, Pod] = {}
        self.marks: dict[tuple[PodUid, ObjectId], int] = {}
        self.mark = 0

    def versions(self, uid: PodUid) -> list[Pod]:
        listed = [self.listed[uid][1]] if uid in self.listed else []
        return listed + ([self.registered[uid]] if uid in self.registered else [])

    def uses(self) -> dict[tuple[PodUid, ObjectId], set[str]]:
        """Return what is referenced by whom, and what for."""
        uses: dict[tuple[PodUid, ObjectId], set[str]] = {}
        for uid in {*self.listed, *self.registered}:
            for pod in self.versions(uid):
                for wanted, use in used(pod):
                    uses.setdefault((uid, wanted), set()).add(use)
        return uses

    def wants(self, uid: PodUid, uses: set[str]) -> bool:
        """Return whether what is known best of a pod asks for something to be done."""
        hook = str(self.versions(uid)[0].annotations["actorlet/on-object-change"])
        return ("mounted" in uses and hook.startswith(("restart", "signal"))) or (
            "started with" in uses and hook.startswith("restart")
        )

    def expected(self, wanted: ObjectId) -> PodReferences:
        uses = self.uses()
        users = [uid for uid, one in uses if one == wanted]
        return PodReferences(
            pods=len(users),
            newest=Mark(max((self.marks[uid, wanted] for uid in users), default=NO_MARK)),
            wants_changes=any(self.wants(uid, uses[uid, wanted]) for uid in users),
        )


def used(pod: Pod) -> list[tuple[ObjectId, str]]:
    if pod.is_mirror or pod.phase == "Failed":
        return []
    origin = Origin.API if pod.source == API else Origin.LOCAL
    spec = pod.document["spec"]
    mounted = [volume["name"] for volume in spec["volumes"]]
    pulled = [secret["name"] for secret in spec["imagePullSecrets"]]
    started_with = [one["secretRef"]["name"] for one in spec["containers"][0]["envFrom"]]
    named = {"mounted": mounted, "pulled": pulled, "started with": started_with}
    return [
        (ObjectId(kind=ObjectKind.SECRET, namespace="default", name=name, origin=origin), use)
        for use, names in named.items()
        for name in names
    ]


class ReferenceIndexModel(RuleBasedStateMachine):
    """Beside the index a model of it, and what somebody knows who is only told what was touched."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = ReferenceMemory()
        self.index = ReferenceIndex(ObjectKind.SECRET, self.memory)
        self.model = Model()
        self.known: dict[ObjectId, PodReferences] = {}

    @rule(source=st.sampled_from(SOURCES), listed=SOME_PODS)
    def lists(self, source: SourceName, listed: list[Pod]) -> None:
        model = self.model
        model.listed = {uid: held for uid, held in model.listed.items() if held[0] != source}
        model.listed |= {pod.uid: (source, pod) for pod in listed}
        self.note(self.index.replace(source, listed))

    @rule(removed=st.sets(st.sampled_from(UIDS), max_size=2), told=SOME_PODS)
    def changes(self, removed: set[str], told: list[Pod]) -> None:
        told = [pod for pod in told if pod.uid not in removed]
        for uid in removed:
            self.model.listed.pop(PodUid(uid), None)
        self.model.listed |= {pod.uid: (SourceName(pod.source), pod) for pod in told}
        gone = [PodChange(op=Op.REMOVE, pod=needing(uid=uid)) for uid in sorted(removed)]
        come = [PodChange(op=Op.UPDATE, pod=pod) for pod in told]
        self.note(self.index.apply([*gone, *come]))

    @rule(pod=A_POD)
    def registers(self, pod: Pod) -> None:
        self.model.registered[pod.uid] = pod
        self.note(self.index.register(pod))

    @rule(uid=st.sampled_from(UIDS))
    def unregisters(self, uid: str) -> None:
        self.model.registered.pop(PodUid(uid), None)
        self.note(self.index.unregister(PodUid(uid)))

    @rule()
    def crashes(self) -> None:
        self.index = ReferenceIndex(ObjectKind.SECRET, self.memory)

    def note(self, changed: ReferenceChange) -> None:
        uses = self.model.uses()
        old = {pair: mark for pair, mark in self.model.marks.items() if pair in uses}
        new = {pair: self.index.mark(*pair) for pair in uses if pair not in old}
        # New references have marks of their own, each higher than any before; others keep theirs.
        assert all(mark is not None and mark > self.model.mark for mark in new.values())
        assert len({*new.values()}) == len(new)
        self.model.marks = old | {pair: mark for pair, mark in new.items() if mark is not None}
        self.model.mark = max([self.model.mark, *self.model.marks.values()])
        for wanted in changed.touched:
            self.known[wanted] = self.index.references(wanted)

    @invariant()
    def every_reference_is_in_the_index_and_no_other(self) -> None:
        uses = self.model.uses()
        assert {*self.index.objects()} == {wanted for _, wanted in uses}
        assert self.index.pods() == len({uid for uid, _ in uses})
        for wanted in self.index.objects():
            assert self.index.references(wanted) == self.model.expected(wanted)
        for pair, mark in self.model.marks.items():
            assert self.index.mark(*pair) == mark

    @invariant()
    def who_is_told_what_was_touched_knows_everything(self) -> None:
        known = {wanted: told for wanted, told in self.known.items() if told.pods}
        assert known == {wanted: self.index.references(wanted) for wanted in self.index.objects()}

    @invariant()
    def nothing_is_kept_of_pods_that_nobody_holds(self) -> None:
        assert self.memory.pods.keys() == {*self.model.listed, *self.model.registered}
        assert all(self.memory.objects.values())


TestReferenceIndexModel = ReferenceIndexModel.TestCase
