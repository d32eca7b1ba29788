"""The watcher of one Secret on a stage: an API server in memory, somebody who reads, a manager that listens.

What the fake API server does not do, such as events that are broken, the test tells the watcher itself.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from actors.objects.watcher import (
    ObjectWatcher,
    ObjectWatcherMessage,
    WatcherMemory,
    WatcherPorts,
    watcher_key,
)
from kernel import Backoff, Level, Runtime
from messages.holders import (
    HolderDone,
    HolderFact,
    HolderIs,
    Mark,
    ReferencesAre,
)
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
)
from messages.pods import JsonObject
from messages.units import Seconds
from messages.watches import ObjectOp, ObjectsAre, TargetListed, WatchEvent
from stores.objects.paths import object_target
from stores.objects.watcher_memory import WatcherRules, idle_limit_for
from tests.support.apiserver.fake_api import FakeApi
from tests.support.canary import hidden
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.objects.reader import (
    LEVEL_OWNER,
    READER,
    Answer,
    LevelOwner,
    Read,
    Reader,
    ReadMemory,
    Repeats,
)

NAMESPACE, NAME = "shop", "s1"


def object_id(kind: ObjectKind = ObjectKind.SECRET, name: str = NAME) -> ObjectId:
    """Return which object is watched."""
    return ObjectId(kind=kind, namespace=NAMESPACE, name=name)


WANTED = object_id()
TARGET = object_target(WANTED)
RULES = WatcherRules(
    idle_limit=idle_limit_for(Seconds(1.0)),
    open_within=Backoff(initial=Seconds(30.0), cap=Seconds(3600.0), jitter=Seconds(0.0)).delay,
    retry=Backoff(initial=Seconds(0.1), cap=Seconds(5.0), jitter=Seconds(0.0)).delay,
)


def secret(name: str = NAME, *, immutable: bool = False, **data: str) -> JsonObject:
    """Return a Secret as somebody writes it."""
    encoded = {
        key: base64.b64encode(hidden(value).encode()).decode() for key, value in data.items()
    }
    metadata = {"namespace": NAMESPACE, "name": name}
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}
    return {**document, "immutable": True} if immutable else document


def version(number: int, *, uid: str = "u1", immutable: bool = False, **data: str) -> JsonObject:
    """Return one version of the Secret as the API server tells it."""
    document = secret(immutable=immutable, **data)
    metadata = {**document["metadata"], "uid": uid, "resourceVersion": str(number)}
    return {**document, "metadata": metadata}


def listed(*documents: JsonObject, at: int, mark: int = 1) -> ObjectsAre:
    """Return a list of the watch: what there was at version ``at``."""
    return ObjectsAre(target=TARGET, objects=documents, resource_version=str(at), mark=mark)


def told(op: ObjectOp, document: JsonObject) -> WatchEvent:
    """Return an event of the watch."""
    return WatchEvent(target=TARGET, op=op, object=document)


def answered(*documents: JsonObject, at: int, mark: int) -> TargetListed:
    """Return the answer to the list that was asked for at ``mark``."""
    return TargetListed(target=TARGET, mark=mark, outcome=listed(*documents, at=at, mark=mark))


def references(count: int = 1, *, mark: int = 1, is_followed: bool = False) -> ReferencesAre:
    """Return what the manager says of those who need the Secret."""
    return ReferencesAre(references=count, newest=Mark(mark), is_followed=is_followed)


class WatcherStage:
    """The stage: ``reads`` asks, ``read`` asks and returns the answer."""

    def __init__(self, play: Stage, wanted: ObjectId) -> None:
        self.play = play
        self.api = FakeApi(as_node="")
        self.store, self.watches = self.api.store, self.api.watches
        self.manager: Probe[HolderFact | ChangeMissed] = Probe()
        self._reads = ReadMemory()
        self._needs = references(0, mark=0)
        """What the watcher was told last."""
        self._repeats = Repeats()
        self.memory = WatcherMemory(wanted)
        self.level: Level[ObjectId, HeldObject] = Level()
        self.described: ObjectDescribed | None = None
        """As the manager was told last, at the last look at ``news``."""

    def make(self) -> ObjectWatcher:
        """Return the next life of the watcher."""
        me = self.play.port(KEY)
        ports = WatcherPorts(watches=self.watches, manager=self.manager, objects=self.level, me=me)
        return ObjectWatcher(ports, RULES, self.memory)

    def make_owner(self) -> LevelOwner:
        """Return who owns the level, in the manager's place."""
        return LevelOwner(self.level, self.play.port(LEVEL_OWNER), self._wants)

    def make_reader(self) -> Reader:
        """Return who reads."""
        levels = dict.fromkeys(ObjectKind, self.level)
        return Reader(levels, self.play.port(READER), self._reads)

    def _wants(self, _wanted: ObjectId, look: int) -> None:
        if self._needs.references:
            self._needs = replace(self._needs, wanted=look)
            self._repeats.told += 1
            self.play.port(KEY).tell(self._needs)

    # --- how stories begin ---------------------------------------------------------------------------

    def synced(self) -> WatcherStage:
        """Have a Secret, ``a=1``, that is watched and was not read."""
        self.store.add(secret(a="1"))
        self.refers()
        self.asked()
        self.news()
        return self

    def by_hand(self) -> WatcherStage:
        """Have an API server that is silent, apart from one version that the test told: ``a=1``."""
        self.watches.hold_lists()
        self.hears(references(), listed(version(10, a="1"), at=10))
        self.news()
        return self

    # --- the agent's side ----------------------------------------------------------------------------

    def refers(self, count: int = 1, *, mark: int = 1, is_followed: bool = False) -> None:
        """Have so many pods reference the Secret, the latest of them since ``mark``."""
        self.hears(references(count, mark=mark, is_followed=is_followed))

    def reads(self, within: float = 1.0) -> None:
        """Begin to read."""
        self.play.tell(READER, Read(self.memory.object, Seconds(within)))

    def read(self) -> Answer:
        """Read, and return the answer, which comes without time passing."""
        self.reads()
        (answer,) = self.answered()
        return answer

    def answered(self) -> list[Answer]:
        """Return the answers since the last look."""
        return self._reads.take_answers()

    def answers(self) -> list[str]:
        """Return what was answered since the last look."""
        return [answer.in_words() for answer in self.answered()]

    def hears(self, *messages: ObjectWatcherMessage) -> None:
        """Have the watcher told all of them before it handles any."""
        told = [self._with_look(message) for message in messages]
        self.play.tell_all(KEY, *told)

    def _with_look(self, message: ObjectWatcherMessage) -> ObjectWatcherMessage:
        if not isinstance(message, ReferencesAre):
            return message
        self._needs = replace(message, wanted=self._needs.wanted if message.references else 0)
        return self._needs

    def crashes(self, seconds: float = 0.2) -> None:
        """Crash the watcher; it lives again a moment later."""
        self.play.system.crash(KEY.path)
        self.play.advance(seconds)

    # --- what it says and asks -----------------------------------------------------------------------

    @property
    def is_watched(self) -> bool:
        """Whether somebody wants the Secret to be watched."""
        self.play.settle()
        return self.watches.targets == [TARGET]

    def asked(self) -> list[str]:
        """Return what the API server was asked since the last look: ``list``, ``watch``."""
        self.play.settle()
        return [attempt.split()[0] for attempt in self.watches.asked()]

    def news(self) -> list[str]:
        """Return what the manager was told since the last look, apart from repeats for who reads."""
        self.play.settle()
        facts = self._repeats.without(self.manager.drain())
        self.described = self._repeats.described.get(self.memory.object)
        return [news_in_words(fact) for fact in facts if isinstance(fact, HolderIs | HolderDone)]

    def now(self) -> ObjectDescribed:
        """Return how the Secret is held, as the manager was told last."""
        self.news()
        assert self.described is not None
        return self.described


KEY = watcher_key(WANTED)
WHERE = ("secrets", NAMESPACE, NAME)
"""For the administrator's hand."""


@contextmanager
def watcher_stage(
    runtime: Runtime | None = None, wanted: ObjectId = WANTED
) -> Iterator[WatcherStage]:
    """Start a watcher that was told nothing."""
    watcher: WatcherStage

    play = stage_for(
        (KEY, lambda _play: watcher.make()),
        (LEVEL_OWNER, lambda _play: watcher.make_owner()),
        (READER, lambda _play: watcher.make_reader()),
        runtime=runtime,
        root=PATIENT_ROOT,
    )
    watcher = WatcherStage(play, wanted)
    play.start()
    try:
        yield watcher
        errors = [ended.error for ended in play.endings]
        assert [error for error in errors if error and "InjectedCrashError" not in error] == []
    finally:
        play.stop()


def news_in_words(fact: HolderIs | HolderDone) -> str:
    """Return what the manager is told as ``synced``, ``synced: modified a``, ``done``."""
    match fact:
        case HolderDone():
            return "done"
        case HolderIs(described=described, changed=None):
            return str(described.state)
        case HolderIs(described=described, changed=changed, concerns=concerns):
            first = "" if concerns else " at first"
            keys = " ".join(["", *changed.keys]) if changed else ""
            return f"{described.state}: {changed.change if changed else ''}{keys}{first}"
