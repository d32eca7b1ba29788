"""The API server source by itself, what it is told, and probes for everybody whom it tells something."""

from __future__ import annotations

from typing_extensions import override

from kernel import ChildSpec, Port, Steps, SupervisorSpec
from messages.node import FollowNode, NodeIs, NodeUid
from messages.pods import Pod
from messages.sources import DescribeSource, SourceDescribed, SourceListed
from messages.watches import ObjectOp, ObjectsAre, Watch, WatchEvent
from sources.apiserver.source import (
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

TARGET = pods_of("n1")
NODE = NodeIs(name="n1", uid=NodeUid("node-1"), is_deleting=False, document={})


class PodManagerProbe(Probe[SourceListed]):
    """Hears listings; whoever tells one at a bad moment crashes over it."""

    is_bad_moment = False

    @override
    def tell(self, message: SourceListed, /) -> None:
        if self.is_bad_moment:
            self.is_bad_moment = False
            raise RuntimeError("a bad moment")
        super().tell(message)


class Company:
    """See the module."""

    def __init__(self) -> None:
        self.told = PodManagerProbe()
        self.watches: Probe[Watch] = Probe()
        self.node: Probe[FollowNode] = Probe()
        self.memory = ApiMemory()
        self.play = Stage(
            SupervisorSpec(name="root", children=(ChildSpec(key=API_SOURCE, factory=self._make),)),
            Steps(),
        )

        self.me: Port[ApiSourceMessage] = self.play.port(API_SOURCE)

    def _make(self) -> ApiSource:
        ports = ApiSourcePorts(
            pod_manager=self.told,
            watches=self.watches,
            node=self.node,
            me=self.me,
        )
        return ApiSource("n1", ports, self.memory)

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
        return self.play.ask(API_SOURCE, _describe)


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


def _describe(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)


def _label(pod: Pod) -> str:
    image = pod.document["spec"]["containers"][0]["image"]
    return f"{pod.display_name}@{image}"
