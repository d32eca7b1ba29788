"""The API server source on a stage, with probes in place of the actors that it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from kernel import Port, SupervisorSpec, isolated
from messages.node import FollowNode, NodeIs, NodeUid
from messages.pods import Pod
from messages.sources import SourceDescribed, SourceListed
from messages.watches import ObjectOp, ObjectsAre, Watch, WatchEvent
from sources.apiserver import (
    API_SOURCE,
    ApiMemory,
    ApiSource,
    ApiSourceMessage,
    ApiSourcePorts,
    pods_of,
)
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.sources.questions import described

NODE = NodeIs(name="n1", uid=NodeUid("node-1"), is_deleting=False, document={})
TARGET = pods_of(NODE.name)


class PodManagerProbe(Probe[SourceListed]):
    """Hears listings. Crashes the source that tells the next one, if the test wants that."""

    crashes_next = False

    @override
    def tell(self, message: SourceListed, /) -> None:
        if self.crashes_next:
            self.crashes_next = False
            raise RuntimeError("the source crashes while it tells")
        super().tell(message)


class ApiSourceStage:
    """The source at work, and what it told each of the others."""

    def __init__(
        self, watches: Port[Watch] | None = None, node: Port[FollowNode] | None = None
    ) -> None:
        """``watches`` and ``node`` hear what the probes of these names do unless they are given."""
        self.told = PodManagerProbe()
        self.watches: Probe[Watch] = Probe()
        self.node: Probe[FollowNode] = Probe()
        self.memory = ApiMemory()
        self.play = Stage(SupervisorSpec(name="root", children=(isolated(API_SOURCE, self._make),)))
        self.me: Port[ApiSourceMessage] = self.play.port(API_SOURCE)
        self._ports = ApiSourcePorts(
            pod_manager=self.told,
            watches=watches or self.watches,
            node=node or self.node,
            me=self.me,
        )

    def _make(self) -> ApiSource:
        return ApiSource(NODE.name, self._ports, self.memory)

    def hears(self, *messages: ApiSourceMessage) -> None:
        """Tell all of them before any is handled."""
        self.play.tell_all(API_SOURCE, *messages)

    def listed(self) -> list[str]:
        """Return the pods of the next listing, as ``namespace/name@image``."""
        return [_label(pod) for pod in self.told.next().pods]

    def crash(self) -> None:
        """Have the source crash, and begin its next life."""
        self.play.system.crash(API_SOURCE.path)
        self.play.advance(1.0)

    def described(self) -> SourceDescribed:
        return described(self.play, API_SOURCE)


@contextmanager
def api_source_stage(
    watches: Port[Watch] | None = None, node: Port[FollowNode] | None = None
) -> Iterator[ApiSourceStage]:
    """Start the source; ``watches`` and ``node`` take the places of probes."""
    source = ApiSourceStage(watches, node)
    source.play.start()
    try:
        yield source
    finally:
        source.play.stop()


def pod(name: str, image: str = "v1", version: str = "1", namespace: str = "default") -> Pod:
    return make_pod(name, source="", image=image, resource_version=version, namespace=namespace)


def all_are(*pods: Pod) -> ObjectsAre:
    objects = tuple(each.document for each in pods)
    return ObjectsAre(target=TARGET, objects=objects, resource_version="10")


def event(op: ObjectOp, subject: Pod) -> WatchEvent:
    return WatchEvent(target=TARGET, op=op, object=subject.document)


def added(subject: Pod) -> WatchEvent:
    return event(ObjectOp.ADDED, subject)


def modified(subject: Pod) -> WatchEvent:
    return event(ObjectOp.MODIFIED, subject)


def deleted(subject: Pod) -> WatchEvent:
    return event(ObjectOp.DELETED, subject)


def _label(pod: Pod) -> str:
    image = pod.document["spec"]["containers"][0]["image"]
    return f"{pod.display_name}@{image}"
