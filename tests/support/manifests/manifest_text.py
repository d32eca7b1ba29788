"""Manifests for tests: a small good one, edited at a path, and decoded by a node's rules."""

from __future__ import annotations

import copy
import json
from typing import Any

from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.refusals import Refused
from messages.pods import FILE

RULES = ManifestRules(node_name="node1", source=FILE)

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "containers": [{"name": "server", "image": "registry.example/server:1.2"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
}


def edited(path: str, value: Any, good: dict[str, Any] = GOOD) -> bytes:
    """Return ``good`` as JSON with ``value`` at a path such as ``spec.containers.0.ports``."""
    document = copy.deepcopy(good)
    *parents, last = path.split(".")
    place: Any = document
    for step in parents:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(document).encode()


def decoded(data: bytes | str, rules: ManifestRules = RULES) -> Decoded:
    """Return what ``data`` is decoded to; fails the test when it is refused."""
    answer = decode_manifest(data.encode() if isinstance(data, str) else data, rules)
    assert isinstance(answer, Decoded), answer
    return answer


def refused(data: bytes | str, rules: ManifestRules = RULES) -> Refused:
    """Return why ``data`` is refused; fails the test when it is accepted."""
    answer = decode_manifest(data.encode() if isinstance(data, str) else data, rules)
    assert isinstance(answer, Refused), answer
    return answer


def document_of(data: bytes | str, rules: ManifestRules = RULES) -> dict[str, Any]:
    """Return the pod's JSON as a dict."""
    return dict(decoded(data, rules).pod.document)
