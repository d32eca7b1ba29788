"""A stage for PodManager, with sources and subscribers that only collect what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import Port, Runtime
from messages.pod_manager import (
    DescribePod,
    PodDescribed,
    PodFact,
    PodsAre,
    PodsDescribed,
    Subscribe,
)
from messages.pods import API, FILE, HTTP, FullName, Pod, PodUid, SourceName
from messages.sources import Epoch, ListPods, PodsJudged, SourceListed, SourceMessage
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of
from tests.support.questions import describe_pods


class Listener(Probe[PodFact]):
    """A subscriber, and what it heard in words."""

    def heard(self) -> list[str]:
        """Return what was told since the last call: ``file are a``, ``file: ADD b``, ``file may be``."""
        return [_words(fact) for fact in self.drain()]


class SilentSource(Probe[SourceMessage]):
    """A source that lists only when the test says so."""

    def asked(self) -> int:
        """Return how often it was asked for its listing since the last ``drain`` of any kind."""
        return sum(isinstance(message, ListPods) for message in self.drain())

    def judged(self) -> PodsJudged | None:
        """Return the newest verdict told since the last ``drain`` of any kind."""
        verdicts = [message for message in self.drain() if isinstance(message, PodsJudged)]
        return verdicts[-1] if verdicts else None


class PodManagerStage:
    """The stage, the memory of PodManager, and a source of each kind."""

    def __init__(self, play: Stage, sources: dict[SourceName, SilentSource]) -> None:
        self.play = play
        self.file, self.http, self.api = (sources[name] for name in (FILE, HTTP, API))
        self._epochs = dict.fromkeys(sources, Epoch(1, 0))

    def listing(self, source: SourceName, *pods: Pod) -> SourceListed:
        """Return the next listing of ``source``."""
        incarnation, sequence = self._epochs[source]
        self._epochs[source] = Epoch(incarnation, sequence + 1)
        return SourceListed(source=source, epoch=self._epochs[source], pods=pods)

    def lists(self, source: SourceName, *pods: Pod) -> None:
        """Have ``source`` list ``pods``, and let everything that follows happen."""
        self.play.tell(POD_MANAGER, self.listing(source, *pods))

    def takes_for_empty(self, source: SourceName) -> None:
        """Have ``source`` list nothing, since what it lists from never was there."""
        self.play.tell(POD_MANAGER, replace(self.listing(source), is_provisional=True))

    def restarts(self, source: SourceName) -> None:
        """Begin the next life of ``source``."""
        self._epochs[source] = Epoch(self._epochs[source].incarnation + 1, 0)

    def subscriber(self) -> Listener:
        """Return somebody who has subscribed."""
        listener = Listener()
        self.subscribes(listener)
        return listener

    def subscribes(self, listener: Listener) -> None:
        """Have ``listener`` subscribe, once more or for the first time."""
        self.play.tell(POD_MANAGER, Subscribe(subscriber=listener))

    def crashes(self) -> None:
        """Crash PodManager, and let time pass until its next life is up."""
        self.goes_down()
        self.recovers()

    def goes_down(self) -> None:
        """Crash PodManager; its next life begins when time passes."""
        self.play.system.crash(POD_MANAGER.path)
        self.play.settle()

    def recovers(self) -> None:
        """Let all backoffs pass."""
        self.play.advance(20.0)

    def described(self) -> PodsDescribed:
        """Return everything PodManager knows."""
        return self.play.ask(POD_MANAGER, describe_pods)

    def find(self, *, uid: PodUid | None = None, full_name: FullName | None = None) -> PodDescribed:
        """Return what PodManager answers about one pod."""

        def question(reply_to: Port[PodDescribed]) -> DescribePod:
            return DescribePod(reply_to=reply_to, uid=uid, full_name=full_name)

        return self.play.ask(POD_MANAGER, question)

    def crash_count(self) -> int:
        """Return how many lives of PodManager ended."""
        return len(self.play.endings)


@contextmanager
def pod_manager_stage(
    runtime: Runtime | None = None, memory: PodMemory | None = None
) -> Iterator[PodManagerStage]:
    """Start PodManager, with sources that have not listed yet."""
    memory = memory or PodMemory()
    sources = {name: SilentSource() for name in (FILE, HTTP, API)}
    manager = (POD_MANAGER, lambda _play: PodManager(sources, memory))
    with stage_of(manager, runtime=runtime) as play:
        yield PodManagerStage(play, sources)


def _words(fact: PodFact) -> str:
    if isinstance(fact, PodsAre):
        verb = "may be" if fact.is_provisional else "are"
        return " ".join([fact.source, verb, *(pod.name for pod in fact.pods)])
    changes = ", ".join(f"{change.op} {change.pod.name}" for change in fact.changes)
    return f"{fact.source}: {changes}"
