"""A stage for MirrorKeeper with a real PodManager, an API server in memory, and fakes for the rest.

``serves`` acts as a static source, ``registers`` and ``deregisters`` as the registrar of the Node. What the
watch of pods shows goes to PodManager as listings of the API source. Every request is checked: a deletion
without the UID of its pod fails the test at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Unpack

from typing_extensions import override

from actors.mirrors.keeper import MIRROR_KEEPER, MirrorKeeper, MirrorMemory, MirrorPorts
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import Key, Port, Steps
from messages.api import ApiRequest, CallApi, Verb
from messages.events import PostEvent
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone, NodeUid
from messages.pods import (
    API,
    CONFIG_MIRROR,
    CONTENT_DIGEST,
    FILE,
    JsonObject,
    Pod,
    PodUid,
    SourceName,
)
from messages.sources import Epoch, MirrorsDescribed, MirrorsJudged, SourceListed, SourceMessage
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    Watch,
    WatchEvent,
    WatchFact,
    WatchTarget,
)
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.builders import PodFields, make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, StagedActor, stage_for
from tests.support.questions import describe_mirrors

NODE = "n1"
PODS_OF_NODE = WatchTarget(path="/api/v1/pods", field_selector=f"spec.nodeName={NODE}")


def make_static(name: str = "web", content: str = "1", **fields: Unpack[PodFields]) -> Pod:
    """Return a static pod of the node as its source tells it; another ``content`` is another UID."""
    uid = fields.get("uid", f"{name}-{content}")
    described = PodFields(
        uid=uid,
        config_hash=uid,
        annotations={CONTENT_DIGEST: f"digest of {content}"},
        spec={"nodeName": NODE},
        image=f"registry.example/web:{content}",
    )
    described.update(fields)
    return make_pod(f"{name}-{NODE}", **described)


def make_secretive(name: str = "web", content: str = "secret", source: SourceName = FILE) -> Pod:
    """Return a static pod that reads a Secret, which no API server lets a node show."""
    volume = {"name": "tls", "secret": {"secretName": "web-tls"}}
    spec = {"nodeName": NODE, "volumes": [volume]}
    return make_static(name, content, source=source, spec=spec)


class Source(Probe[SourceMessage]):
    """A static source that collects the verdicts of MirrorKeeper."""

    def __init__(self) -> None:
        super().__init__()
        self.verdicts: list[MirrorsJudged] = []

    @override
    def tell(self, message: SourceMessage, /) -> None:
        if isinstance(message, MirrorsJudged):
            self.verdicts.append(message)

    @property
    def refused(self) -> dict[PodUid, str]:
        """Return the newest verdicts."""
        return dict(self.verdicts[-1].refused) if self.verdicts else {}


@dataclass(slots=True, eq=False)
class NodeKeeper(Port[FollowNode]):
    """The registrar as followers of the Node see it. The test says how the Node is."""

    fact: NodeFact | None = None
    followers: list[Port[NodeFact]] = field(default_factory=list)

    @override
    def tell(self, message: FollowNode, /) -> None:
        if message.subscriber not in self.followers:
            self.followers.append(message.subscriber)
        if self.fact is not None:
            message.subscriber.tell(self.fact)

    def says(self, fact: NodeFact) -> None:
        """Tell all followers."""
        self.fact = fact
        for follower in self.followers:
            follower.tell(fact)


@dataclass(slots=True, eq=False)
class PodWatcher(Port[WatchFact]):
    """A simple API source: it lists for PodManager what the watch of pods shows."""

    pod_manager: Port[SourceListed]
    pods: dict[str, Pod] = field(default_factory=dict)
    sequence: int = 0

    @override
    def tell(self, message: WatchFact, /) -> None:
        match message:
            case ObjectsAre(objects=objects):
                self.pods = {one["metadata"]["uid"]: Pod.of(one) for one in objects}
            case WatchEvent(op=ObjectOp.DELETED, object=document):
                self.pods.pop(document["metadata"]["uid"], None)
            case WatchEvent(object=document):
                self.pods[document["metadata"]["uid"]] = Pod.of(document)
            case _:
                return
        self.list_pods()

    def list_pods(self) -> None:
        """Tell PodManager what there is."""
        self.sequence += 1
        epoch = Epoch(1, self.sequence)
        pods = tuple(self.pods.values())
        self.pod_manager.tell(SourceListed(source=API, epoch=epoch, pods=pods))


class CheckedCalls(Port[CallApi]):
    """Passes calls on, and notes deletions that name no UID or have a grace period."""

    def __init__(self, port: Port[CallApi]) -> None:
        self.port = port
        self.wrongs: list[str] = []
        """Not raised: that would only crash the actor that sent it."""

    @override
    def tell(self, message: CallApi, /) -> None:
        if message.request.verb is Verb.DELETE:
            body = message.request.body or {}
            if not body.get("preconditions", {}).get("uid"):
                self.wrongs.append("a deletion without UID")
            if body.get("gracePeriodSeconds") != 0:
                self.wrongs.append("a deletion that takes time")
        self.port.tell(message)


class MirrorStage:
    """The stage, and everything that the keeper deals with."""

    def __init__(self, store: ApiStore, sources: Sequence[SourceName], seed: int = 0) -> None:
        self.store = store
        self.api = FakeApi(store, as_node=NODE)
        self.calls = CheckedCalls(self.api.calls)
        self.node = NodeKeeper()
        self.events: Probe[PostEvent] = Probe()
        self.sources = {name: Source() for name in sources}
        self.memory = MirrorMemory()
        self._epochs = dict.fromkeys(sources, 0)
        self.play = stage_for(*self._actors(), runtime=Steps(seed), root=PATIENT_ROOT)
        pod_manager = self.play.port(POD_MANAGER)
        self.watcher = PodWatcher(pod_manager)
        self.play.start()

    # --- the agent's side ----------------------------------------------------------------------------

    def joins(self) -> None:
        """Have the Node registered and the pods of the API server listed."""
        self.registers()
        self.watches()

    def watches(self) -> None:
        """Have the API source begin its watch: it lists."""
        self.api.watches.tell(Watch(target=PODS_OF_NODE, subscriber=self.watcher))
        self.play.settle()

    def registers(self) -> NodeUid:
        """Register the Node and tell of it; return its UID."""
        document = self.store.add(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {}}
        )
        uid = NodeUid(document["metadata"]["uid"])
        self.says_of_node(uid=uid)
        return uid

    def says_of_node(self, *, uid: NodeUid, is_deleting: bool = False) -> None:
        """Tell that the Node exists."""
        self.node.says(NodeIs(name=NODE, uid=uid, is_deleting=is_deleting, document={}))
        self.play.settle()

    def deregisters(self) -> None:
        """Delete the Node and tell of it."""
        self.store.remove("nodes", NODE)
        self.node.says(NodeIsGone(name=NODE))
        self.play.settle()

    def serves(self, source: SourceName, *pods: Pod) -> None:
        """Have a static source list ``pods``."""
        self._epochs[source] += 1
        epoch = Epoch(1, self._epochs[source])
        self.play.tell(POD_MANAGER, SourceListed(source=source, epoch=epoch, pods=pods))

    def takes_for_empty(self, source: SourceName) -> None:
        """Have a static source list nothing, since what it lists from never was there."""
        self._epochs[source] += 1
        epoch = Epoch(1, self._epochs[source])
        listed = SourceListed(source=source, epoch=epoch, pods=(), is_provisional=True)
        self.play.tell(POD_MANAGER, listed)

    def settle(self) -> None:
        """Let everything happen that needs no time: changes of the store do not wait for it."""
        self.play.settle()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def crashes(self, key: Key[Any] = MIRROR_KEEPER) -> None:
        """Crash the keeper, and let time pass until its next life is up."""
        self.play.system.crash(key.path)
        self.play.advance(1.0)

    def check(self) -> None:
        """Fail if a request was wrong, or an actor crashed by itself."""
        assert self.calls.wrongs == []
        errors = [ended.error for ended in self.play.endings]
        assert [error for error in errors if "InjectedCrashError" not in error] == []

    def described(self) -> MirrorsDescribed:
        """Return what the keeper says of the mirrors."""
        return self.play.ask(MIRROR_KEEPER, describe_mirrors)

    # --- the cluster's side --------------------------------------------------------------------------

    def mirror(self, name: str = "web", namespace: str = "default") -> Pod:
        """Return the pod of that name at the API server, which has to be a mirror."""
        pod = Pod.of(self.store.get("pods", namespace, f"{name}-{NODE}"))
        assert pod.is_mirror
        return pod

    def mirrors(self) -> list[str]:
        """Return the names of all mirrors at the API server, and what each shows."""
        pods = [Pod.of(document) for document in self.store.pods()]
        return [f"{pod.name}: {pod.annotations[CONFIG_MIRROR]}" for pod in pods if pod.is_mirror]

    def removes(self, name: str = "web", grace: int | None = 0) -> None:
        """Have somebody delete a pod: by force, or gracefully."""
        self.store.remove("pods", "default", f"{name}-{NODE}", grace=grace)
        self.play.settle()

    def asked(self) -> list[str]:
        """Return what was asked of the API server since the last look, as ``POST web-n1``."""
        requests = self.api.calls.requests
        asked = [f"{request.verb.value} {_pod_name(request)}" for request in requests]
        requests.clear()
        return asked

    def _actors(self) -> tuple[StagedActor, ...]:
        pods = PodMemory()
        pod_manager = (POD_MANAGER, lambda _play: PodManager(dict(self.sources), pods))
        return (pod_manager, (MIRROR_KEEPER, self._make_keeper))

    def _make_keeper(self, play: Stage) -> MirrorKeeper:
        pod_manager, me = play.port(POD_MANAGER), play.port(MIRROR_KEEPER)
        ports = MirrorPorts(
            calls=self.calls,
            pod_manager=pod_manager,
            node=self.node,
            events=self.events,
            sources=dict(self.sources),
            me=me,
        )
        return MirrorKeeper(NODE, ports, self.memory)


@contextmanager
def mirror_stage(
    *sources: SourceName, store: ApiStore | None = None, seed: int = 0
) -> Iterator[MirrorStage]:
    """Start a keeper that knows nothing, with these static sources, or that of files alone."""
    stage = MirrorStage(store or ApiStore(), sources or (FILE,), seed)
    try:
        yield stage
        stage.check()
    finally:
        stage.play.stop()


def mirror_made_by(node_uid: str, static: Pod, **changes: Any) -> JsonObject:
    """Return the mirror of ``static`` as an earlier life, or somebody else, may have left it."""
    metadata: dict[str, Any] = {
        "name": static.name,
        "namespace": static.namespace,
        "annotations": {**static.annotations, CONFIG_MIRROR: static.uid},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node_uid, "controller": True}
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, **changes},
        "spec": static.document["spec"],
    }


def ordinary_pod(static: Pod, node_name: str = "elsewhere") -> JsonObject:
    """Return a pod that is no mirror and has the name of ``static``."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": static.name, "namespace": static.namespace},
        "spec": {**static.document["spec"], "nodeName": node_name},
    }


def _pod_name(request: ApiRequest) -> str:
    if request.verb is Verb.CREATE:
        return str((request.body or {})["metadata"]["name"])
    return request.path.rpartition("/")[2]
