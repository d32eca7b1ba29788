"""A source without files: it wants to run what its memory says. Passes the contract suite of sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from typing_extensions import override

from kernel import Actor, Key, Port
from manifests.verdicts import with_pods_judged
from messages.pods import HTTP, Pod
from messages.sources import (
    DescribeSource,
    Epoch,
    ListPods,
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    Rescan,
    SourceDescribed,
    SourceListed,
    SourceMessage,
    Verdict,
)
from messages.units import Timestamp

FAKE_SOURCE = Key[SourceMessage]("source/http")


@dataclass(slots=True)
class FakeMemory:
    """What outlives a life of the fake source, and what the world outside of it says."""

    wanted: tuple[Pod, ...] | None = None
    """What there is to be listed; None while it cannot be known. The test writes it."""
    judged: PodsJudged = field(
        default_factory=lambda: PodsJudged(source=HTTP, shadowed={}, rejected={})
    )
    last_listed: Timestamp | None = None


class FakeSource(Actor[SourceMessage]):
    """Lists what there is when it starts, is asked, or told to look again; notices nothing itself."""

    def __init__(self, pod_manager: Port[SourceListed], memory: FakeMemory) -> None:
        self._pod_manager = pod_manager
        self._memory = memory
        self._sequence = 0
        self._told: tuple[Pod, ...] | None = None

    @override
    def started(self) -> None:
        self._look()

    @override
    def receive(self, message: SourceMessage, /) -> None:
        match message:
            case ListPods():
                self._tell()
            case Rescan():
                self._look()
            case PodsJudged():
                self._memory.judged = message
            case MirrorsJudged():
                pass
            case DescribeSource(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)

    def _look(self) -> None:
        if self._memory.wanted is not self._told:
            self._tell()

    def _tell(self) -> None:
        pods = self._memory.wanted
        if pods is None:
            return
        self._told = pods
        self._sequence += 1
        self._memory.last_listed = self.clock.wall()
        epoch = Epoch(self.incarnation, self._sequence)
        self._pod_manager.tell(SourceListed(source=HTTP, epoch=epoch, pods=pods))

    def _described(self) -> SourceDescribed:
        accepted = (
            ManifestVerdict(
                path=f"item {number}",
                verdict=Verdict.ACCEPTED,
                pod=pod.display_name,
                uid=pod.uid,
            )
            for number, pod in enumerate(self._memory.wanted or ())
        )
        return SourceDescribed(
            name=HTTP,
            ready=self._memory.wanted is not None,
            epoch=Epoch(self.incarnation, self._sequence),
            last_listed=self._memory.last_listed,
            rejected={},
            error="",
            manifests=with_pods_judged(accepted, self._memory.judged),
        )
