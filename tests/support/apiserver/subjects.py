"""The API servers that one contract suite is held to: in memory, behind a socket, and the real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import override

from messages.api import ApiRequest, Patch, Verb
from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.apiserver.admin import AdminApi
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.fake_api_server import FakeApiServer
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.users import ADMIN, NODE
from tests.support.cluster.cluster import Cluster
from tests.support.patience import PATIENCE

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One API server, as an administrator and node n1 have it in their hands."""

    admin: AdminApi
    node: AdminApi
    compact: Callable[[], None]
    """Forgets all versions but the present ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedSubject(Subject):
    """One that can be watched."""

    admin: ApiClient
    node: ApiClient
    stranger: ApiClient
    """Somebody with a token that nobody knows."""


class _AsNode(AdminApi):
    def __init__(self, store: ApiStore) -> None:
        self._store = store

    @override
    def handle(self, request: ApiRequest) -> JsonObject:
        return self._store.handle(request, as_node="n1")


def in_memory() -> Subject:
    """Return the objects alone."""
    store = ApiStore()
    return Subject(admin=store, node=_AsNode(store), compact=store.compact)


@contextmanager
def behind_a_socket() -> Iterator[WatchedSubject]:
    """Serve the same over HTTP."""
    with FakeApiServer() as server, _over_http(server, server.store.compact) as subject:
        yield subject


@contextmanager
def real(cluster: Cluster) -> Iterator[WatchedSubject]:
    """Use the real one, and leave it as empty as it was."""
    with _over_http(cluster, cluster.compact) as subject:
        yield subject
        _wipe(subject.admin)


@contextmanager
def _over_http(
    server: FakeApiServer | Cluster, compact: Callable[[], None]
) -> Iterator[WatchedSubject]:
    nobody = replace(server.access(NODE), authorization="Bearer nobody")
    with (
        ApiClient(server.access(ADMIN)) as admin,
        ApiClient(server.access(NODE)) as node,
        ApiClient(nobody) as stranger,
    ):
        yield WatchedSubject(admin=admin, node=node, stranger=stranger, compact=compact)


def _wipe(admin: AdminApi) -> None:
    for plural in ("pods", "events", "secrets", "configmaps", "leases", "serviceaccounts"):
        for item in admin.all(plural):
            admin.remove(plural, item["metadata"]["namespace"], item["metadata"]["name"])
    for item in admin.all("services"):
        if item["metadata"]["name"] != "kubernetes":  # its own
            admin.remove("services", item["metadata"]["namespace"], item["metadata"]["name"])
    for item in admin.all("runtimeclasses"):
        admin.remove("runtimeclasses", item["metadata"]["name"])
    for node in admin.all("nodes"):
        name = node["metadata"]["name"]
        admin.change("nodes", name, metadata={"finalizers": None})
        if admin.has("nodes", name):
            admin.remove("nodes", name)


# --- requests ---------------------------------------------------------------------------------------


def create(path: str, document: JsonObject) -> ApiRequest:
    return ApiRequest(verb=Verb.CREATE, path=path, body=document)


def get(path: str, **query: str) -> ApiRequest:
    return ApiRequest(verb=Verb.GET, path=path, query=query)


def update(path: str, document: JsonObject) -> ApiRequest:
    return ApiRequest(verb=Verb.UPDATE, path=path, body=document)


def merge(path: str, **body: object) -> ApiRequest:
    return ApiRequest(verb=Verb.PATCH, path=path, body=body)


def strategic(path: str, **body: object) -> ApiRequest:
    return ApiRequest(verb=Verb.PATCH, path=path, body=body, patch=Patch.STRATEGIC)


def delete(path: str, **options: object) -> ApiRequest:
    return ApiRequest(verb=Verb.DELETE, path=path, body=options)


def refusal(api: AdminApi, request: ApiRequest) -> tuple[int, str]:
    """Return code and reason of the refusal that ``request`` meets."""
    try:
        api.handle(request)
    except StatusError as error:
        return error.code, error.reason
    raise AssertionError("it was not refused")


def eventually(api: AdminApi, request: ApiRequest) -> JsonObject:
    """Return the answer, once what the API server has to learn first has reached all its parts."""
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while True:
        try:
            return api.handle(request)
        except StatusError:
            if time.monotonic() > deadline:
                raise
            pause.wait(0.05)


# --- objects ----------------------------------------------------------------------------------------


def pod(name: str = "web", node: str = "n1", **spec: Any) -> JsonObject:
    """Return an ordinary pod; ``node`` empty for one that is bound nowhere."""
    bound = {"nodeName": node} if node else {}
    containers = [{"name": "main", "image": "registry.example/web:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**bound, "containers": containers, **spec},
    }


def mirror(node_uid: str, name: str = "web-n1", **spec: Any) -> JsonObject:
    """Return a mirror pod as node n1 creates it."""
    plain = pod(name, **spec)
    metadata = {
        **plain["metadata"],
        "annotations": {CONFIG_MIRROR: "h1"},
        "ownerReferences": [owner(node_uid)],
    }
    return {**plain, "metadata": metadata}


def owner(node_uid: str, **changes: object) -> JsonObject:
    """Return the reference of a mirror pod to node n1."""
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node_uid}
    return {**reference, "controller": True, **changes}


def node_object(name: str = "n1", **metadata: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}}
