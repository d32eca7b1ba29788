"""The whole strategy Watch against a plain model: pods come and go, Secrets change, and everything breaks.

Real managers, supervisor and watchers stand before an API server in memory. Whatever happens: who holds
and watches what follows from the references, from who reads and from what pods cannot have, and no read is
older than the reference it is for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from kernel import Key
from messages.objects import (
    ObjectKind,
    ObjectValue,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import Pod
from tests.support.builders import edited
from tests.support.canary import LOOKOUT, hidden, revealed
from tests.support.objects.administrators import NAMESPACE
from tests.support.objects.reader import Answer
from tests.support.objects.stores import Store, object_world

FIXED = "fixed"
"""A Secret that is always there, and immutable."""
CHANGING = ("db", "tls")
SECRETS = (*CHANGING, FIXED)


IDLE_LIMIT = 300.0
"""Seconds: five times the sync frequency of the stage."""
TO_REST = 40.0
"""Seconds: longer than anything is waited for before it is tried again."""
TROUBLE_ENDS = TO_REST + 5.0
"""Seconds: longer than it takes to notice and to tell that a Secret is there again."""

names = st.sampled_from(["web", "shop", "job"])
references = st.sets(st.sampled_from(SECRETS))
changing = st.sampled_from(CHANGING)


class ObjectsModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        path = Path(self.stack.enter_context(TemporaryDirectory())) / "objects"
        self.world = self.stack.enter_context(object_world(Store.WATCH, ObjectKind.SECRET, path))
        self.listed: dict[str, Pod] = {}
        """By name: what the source lists."""
        self.registered: dict[str, Pod] = {}
        """By UID: what was registered beside that."""
        self.known: dict[str, Pod] = {}
        """By UID: every pod that there ever was."""
        self.since: dict[tuple[str, str], int] = {}
        """By UID and Secret: the state of the Secret when the reference came."""
        self.used: dict[str, float] = {}
        """When a Secret was read, or newly referenced."""
        self.missed: set[str] = set()
        """Secrets that are referenced, and certainly known to be missing: they never rest."""
        self.may_be_missed_until: dict[str, float] = {}
        """By Secret that was missing: when it rests for certain, if nobody has used it since."""
        self.past: dict[str, list[str | None]] = {name: [None] for name in SECRETS}
        """What each Secret was, one after the other; None while there was none."""
        self.is_away = False
        self.is_lagging = False
        self.crashes = 0
        self.write(FIXED, immutable=True)

    @override
    def teardown(self) -> None:
        LOOKOUT.look("a memory", repr((self.world.memories, self.world.play.describe())))
        self.stack.close()

    # --- pods ------------------------------------------------------------------------------------------

    @rule(name=names, wanted=references)
    def a_pod_comes_or_is_told_again(self, name: str, wanted: set[str]) -> None:
        uid = self.listed[name].uid if name in self.listed else self.new_uid()
        self.list_pod(self.pod(name, uid, wanted))

    @rule(name=names, wanted=references)
    def a_pod_comes_with_another_uid(self, name: str, wanted: set[str]) -> None:
        self.list_pod(self.pod(name, self.new_uid(), wanted))

    @precondition(lambda self: self.listed)
    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        del self.listed[data.draw(st.sampled_from(sorted(self.listed)))]
        self.list_pods()

    @precondition(lambda self: self.listed)
    @rule(data=st.data(), phase=st.sampled_from(["Succeeded", "Failed"]))
    def a_pod_runs_to_its_end(self, data: st.DataObject, phase: str) -> None:
        pod = self.listed[data.draw(st.sampled_from(sorted(self.listed)))]
        self.list_pod(edited(pod, status={"phase": phase}))

    @precondition(lambda self: self.known)
    @rule(data=st.data(), wanted=references)
    def a_pod_is_registered(self, data: st.DataObject, wanted: set[str]) -> None:
        known = self.known[data.draw(st.sampled_from(sorted(self.known)))]
        pod = self.pod(known.name, known.uid, wanted)
        self.registered[pod.uid] = pod
        self.world.play.tell(self.world.manager, RegisterPod(pod=pod))
        self.note_references()

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def a_pod_is_unregistered(self, data: st.DataObject) -> None:
        pod = self.known[data.draw(st.sampled_from(sorted(self.known)))].uid
        self.registered.pop(pod, None)
        self.world.play.tell(self.world.manager, UnregisterPod(pod=pod))
        self.note_references()

    # --- reads -----------------------------------------------------------------------------------------

    @precondition(lambda self: self.known)
    @rule(data=st.data(), secret=st.sampled_from(SECRETS))
    def a_pod_reads(self, data: st.DataObject, secret: str) -> None:
        self.read(data.draw(st.sampled_from(sorted(self.known))), secret)

    @precondition(lambda self: self.since)
    @rule(data=st.data())
    def a_pod_reads_what_it_references(self, data: st.DataObject) -> None:
        self.read(*data.draw(st.sampled_from(sorted(self.since))))

    @precondition(lambda self: self.is_at_rest)
    @rule(name=names, secret=st.sampled_from(SECRETS))
    def a_new_pod_reads_while_the_watches_lag(self, name: str, secret: str) -> None:
        """It waits for what is of its own time."""
        self.world.api.watches.pause()
        self.list_pod(self.pod(name, self.new_uid(), {secret}))
        self.world.begins_to_read(self.listed[name], secret)
        self.world.api.watches.resume()
        self.world.play.settle()
        (answer,) = self.world.answers()
        assert answer.is_fresh
        self.check(answer, self.past[secret][-1:])

    @rule(seconds=st.sampled_from([0.5, 61.0, IDLE_LIMIT + 1.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.play.advance(seconds)

    # --- Secrets ---------------------------------------------------------------------------------------

    @rule(secret=changing)
    def a_secret_is_written(self, secret: str) -> None:
        self.write(secret)

    @rule(secret=changing)
    def a_secret_is_deleted(self, secret: str) -> None:
        self.remove(secret)

    @rule(secret=changing)
    def a_secret_is_made_anew(self, secret: str) -> None:
        self.remove(secret)
        self.write(secret)

    # --- what breaks -----------------------------------------------------------------------------------

    @precondition(lambda self: not self.is_away)
    @rule()
    def the_watches_are_cut(self) -> None:
        self.is_away = True
        self.world.cluster.goes_away()
        self.world.play.settle()

    @precondition(lambda self: self.is_away)
    @rule(is_gone=st.booleans())
    def the_watches_are_mended(self, *, is_gone: bool) -> None:
        """They go on where they were, or have to list anew (410)."""
        self.is_away = False
        watches = self.world.api.watches
        (watches.mend if is_gone else watches.mend_and_resume)()
        self.world.play.advance(TO_REST)

    @precondition(lambda self: not self.is_lagging)
    @rule()
    def the_watches_lag(self) -> None:
        self.is_lagging = True
        self.world.api.watches.pause()

    @precondition(lambda self: self.is_lagging)
    @rule()
    def the_watches_catch_up(self) -> None:
        self.is_lagging = False
        self.world.api.watches.resume()
        self.world.play.advance(TO_REST)

    @rule()
    def the_manager_crashes(self) -> None:
        self.crash(self.world.manager)

    @precondition(lambda self: self.world.holders())
    @rule(data=st.data())
    def a_watcher_crashes(self, data: st.DataObject) -> None:
        self.crash(Key(data.draw(st.sampled_from(self.world.holders()))))

    # --- what holds always -----------------------------------------------------------------------------

    @invariant()
    def what_is_referenced_and_read_has_a_watcher(self) -> None:
        self.note_missed()
        holders = set(self.world.holders())
        assert holders <= set(_holders_of(self.referenced()))
        used = self.used_for_certain()
        assert holders >= set(_holders_of(used))
        if self.is_at_rest:
            assert holders <= set(_holders_of(used | self.may_be_followed()))

    @invariant()
    def what_is_referenced_and_read_is_watched(self) -> None:
        selectors = [target.field_selector for target in self.world.api.watches.targets]
        watched = sorted(selector.removeprefix("metadata.name=") for selector in selectors)
        assert set(watched) <= self.referenced()
        assert len(watched) == len(set(watched))
        if self.is_at_rest:
            used = self.used_for_certain() - {FIXED}
            assert used <= set(watched) <= used | self.may_be_followed()

    # --- how -------------------------------------------------------------------------------------------

    @property
    def is_at_rest(self) -> bool:
        return not self.is_away and not self.is_lagging

    def referenced(self) -> set[str]:
        return {secret for _, secret in self.since}

    def used_for_certain(self) -> set[str]:
        return {name for name in self.referenced() if not self.rests(name)} | self.missed

    def may_be_followed(self) -> set[str]:
        """Return what may be held since it is, or was a while ago, a trouble of a pod."""
        now = self.world.play.clock.monotonic()
        return {
            name
            for name, until in self.may_be_missed_until.items()
            if name in self.referenced() and until > now
        }

    def note_missed(self) -> None:
        """Note which Secrets pods cannot have. What is idle while it is deleted is not missed by anybody."""
        self.missed &= self.referenced()
        for name in CHANGING:
            if self.past[name][-1] is None:
                self.note_may_be_missed(name)
                if self.is_at_rest and name in self.referenced() and not self.rests(name):
                    self.missed.add(name)
        if not self.is_at_rest:
            for name in self.may_be_followed():
                self.note_may_be_missed(name)

    def note_may_be_missed(self, secret: str) -> None:
        """Note that pods may be known not to have a Secret, unless nobody looks at it any more."""
        if self.is_at_rest and self.rests(secret) and secret not in self.may_be_followed():
            return
        now = self.world.play.clock.monotonic()
        self.may_be_missed_until[secret] = now + TROUBLE_ENDS + IDLE_LIMIT

    def crash(self, key: Key[Any]) -> None:
        """Crash somebody, but not so often that who crashes is down for longer than a read waits."""
        self.crashes += 1
        if self.crashes % 3 == 0:
            self.world.play.advance(TO_REST)
        self.world.crashes(key)

    def new_uid(self) -> str:
        return f"uid-{len(self.known) + 1}"

    def pod(self, name: str, uid: str, wanted: set[str]) -> Pod:
        pod = self.world.pod(name, *sorted(wanted), uid=uid)
        self.known[uid] = pod
        return pod

    def list_pod(self, pod: Pod) -> None:
        self.listed[pod.name] = pod
        self.list_pods()

    def list_pods(self) -> None:
        self.world.serves(*self.listed.values())
        self.note_references()

    def note_references(self) -> None:
        held = [*self.listed.values(), *self.registered.values()]
        now = {(pod.uid, secret) for pod in held for secret in _references(pod)}
        self.since = {each: at for each, at in self.since.items() if each in now}
        self.missed &= self.referenced()  # of a new pod nobody knows yet whether it cannot have one
        for uid, secret in now - self.since.keys():
            self.since[uid, secret] = len(self.past[secret]) - 1
            self.used[secret] = self.world.play.clock.monotonic()

    def write(self, secret: str, *, immutable: bool = False) -> None:
        version = str(len(self.past[secret]))
        self.missed.discard(secret)
        self.past[secret].append(version)
        document = {"apiVersion": "v1", "kind": "Secret", "immutable": immutable}
        metadata = {"namespace": NAMESPACE, "name": secret}
        data = {"version": b64encode(hidden(version).encode()).decode()}
        self.world.cluster.write({**document, "metadata": metadata, "data": data})
        self.world.play.settle()

    def remove(self, secret: str) -> None:
        if self.past[secret][-1] is not None:
            self.past[secret].append(None)
            self.note_may_be_missed(secret)
            self.world.cluster.remove(secret)
            self.world.play.settle()

    def read(self, uid: str, secret: str) -> None:
        since = self.since.get((uid, secret))
        may_rest = self.rests(secret)
        answer = self.world.read(self.known[uid], secret)
        if secret in self.referenced():
            self.used[secret] = self.world.play.clock.monotonic()
        is_unknown = answer.verdict is ReadVerdict.NOT_REGISTERED
        assert is_unknown == (secret not in self.referenced())
        LOOKOUT.look("an answer", repr(answer))
        if since is not None:
            self.check(answer, self.past[secret][since:], may_rest=may_rest)

    def rests(self, secret: str) -> bool:
        """Return whether nobody used a Secret for so long that it is not watched."""
        now = self.world.play.clock.monotonic()
        return secret in self.used and now >= self.used[secret] + IDLE_LIMIT

    def check(self, answer: Answer, states: list[str | None], *, may_rest: bool = False) -> None:
        """Fail if an answer is not what may be said of a Secret that was in these states since."""
        verdict, found = answer.verdict, _version(answer.value)
        assert verdict is not ReadVerdict.STALE or (answer.age is not None and answer.age >= 0)
        assert verdict is not ReadVerdict.FOUND or answer.age is None
        if (
            answer.is_fresh
            and answer.age is None
            and verdict in {ReadVerdict.FOUND, ReadVerdict.NOT_FOUND}
        ):
            assert found in states
            assert self.is_lagging or found == states[-1]
            assert self.is_lagging or not self.is_away or answer.object.name == FIXED
        else:
            assert may_rest or not self.is_at_rest


def _holders_of(names: Iterable[str]) -> list[str]:
    return sorted(f"objects/secrets/{NAMESPACE}/{name}" for name in names)


def _references(pod: Pod) -> set[str]:
    if pod.is_terminal:
        return set()
    return {volume["secret"]["secretName"] for volume in pod.document["spec"]["volumes"]}


def _version(value: ObjectValue | None) -> str | None:
    return revealed(value.data["version"]) if value else None


TestObjects = ObjectsModel.TestCase
