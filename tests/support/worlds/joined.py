"""The world of the crash matrix in which the agent is a node of a cluster.

Composed as the real one is: only the API server is an ``ApiStore``, the machine is made up, and calls are
carried out at once instead of by threads. What the agent creates and deletes at
the API server counts as a loss: a crash is no reason to do more of it. What it may never do, whoever
crashes, is a trespass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from typing_extensions import override

from actors.mirrors.keeper import MIRROR_KEEPER
from actors.mirrors.pod import is_owned_by, mirror_document, shows
from actors.pod_manager import POD_MANAGER
from agent.edges import ClusterEdges, Edges
from agent.tree import AgentTree
from kernel import SupervisorSpec
from kube.calls.actor import API_CALLS, ApiCalls, CallRules
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from messages.api import ApiRequest, CallApi, Verb
from messages.node import FollowNode, NodeIs, NodeUid
from messages.pod_manager import Subscribe
from messages.pods import CONFIG_SEEN, FILE, JsonObject, Pod
from messages.sources import MirrorsJudged, SourceDescribed
from messages.watches import Watch
from server.actor import Listeners
from settings.flags.command_line import parse
from settings.load import settings_of
from sources.apiserver.source import API_SOURCE
from sources.file.source import FILE_SOURCE
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.store_edges import StoreSender, StoreWatches
from tests.support.crash_matrix import Observations, Outcome, StoryRun, World
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.probe import Probe
from tests.support.kube.calls_stage import HandWorked
from tests.support.node.node_stage import MadeUpMachine
from tests.support.questions import describe_calls, describe_mirrors, describe_pods, describe_source
from tests.support.sources.file_source_stage import FileSourceStage

M = TypeVar("M")

NODE = "node1"
MANIFESTS = ManifestRules(node_name=NODE, source=FILE)
SETTINGS = settings_of(
    parse(
        [
            "--kubeconfig=none",
            "--runtime=hollow",
            "--file-check-frequency=10s",
            "--node-labels=rack=7",
            "--register-with-taints=new=yes:NoSchedule,bare:NoSchedule",
        ]
    ),
    (),
    hostname=NODE,
)
RENEWED_WITHIN = 12.0
"""Seconds: a quarter of the Lease's duration, with jitter and a restart."""

OF_AN_INSTANCE = frozenset({
    "containerID",
    "finishedAt",
    "lastProbeTime",
    "lastTransitionTime",
    "podIP",
    "podIPs",
    "startTime",
    "startedAt",
})  # fmt: skip
"""Fields of a pod's status that differ between two runs of the same story."""

Preparation: TypeAlias = Callable[["JoinedWorld"], object]


class JoinedWorld(World):
    """A whole agent that serves nobody, and the cluster that it belongs to."""

    pause = 3.0  # longer than a restart, and the wait after an answer that got lost by it
    in_the_end = 40.0  # longer than any wait that the outages and refusals of a story lead to
    # All of them go into a memory before anything else is done with them.
    taken_at_once = (Subscribe, FollowNode, Watch, CallApi, MirrorsJudged)

    def __init__(self, run: StoryRun, prepare: Preparation | None = None) -> None:
        watches = FakeDirectoryWatches()
        super().__init__(run, self._tree(run, watches))
        self.files = FileSourceStage(self.play, run.folder, Probe(), watches)
        self.store = ApiStore(now=self.play.clock.wall)
        self.api = FakeApi(self.store, as_node=NODE)
        self.sender = StoreSender(self.store, NODE, self._is_right)
        self.refuses_pods = False
        """A webhook refuses new pods."""
        self.store.refuse(lambda request: self.refuses_pods and _creates_pod(request))
        if prepare is not None:
            prepare(self)

    # What happens to the agent.

    def api_goes_away(self) -> None:
        """Have the API server be unreachable. Administrators still reach it."""
        self.sender.is_away = True
        self.api.watches.break_off()

    def api_comes_back(self) -> None:
        """Have it answer again."""
        self.sender.is_away = False
        self.api.watches.mend()

    def earlier_mirror(self, text: str, node: JsonObject) -> None:
        """Put the mirror of a manifest into the store that an earlier life of the agent made."""
        static = _decoded(text.encode())
        owner = NodeIs(
            name=NODE, uid=NodeUid(node["metadata"]["uid"]), is_deleting=False, document=node
        )
        self.store.add(mirror_document(static, owner))

    # What it is made of.

    def _tree(self, run: StoryRun, watches: FakeDirectoryWatches) -> SupervisorSpec:
        cluster = ClusterEdges(
            calls=lambda memory: ApiCalls(self.sender, HandWorked, memory, CallRules()),
            watches=lambda memory: StoreWatches(self.api.watches, memory),
            machine=MadeUpMachine(),
        )
        nowhere = run.folder.parent / "no-root"
        # Nothing runs its pods: what becomes of those that run is the story of other worlds.
        settings = replace(SETTINGS, static_pod_path=run.folder, root_dir=nowhere, runtime=None)
        edges = Edges(keep_watch=watches, cluster=cluster)
        return AgentTree(settings, Listeners(), lambda: self.play.system, edges).root()

    def _is_right(self, pod: Pod) -> bool:
        """Return whether a pod of the store is what a manifest and the Node want it to be."""
        wanted = (_decoded(file.read_bytes()) for file in self.files.path.iterdir())
        return (
            not pod.is_deleting
            and any(each.full_name == pod.full_name and shows(pod, each) for each in wanted)
            and is_owned_by(pod, NodeUid(self._node_uid))
        )

    @property
    def _node_uid(self) -> str:
        if not self.store.has("nodes", NODE):
            return ""
        return str(self.store.get("nodes", NODE)["metadata"]["uid"])

    # What is compared.

    @override
    def _outcome(self) -> Outcome:
        assert not self.sender.violations, self.sender.violations
        observed: Observations = {"other_errors": self.other_errors}
        observed |= {f"pod {name}": pod for name, pod in self._meanings(self.store.pods())}
        observed |= self._observed_of_node() | self._observed_of_agent()
        return Outcome(observed, self.sender.changes)

    def _observed_of_node(self) -> Observations:
        nodes, leases = self.store.all("nodes"), self.store.all("leases")
        conditions = [each for node in nodes for each in node["status"]["conditions"]]
        renewals = [datetime.fromisoformat(each["spec"]["renewTime"]) for each in leases]
        now = self.play.clock.wall()
        return {
            "nodes": [_without(self._meaning(each), "status", "conditions") for each in nodes],
            "conditions": {each["type"]: (each["status"], each["reason"]) for each in conditions},
            "leases": [_without(self._meaning(each), "spec", "renewTime") for each in leases],
            "leases are fresh": [now - each.timestamp() < RENEWED_WITHIN for each in renewals],
        }

    def _observed_of_agent(self) -> Observations:
        pods = self.play.ask(POD_MANAGER, describe_pods)
        mirrors = self.play.ask(MIRROR_KEEPER, describe_mirrors)
        calls = self.play.ask(API_CALLS, describe_calls)
        stored = {each["metadata"]["uid"] for each in self.store.pods()}
        names = {pod.uid: pod.full_name for pod in (*pods.pods, *pods.mirrors)}
        return {
            "pods": dict(self._meanings(pod.document for pod in pods.pods)),
            "mirrors": dict(self._meanings(pod.document for pod in pods.mirrors)),
            "mirrors that are not": [
                each.full_name for each in pods.mirrors if each.uid not in stored
            ],
            "orphans": sorted(pods.orphaned_mirrors),
            "shadowed": {names[uid]: names[other] for uid, other in pods.shadowed.items()},
            "translations": {names[uid]: other for uid, other in pods.mirror_to_static.items()},
            "listed": pods.listed,
            "file source": _words(self.play.ask(FILE_SOURCE, describe_source)),
            "api source": _words(self.play.ask(API_SOURCE, describe_source)),
            "mirror keeper": (mirrors.wanted, mirrors.present, mirrors.troubles),
            "calls": (calls.troubles, calls.waiting, calls.in_flight),
            "watches": sorted(target.path for target in self.api.watches.targets),
        }

    def _meanings(self, documents: Iterable[JsonObject]) -> Iterator[tuple[str, object]]:
        for document in documents:
            metadata = document["metadata"]
            yield f"{metadata['namespace']}/{metadata['name']}", self._meaning(document)

    def _meaning(self, document: JsonObject) -> JsonObject:
        """Return an object without what every object has of its own: UID, version, times."""
        metadata: dict[str, Any] = {**document["metadata"]}
        for name in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"):
            metadata[name] = name in metadata
        metadata["annotations"] = {
            k: v for k, v in (metadata.get("annotations") or {}).items() if k != CONFIG_SEEN
        }
        metadata["ownerReferences"] = [
            {**owner, "uid": owner["uid"] == self._node_uid}
            for owner in metadata.get("ownerReferences") or ()
        ]
        meaning = {**document, "metadata": metadata}
        if document.get("kind") == "Pod" and "status" in document:
            meaning["status"] = _lasting(document["status"])
        return meaning


def _lasting(status: Any) -> Any:
    """Return a status without times, and without what another instance has another one of."""
    if isinstance(status, Mapping):
        return {key: _lasting(value) for key, value in status.items() if key not in OF_AN_INSTANCE}
    return [_lasting(each) for each in status] if isinstance(status, list | tuple) else status


def _creates_pod(request: ApiRequest) -> bool:
    return request.verb is Verb.CREATE and request.path.endswith("/pods")


def _without(document: JsonObject, part: str, field: str) -> JsonObject:
    """Return ``document`` without one field of a part of it."""
    rest = {name: value for name, value in document[part].items() if name != field}
    return {**document, part: rest}


def _decoded(manifest: bytes) -> Pod:
    decoded = decode_manifest(manifest, MANIFESTS)
    assert isinstance(decoded, Decoded)
    return decoded.pod


def _words(described: SourceDescribed) -> object:
    # A UID is another in each run where the API server gives it.
    verdicts = [replace(each, uid=None) for each in described.manifests]
    return described.ready, described.error, sorted(verdicts, key=lambda each: each.path)
