"""What has to be so at the API server when nothing has happened for a while. Functions return what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kube.calls.actor import API_CALLS
from messages.pods import Pod
from tests.environment.cluster import NODE, Cluster
from tests.environment.node import Node
from tests.environment.oracle.cluster import images, owners, shown_uid
from tests.environment.oracle.references import references
from tests.environment.oracle.rule import Wishes
from tests.support.questions import describe_calls

FOLLOWED = {
    ("/api/v1/nodes", f"metadata.name={NODE}"),
    ("/apis/node.k8s.io/v1/runtimeclasses", ""),
    ("/api/v1/pods", f"spec.nodeName={NODE}"),
    ("/api/v1/services", ""),
}
"""What is watched whatever the pods are."""


def restless_cluster(node: Node, wishes: Wishes) -> Iterator[str]:
    """Yield everything at the API server that is not as it should be at rest."""
    if node.cluster is None:
        return
    pods = [Pod.of(each) for each in node.cluster.store.pods()]
    yield from _mirrors(pods, wishes)
    statuses = node.statuses()
    for pod in pods:
        uid = shown_uid(pod.document)
        if not wishes.wants(uid):
            yield f"{pod.name} of {uid} is left at the API server"
        elif uid in statuses:
            yield from _unlike(pod, statuses[uid])
    yield from _watches(node.cluster, pods)
    yield from node.cluster.calls.violations
    yield from _registration(node, node.cluster)


def _registration(node: Node, cluster: Cluster) -> Iterator[str]:
    if not cluster.store.has("leases", "kube-node-lease", NODE):
        yield "the Node has no Lease"
    else:
        lease = cluster.store.get("leases", "kube-node-lease", NODE)["spec"]
        age = node.wall - datetime.fromisoformat(lease["renewTime"]).timestamp()
        if age > lease["leaseDurationSeconds"]:
            yield f"the Lease of the Node was renewed {age:.0f} s ago"
    conditions = cluster.store.get("nodes", NODE)["status"]["conditions"]
    yield from (
        f"the Node is not ready: {each}"
        for each in conditions
        if each["type"] == "Ready" and each["status"] != "True"
    )
    calls = node.play.ask(API_CALLS, describe_calls)
    if calls.waiting:
        yield f"{calls.waiting} calls wait"


def _mirrors(pods: list[Pod], wishes: Wishes) -> Iterator[str]:
    mirrors = {pod.full_name: pod for pod in pods if pod.is_mirror}
    # API servers refuse mirrors that reference anything.
    statics = {pod.full_name: pod for pod in wishes.statics() if not any(references(pod))}
    if set(mirrors) != set(statics):
        yield f"mirrors of {sorted(mirrors)}, but static pods are {sorted(statics)}"
    for name in sorted(set(mirrors) & set(statics)):
        mirror, static = mirrors[name], statics[name]
        if shown_uid(mirror.document) != static.uid or images(mirror) != images(static):
            yield f"the mirror of {static.uid} shows {shown_uid(mirror.document)}, {images(mirror)}"
        if [each["uid"] for each in owners(mirror)] != [wishes.owner]:
            yield f"the mirror of {static.uid} belongs to {owners(mirror)}"


def _unlike(pod: Pod, status: dict[str, Any]) -> Iterator[str]:
    """Yield where the status at the API server differs from what the agent shows."""
    said = pod.document["status"]
    for field in ("phase", "podIP", "initContainerStatuses", "containerStatuses"):
        if _brief(said.get(field)) != _brief(status.get(field)):
            yield f"at the API server {field} of {pod.name} is {said.get(field)}, not {status.get(field)}"
    ready = [condition(each, "Ready") for each in (said, status)]
    if ready[0] != ready[1]:
        yield f"at the API server {pod.name} is ready: {ready[0]}, not {ready[1]}"


def _brief(value: Any) -> Any:
    """Return a part of a status without what is empty: the API server adds it or not."""
    if isinstance(value, Mapping):
        return {key: _brief(each) for key, each in value.items() if each not in ({}, [], "", None)}
    return [_brief(each) for each in value] if isinstance(value, list | tuple) else value


def condition(status: dict[str, Any], kind: str) -> str:
    """Return whether a condition of a pod holds: ``True``, ``False`` or ``Unknown``; empty if it has none."""
    conditions = status.get("conditions", ())
    return next((each["status"] for each in conditions if each["type"] == kind), "")


def _watches(cluster: Cluster, pods: list[Pod]) -> Iterator[str]:
    """Yield watches that nobody needs, and those that are there twice."""
    watched = Counter((each.path, each.field_selector) for each in cluster.streams.targets)
    yield from (
        f"{target} is watched {count} times" for target, count in watched.items() if count > 1
    )
    needed = FOLLOWED | {target_of(*each.key) for pod in pods for each in references(pod)}
    yield from (f"{target} is watched for nobody" for target in sorted(set(watched) - needed))


def target_of(kind: str, name: str) -> tuple[str, str]:
    """Return what is watched for a Secret or a ConfigMap."""
    return f"/api/v1/namespaces/default/{kind.lower()}s", f"metadata.name={name}"
