"""Who gets what at the TLS port: of a real kubelet, and of the agent that takes its node over.

The page ``docs/tls-port.md`` is what this test has seen, and it fails if that has changed. With
``ACTORLET_WRITES_TABLE`` it writes the page anew.
"""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import trustme

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import Onlooker
from tests.support.agent.process import ROOT, eventually
from tests.support.apiserver.subjects import PODS, pod
from tests.support.apiserver.users import ADMIN, GROUPS
from tests.support.cluster.cluster import Cluster
from tests.support.containers.images import BUSYBOX
from tests.support.containers.needs import require
from tests.support.kubelets.kubelet import require_kubelet
from tests.support.kubelets.node_of_a_kubelet import NodeOfAKubelet, node_of_a_kubelet
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.containers, pytest.mark.timeout(300)]

PAGE: Final = ROOT / "docs/tls-port.md"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
HANDSHAKE: Final = "TLS"
"""In the place of a code: the handshake has failed."""
WHO: Final = {
    "nobody": "shows nothing",
    "guess": "shows a bearer token of nobody",
    "stranger": "has a certificate of another authority",
    "collector": "has a certificate, and the right `get` on `nodes/metrics`",
    "viewer": "has a certificate, and the right `get` on `nodes/proxy`",
    "admin": "has a certificate of `system:masters`",
}
REQUESTS: Final = """
GET    /healthz
POST   /healthz
GET    /healthz/ping
GET    /healthz/syncloop
GET    /pods
HEAD   /pods
POST   /pods
GET    /runningpods/
GET    /configz
GET    /metrics
POST   /metrics
GET    /metrics/probes
GET    /metrics/cadvisor
GET    /metrics/resource
GET    /stats/summary
GET    /spec/
GET    /containerLogs/default/web/main
POST   /containerLogs/default/web/main
GET    /containerLogs/default/web/none
GET    /containerLogs/default/none/main
GET    /containerLogs/default/web/main?tailLines=-1
GET    /containerLogs/default/web/main?tailLines=x
GET    /containerLogs/default/web/main?previous=true
GET    /exec/default/web/main?command=true&output=1
POST   /exec/default/web/main?command=true&output=1
POST   /exec/default/web/main?command=true
POST   /exec/default/none/main?command=true&output=1
POST   /exec/default/web/none?command=true&output=1
DELETE /exec/default/web/main?command=true&output=1
POST   /attach/default/web/main?output=1
POST   /attach/default/none/main?output=1
POST   /portForward/default/web
POST   /portForward/default/none
GET    /run/default/web/main?cmd=true
POST   /run/default/web/main?cmd=true
GET    /logs/
GET    /debug/pprof/
GET    /debug/flags/v
GET    /nothing
GET    /
""".strip().splitlines()
"""A method and a target each."""


HEAD: Final = f"""# Who gets what at the TLS port

What [the TLS port](server.md) answers, and what a kubelet 1.20 answers in the same test, on the same
node, with the same pod and the same rights. One code is the answer of both; of two the first is the
kubelet's. `{HANDSHAKE}` is a handshake that fails. Requests for streams are no upgrades here.
"""


@pytest.fixture
def node(tmp_path: Path, cluster: Cluster, onlooker: Onlooker) -> Iterator[NodeOfAKubelet]:
    require()
    require_kubelet()
    with node_of_a_kubelet(tmp_path, cluster, onlooker) as node:
        yield node


class Clients:
    """Those who ask, each with what they show."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        stranger = trustme.CA().issue_cert("client.example", common_name="stranger")
        stranger.private_key_and_cert_chain_pem.write_to_path(folder / "stranger.pem")
        self._certificates: Mapping[str, Path] = {
            "stranger": folder / "stranger.pem",
            "collector": cluster.identity("collector", "people"),
            "viewer": cluster.identity("viewer", "people"),
            "admin": cluster.identity(ADMIN, GROUPS[ADMIN]),
        }

    def code(self, who: str, port: int, method: str, target: str) -> str:
        """Return what a request is answered."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if who in self._certificates:
            context.load_cert_chain(self._certificates[who])
        headers = {"Authorization": "Bearer guessed"} if who == "guess" else {}
        asked = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
        try:
            asked.request(method, target, headers=headers)
            return str(asked.getresponse().status)
        except (ssl.SSLError, ConnectionError):
            return HANDSHAKE
        finally:
            asked.close()

    def codes(self, port: int) -> dict[str, list[str]]:
        """Return what each of them is answered to each request."""
        return {line: [self.code(who, port, *line.split()) for who in WHO] for line in REQUESTS}


def grant(onlooker: Onlooker, user: str, resource: str) -> Callable[[], None]:
    """Let a user read a subresource of nodes; return what takes the right back."""
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": user}}
    rule = {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}
    role = {"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    onlooker.create(f"{RBAC}/clusterroles", {**kind, "kind": "ClusterRole", "rules": [rule]})
    binding = {**kind, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]}
    onlooker.create(f"{RBAC}/clusterrolebindings", binding)

    def revoke() -> None:
        for plural in ("clusterrolebindings", "clusterroles"):
            onlooker.admin.handle(ApiRequest(verb=Verb.DELETE, path=f"{RBAC}/{plural}/{user}"))

    return revoke


@pytest.fixture
def rights(onlooker: Onlooker) -> Iterator[None]:
    """Have a viewer and a collector of metrics, as RBAC makes them."""
    revoked = [
        grant(onlooker, "viewer", "nodes/proxy"),
        grant(onlooker, "collector", "nodes/metrics"),
    ]
    yield
    for each in revoked:
        each()


def web() -> JsonObject:
    """Return a pod that runs."""
    main = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", "echo hello; sleep 1000"]}
    return pod("web", hostNetwork=True, terminationGracePeriodSeconds=0, containers=[main])


@pytest.mark.usefixtures("rights")
def test_what_a_kubelet_answers_and_what_the_agent_answers_is_as_documented(
    node: NodeOfAKubelet, cluster: Cluster, onlooker: Onlooker, tmp_path: Path
) -> None:
    clients = Clients(cluster, tmp_path)
    node.kubelet.start()
    onlooker.create(PODS, web())
    eventually(lambda: node.is_running("web"))
    before = clients.codes(node.kubelet.port)
    node.kubelet.kill()

    (port,) = free_ports(1)
    flags = (f"--port={port}", "--address=127.0.0.1", f"--client-ca-file={cluster.ca_file}")
    node.agent.start_on_manifests(*node.flags(), *flags, launcher=node.namespace.launcher)
    eventually(node.agent.has_joined)
    eventually(
        lambda: clients.code("admin", port, "GET", "/containerLogs/default/web/main") == "200"
    )
    after = clients.codes(port)

    page = in_words(before, after)
    if os.environ.get("ACTORLET_WRITES_TABLE"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()


def in_words(kubelet: Mapping[str, list[str]], ours: Mapping[str, list[str]]) -> str:
    """Return the page."""
    people = "\n".join(f"- **{who}** {what}." for who, what in WHO.items())
    rows = [["request", *WHO], ["---"] * (1 + len(WHO))]
    for line in REQUESTS:
        pairs = zip(kubelet[line], ours[line], strict=True)
        method, target = line.split()
        shown = target.replace("|", "\\|")
        rows.append([f"`{method} {shown}`", *(_cell(*pair) for pair in pairs)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{HEAD}\n{people}\n\n{table}\n"


def _cell(kubelet: str, ours: str) -> str:
    return ours if kubelet == ours else f"{kubelet}, **{ours}**"
