"""Fetchers of Secrets on a stage: an API server in memory, somebody who reads, and a manager that listens."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from typing_extensions import override

from actors.objects.fetcher import (
    FetcherMemory,
    FetcherPorts,
    FetchMode,
    ObjectFetcher,
    fetcher_key,
)
from kernel import Level, Port, Steps
from messages.api import ApiAnswered, ApiFailure, CallApi
from messages.holders import (
    HolderDone,
    HolderFact,
    HolderIs,
    Mark,
    ReferencesAre,
    UnprovenUsed,
)
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    ReadVerdict,
    UnprovenTaken,
)
from messages.pods import JsonObject, PodUid
from messages.units import Seconds
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

NAMESPACE = "shop"


def secret_id(name: str = "s1") -> ObjectId:
    """Return which Secret ``name`` is."""
    return ObjectId(kind=ObjectKind.SECRET, namespace=NAMESPACE, name=name)


def secret(name: str = "s1", **data: str) -> JsonObject:
    """Return a Secret as somebody writes it."""
    metadata = {"namespace": NAMESPACE, "name": name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": _encoded(data)}


def _encoded(data: dict[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(hidden(value).encode()).decode() for key, value in data.items()}


class CallsOfCache(Port[CallApi]):
    """Passes calls on, but answers those that the API server's cache may answer from a lagging one."""

    def __init__(self, port: Port[CallApi]) -> None:
        self._port = port
        self.lagging: JsonObject | ApiFailure | None = None
        """What the cache says; None when it is up to date."""
        self.last: CallApi | None = None
        """The last call."""

    @override
    def tell(self, message: CallApi, /) -> None:
        self.last = message
        if self.lagging is None or not message.request.query:
            self._port.tell(message)
            return
        answer = ApiAnswered(request=message.request, outcome=self.lagging)
        message.reply_to.tell(answer)


class FetcherStage:
    """The stage: ``reads`` asks, ``read`` asks and returns the answer."""

    def __init__(self, names: tuple[str, ...], mode: FetchMode) -> None:
        self.api = FakeApi(as_node="")
        self.store = self.api.store
        self.calls = CallsOfCache(self.api.calls)
        self.manager: Probe[HolderFact | ChangeMissed] = Probe()
        self.level: Level[ObjectId, HeldObject] = Level()
        self._reads = ReadMemory()
        self._repeats = Repeats()
        self._needs: dict[ObjectId, ReferencesAre] = {}
        """What the fetchers were told last."""
        # None is asked for sooner than another.
        self.memories = {name: FetcherMemory(phase=0.0) for name in names}
        self._mode = mode
        actors = [(fetcher_key(secret_id(name)), self._making(name)) for name in names]
        around = ((LEVEL_OWNER, self._make_owner), (READER, self._make_reader))
        self.play = stage_for(*actors, *around, runtime=Steps(), root=PATIENT_ROOT)
        self.play.start()

    def has(self, *names: str) -> None:
        """Have the API server hold Secrets of these names."""
        for name in names:
            self.store.add(secret(name, a="1"))

    def changes(self, **data: str) -> None:
        """Have somebody change values of ``s1``."""
        self.store.change("secrets", NAMESPACE, "s1", data=_encoded(data))

    # --- the agent's side ----------------------------------------------------------------------------

    def refers(
        self, count: int = 1, *, mark: int = 1, name: str = "s1", followed: float | None = None
    ) -> None:
        """Have so many pods reference a Secret, the latest of them since ``mark``.

        ``followed`` is the time to live in seconds of one that somebody follows.
        """
        told = ReferencesAre(
            references=count,
            newest=Mark(mark),
            is_followed=followed is not None,
            wanted=self._before(secret_id(name)).wanted,
            time_to_live=Seconds(60.0 if followed is None else followed),
        )
        self._tells(secret_id(name), told)
        self.play.settle()

    def refers_to(self, *, pods: int = 1, **marks: int) -> None:
        """Have so many pods reference each of some Secrets since its mark."""
        for name, mark in marks.items():
            self.refers(pods, mark=mark, name=name)

    def read_each(self, **marks: int) -> list[str]:
        """Read each of some Secrets for a reference of its mark; return the requests it took."""
        answers = [self.read(name, mark=mark) for name, mark in marks.items()]
        assert all(answer.verdict is ReadVerdict.FOUND for answer in answers)
        return self.asked()

    def requests_after(self, *waits: float, ttl: float) -> list[int]:
        """Return how many requests a read took after each of these waits, in seconds."""
        counts = []
        for wait in waits:
            self.play.advance(wait)
            assert self.read(ttl=ttl).verdict is ReadVerdict.FOUND
            counts.append(len(self.asked()))
        return counts

    def read(self, name: str = "s1", **how: Any) -> Answer:
        """Read, and return the answer, which comes without time passing."""
        self.reads(name, **how)
        (answer,) = self.answered()
        return answer

    def reads(
        self, name: str = "s1", *, mark: int = 0, ttl: float | None = None, within: float = 1.0
    ) -> None:
        """Begin to read for the pod of ``mark``, by default for one that there is already.

        ``ttl`` is the time to live in seconds from here on.
        """
        wanted = secret_id(name)
        before = self._before(wanted)
        self._needs[wanted] = replace(
            before,
            references=max(1, before.references),
            newest=Mark(max(mark, before.newest, 1)),
            time_to_live=before.time_to_live if ttl is None else Seconds(ttl),
        )
        self.play.port(READER).tell(Read(wanted, Seconds(within)))

    def reads_at_once(self, names: tuple[str, ...], times: int, ttl: float) -> list[Answer]:
        """Have each Secret read so often before anything is answered; return all answers."""
        self.api.calls.hold()
        for _ in range(times):
            for name in names:
                self.reads(name, ttl=ttl)
            self.play.settle()
        self.api.calls.release()
        return self.answered()

    def asked_after(self, *waits: float) -> list[list[str]]:
        """Return the requests that came within each of these waits, in seconds, in which nobody reads."""
        asked = []
        for wait in waits:
            self.play.advance(wait)
            asked.append(self.asked())
        return asked

    def has_phases(self, step: float) -> None:
        """Have each fetcher ask a little later than the one before it, if nobody reads."""
        for number, memory in enumerate(self.memories.values()):
            memory.phase = (number + 0.5) * step

    def follows_all(self, ttl: float) -> None:
        """Have somebody begin to follow all Secrets."""
        for name in self.memories:
            self.refers(name=name, followed=ttl)

    def goes_on(self, *, mark: int, version: str) -> None:
        """Have the pod of ``mark`` go on with a version that nobody could prove in time."""
        wanted, verdict = secret_id(), ReadVerdict.FOUND
        taken = UnprovenTaken(
            pod=PodUid("web"), object=wanted, verdict=verdict, resource_version=version
        )
        self.play.tell(fetcher_key(wanted), UnprovenUsed(taken=taken, mark=Mark(mark)))

    def answers(self) -> list[str]:
        """Return the verdicts since the last look."""
        return [answer.in_words().split()[0] for answer in self.answered()]

    def answered(self) -> list[Answer]:
        """Return the answers since the last look."""
        self.play.settle()
        return self._reads.take_answers()

    def answers_after(self, *waits: float) -> list[list[str]]:
        """Return the verdicts that came within each of these waits, in seconds."""
        verdicts = []
        for wait in waits:
            self.play.advance(wait)
            verdicts.append(self.answers())
        return verdicts

    def crashes(self, name: str = "s1") -> None:
        """Crash the fetcher instead of what it would do next; it lives again a moment later."""
        self.play.system.crash(fetcher_key(secret_id(name)).path)
        self.play.settle()

    # --- what it says and asks -----------------------------------------------------------------------

    def asked(self) -> list[str]:
        """Return the requests since the last look: ``s1``, or ``s1 of the cache``."""
        self.play.settle()
        requests = self.api.calls.requests
        asked = [
            request.path.removeprefix(f"/api/v1/namespaces/{NAMESPACE}/secrets/")
            + (" of the cache" if request.query == {"resourceVersion": "0"} else "")
            for request in requests
        ]
        requests.clear()
        return asked

    def news(self) -> list[str]:
        """Return what the manager was told since the last look, apart from repeats."""
        told = [
            _in_words(fact)
            for fact in self._repeats.without(self.manager.drain())
            if isinstance(fact, HolderIs | HolderDone)
        ]
        return [word for word, before in zip(told, ["", *told], strict=False) if word != before]

    def concerned(self) -> list[tuple[str, int]]:
        """Return the changes that the manager was told of since the last look, up to which mark each."""
        self.play.settle()
        facts = [fact for fact in self.manager.drain() if isinstance(fact, HolderIs)]
        return [(str(fact.changed.change), fact.concerns) for fact in facts if fact.changed]

    def _before(self, wanted: ObjectId) -> ReferencesAre:
        none = ReferencesAre(references=0, newest=Mark(0), is_followed=False)
        return self._needs.get(wanted, none)

    def _tells(self, wanted: ObjectId, needs: ReferencesAre) -> None:
        self._needs[wanted] = needs
        self.play.port(fetcher_key(wanted)).tell(needs)

    def _wants(self, wanted: ObjectId, look: int) -> None:
        before = self._before(wanted)
        if before.references:
            self._repeats.told += 1
            self._tells(wanted, replace(before, wanted=look))

    def _make_owner(self, play: Stage) -> LevelOwner:
        return LevelOwner(self.level, play.port(LEVEL_OWNER), self._wants)

    def _make_reader(self, play: Stage) -> Reader:
        levels = {ObjectKind.SECRET: self.level}
        return Reader(levels, play.port(READER), self._reads)

    def _making(self, name: str) -> Callable[[Stage], ObjectFetcher]:
        ports = FetcherPorts(calls=self.calls, manager=self.manager, objects=self.level)
        memory = self.memories[name]
        return lambda _play: ObjectFetcher(secret_id(name), self._mode, ports, memory)


@contextmanager
def fetcher_stage(*names: str, mode: FetchMode = FetchMode.CACHE) -> Iterator[FetcherStage]:
    """Start a fetcher for each name, or for ``s1`` alone."""
    stage = FetcherStage(names or ("s1",), mode)
    try:
        yield stage
        errors = [ended.error for ended in stage.play.endings]
        assert [error for error in errors if error and "InjectedCrashError" not in error] == []
    finally:
        stage.play.stop()


def _in_words(fact: HolderIs | HolderDone) -> str:
    match fact:
        case HolderDone():
            return "done"
        case HolderIs(changed=ObjectChanged() as changed, concerns=concerns):
            whom = "" if concerns else " for nobody"
            return f"{changed.change} {','.join(changed.keys)}{whom}"
        case HolderIs(described=described):
            known = "known" if described.is_known else "unknown"
            return f"{described.state} {known}{' with an error' if described.error else ''}"
