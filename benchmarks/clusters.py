"""A real API server to measure at, and what it is filled with: Secrets, and pods that reference them.

Found by ``KUBEBUILDER_ASSETS``; without one the rows that need it are left out.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.agent import wait_until
from benchmarks.sidekick import Sidekick
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver.users import ADMIN, token_of
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.processes import assets

NAMESPACE: Final = "default"
_SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
_PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_ACCOUNTS: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

HANDS: Final = 16
"""Requests that are under way at a time while much has to be made or changed."""
SECRET_BYTES: Final = 1000
PER_POD: Final = 50
"""Secrets that a pod references: 5,000 fit into the pods that a node has unless it is told otherwise."""

ACCOUNT: Final = "account"
"""A service account that may do what a node does, and whose right to read Secrets can be taken away."""

_values = count()


@contextmanager
def running_cluster() -> Iterator[Cluster | None]:
    """Give an API server; None, and a sentence on standard error, when there is no program for one."""
    programs = assets()
    if programs is None:
        print(
            "left out: KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd",
            file=sys.stderr,
        )
        yield None
        return
    with TemporaryDirectory(prefix="actorlet-bench-") as folder:
        cluster = Cluster(programs, Path(folder))
        try:
            wait_until(lambda: cluster.admin.has("namespaces", NAMESPACE), poll_every=0.05)
            yield cluster
        finally:
            cluster.stop()


def secret_name(number: int) -> str:
    """Return the name of one of the Secrets to measure with."""
    return f"secret-{number}"


def create_secrets(cluster: Cluster, number: int) -> None:
    """Create that many Secrets of 1 kB each."""
    _send(cluster, (_creating(_SECRETS, _secret(each)) for each in range(number)))


def create_pods(cluster: Cluster, node: str, secrets: int, *, with_references: bool = True) -> None:
    """Bind as many pods to ``node`` as it takes to reference the first ``secrets`` Secrets.

    Without references the pods are as many, and have no volumes.
    """
    starts = range(0, secrets, PER_POD)
    pods = (
        pod_document(
            node,
            f"{node}-{start}",
            range(start, min(start + PER_POD, secrets)) if with_references else (),
        )
        for start in starts
    )
    add_pods(cluster, pods)


def add_pods(cluster: Cluster, pods: Iterable[JsonObject]) -> None:
    """Create pods, some at a time."""
    _send(cluster, (_creating(_PODS, pod) for pod in pods))


def pod_document(node: str, name: str, secrets: Iterable[int]) -> JsonObject:
    """Return a pod bound to ``node``, with a volume for each of these Secrets."""
    volumes = [
        {"name": f"v{each}", "secret": {"secretName": secret_name(each)}} for each in secrets
    ]
    container = {"name": "main", "image": "registry.example/web:1"}
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [container], "volumes": volumes},
    }


def update(cluster: Cluster, number: int) -> str:
    """Give one Secret another value; return its new version."""
    return _version(cluster.admin.handle(updating(number)))


def update_all(cluster: Cluster, numbers: Iterable[int]) -> list[str]:
    """Give each of these Secrets another value, some at a time; return their new versions in order."""
    return [_version(answer) for answer in _send(cluster, map(updating, numbers))]


def updating(number: int, value: str | None = None) -> ApiRequest:
    """Return the request that gives one Secret another value: a new one, or this one in base64."""
    body = {"data": {"value": value or _value()}}
    return ApiRequest(verb=Verb.PATCH, path=f"{_SECRETS}/{secret_name(number)}", body=body)


def make_account(cluster: Cluster) -> str:
    """Make the account and return its token."""
    admin = cluster.admin
    metadata = {"name": ACCOUNT}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT}
    role = {"metadata": metadata, "rules": _rules("secrets")}
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [subject]}
    admin.handle(_creating(_ACCOUNTS, {"metadata": metadata}))
    admin.handle(_creating(f"{_RBAC}/clusterroles", role))
    admin.handle(_creating(f"{_RBAC}/clusterrolebindings", binding))
    issued = admin.handle(_creating(f"{_ACCOUNTS}/{ACCOUNT}/token", {"spec": {}}))
    return str(issued["status"]["token"])


def take_secrets_away(cluster: Cluster) -> None:
    """Have the account read Secrets no longer. Watches that are open stay open."""
    path = f"{_RBAC}/clusterroles/{ACCOUNT}"
    cluster.admin.handle(ApiRequest(verb=Verb.PATCH, path=path, body={"rules": _rules()}))


@contextmanager
def relayed(cluster: Cluster, token: str = token_of(ADMIN)) -> Iterator[tuple[Sidekick, Path]]:
    """Give a relay to the API server (``relay``), and a kubeconfig that leads through it."""
    document = json.loads(cluster.kubeconfig(ADMIN).read_text(encoding="utf-8"))
    document["users"][0]["user"] = {"token": token}
    with (
        TemporaryDirectory(prefix="actorlet-bench-") as folder,
        Sidekick("benchmarks.relay", str(cluster.port)) as relay,
    ):
        port = relay.hear()["port"]
        document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path = Path(folder) / "kubeconfig"
        path.write_text(json.dumps(document), encoding="utf-8")
        yield relay, path


def _rules(*more: str) -> list[JsonObject]:
    core = ["pods", "pods/status", "nodes", "nodes/status", "events", "configmaps", *more]
    return [
        {"apiGroups": [""], "resources": core, "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["*"], "verbs": ["*"]},
    ]


def _send(cluster: Cluster, requests: Iterable[ApiRequest]) -> list[JsonObject]:
    with ThreadPoolExecutor(HANDS) as hands:
        return list(hands.map(cluster.admin.handle, requests))


def _creating(path: str, document: JsonObject) -> ApiRequest:
    return ApiRequest(verb=Verb.CREATE, path=path, body=document)


def _secret(number: int) -> JsonObject:
    return {"metadata": {"name": secret_name(number)}, "data": {"value": _value()}}


def _value() -> str:
    """Return a value that was never there before, in the API's notation."""
    return base64.b64encode(f"{next(_values)} ".encode().ljust(SECRET_BYTES, b"x")).decode()


def _version(document: JsonObject) -> str:
    return str(document["metadata"]["resourceVersion"])
