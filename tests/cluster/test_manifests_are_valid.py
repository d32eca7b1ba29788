"""What we say of manifests, the API server says too: every example, and both sides of each border.

Each row is created at a real API server as a dry run. Rows are left out where the two cannot agree, each
group with its reason; most are about fields that an API server of 1.20, the oldest that these tests know,
drops in silence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.subjects import PODS
from tests.support.cluster.cluster import Cluster
from tests.support.manifests.manifest_text import decoded, edited
from tests.unit.manifests.test_validation import BAD, DOUBTFUL, FINE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

EXAMPLES = sorted(Path("examples/manifests").iterdir())

NEWER_LIBERTIES = (
    '"Lt"',
    "fileKeyRef",
    '"grpc"',
    "limits.hugepages-2Mi",
    "my.own-Name 1",
    "net.ipv4/a-b_c",
    '"restartPolicy": "Always"',
    '"sleep"',
    '"a_b.c."',
)
"""What became allowed after 1.20."""

NEWER_RULES = (
    "appArmorProfile",
    "claims",
    "clusterTrustBundle",
    "hostnameOverride",
    '"hugepages-',
    '"image": {',
    "matchLabelKeys",
    "minDomains",
    "namespaceSelector",
    "nodeTaintsPolicy",
    "podCertificate",
    "procMount",
    "recursiveReadOnly",
    "resizePolicy",
    "resourceClaims",
    "containers.0.restartPolicy",
    "schedulingGates",
    "seLinuxChangePolicy",
    "spec.os",
    "spec.resources",
    "stopSignal",
    "supplementalGroupsPolicy",
    '"terminationGracePeriodSeconds"',
)
"""Fields, and rules about them, that came after 1.20."""

ANOTHER_MATTER = (
    # The API server sets or clears these itself; a node takes them from a manifest as they are.
    "metadata.deletionGracePeriodSeconds",
    "metadata.uid",
    "spec.ephemeralContainers",
    # It has only the namespaces and runtime classes that somebody has made there.
    "metadata.namespace",
    "spec.overhead",
    # A static pod's name is longer than the one in its manifest, by the name of the node.
    "x" * 248,
)
"""What means another thing in a manifest than in a request."""

IT_TAKES_MORE = (
    # It takes a volume of no known kind for an emptyDir, and what the pod writes is lost.
    '"hostpath"',
    # What Gt and Lt compare with has to be a label value since 1.33.
    '["x y"]',
)
"""Where 1.20 refuses nothing, and we do."""


def said(path: str, value: object) -> str:
    return f"{path}: {json.dumps(value)}"


def comparable(path: str, value: object, *exceptions: str) -> bool:
    return not any(word in said(path, value) for word in (*ANOTHER_MATTER, *exceptions))


TAKEN = [
    (path, value)
    for path, value, *_ in (*FINE, *DOUBTFUL)
    if comparable(path, value, *NEWER_LIBERTIES)
]
REFUSED = [
    (path, value) for path, value, _ in BAD if comparable(path, value, *NEWER_RULES, *IT_TAKES_MORE)
]


def tried(document: JsonObject) -> ApiRequest:
    namespace = document["metadata"].get("namespace", "default")
    path = PODS.replace("default", namespace)
    return ApiRequest(verb=Verb.CREATE, path=path, query={"dryRun": "All"}, body=document)


@pytest.mark.parametrize("manifest", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_a_pod_that_the_api_server_takes(cluster: Cluster, manifest: Path) -> None:
    document = decoded(manifest.read_bytes()).pod.document
    made = cluster.admin.handle(tried(document))
    assert made["metadata"]["name"] == document["metadata"]["name"]


@pytest.mark.parametrize(("path", "value"), TAKEN, ids=lambda part: str(part)[:60])
def test_what_we_take_the_api_server_takes(cluster: Cluster, path: str, value: Any) -> None:
    document = decoded(edited(path, value)).pod.document
    assert cluster.admin.handle(tried(document))["kind"] == "Pod"


@pytest.mark.parametrize(("path", "value"), REFUSED, ids=lambda part: str(part)[:60])
def test_what_we_refuse_the_api_server_refuses(cluster: Cluster, path: str, value: Any) -> None:
    document = json.loads(edited(path, value))
    with pytest.raises(StatusError) as refused:
        cluster.admin.handle(tried(document))
    assert refused.value.code in {400, 403, 422}


def test_most_rows_can_be_compared() -> None:
    assert len(TAKEN) > 0.7 * len([*FINE, *DOUBTFUL])
    assert len(REFUSED) > 0.7 * len(BAD)
