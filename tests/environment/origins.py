"""Where pods come from: who brings, changes and takes them, and what the agent makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from typing import Any

from typing_extensions import override

from manifests.defaults import fill_defaults
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.reading.decoding import canonical_json
from messages.pods import CONFIG_SOURCE, FILE, HTTP, Pod, SourceName
from tests.environment.cluster import NODE, Cluster
from tests.environment.files import Directory, Url


class Origin(ABC):
    """A place where pods are wanted."""

    def has_room_for(self, name: str) -> bool:
        """Return whether a new pod may be brought there under this name."""
        return bool(name)

    @abstractmethod
    def bring(self, manifest: Pod) -> Pod:
        """Put a pod there, or a new form of it. Return it as the agent should know it."""

    @abstractmethod
    def take(self, pod: Pod, manifest: Pod) -> None:
        """Want the pod no more."""


class FromDirectory(Origin):
    """Pods of files."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    @override
    def bring(self, manifest: Pod) -> Pod:
        self._directory.write(manifest.name, manifest.document)
        return decoded(manifest, FILE)

    @override
    def take(self, pod: Pod, manifest: Pod) -> None:
        self._directory.remove(manifest.name)


class FromUrl(Origin):
    """Pods of a URL."""

    def __init__(self, url: Url) -> None:
        self._url = url

    @override
    def bring(self, manifest: Pod) -> Pod:
        self._url.pods[manifest.name] = manifest.document
        return decoded(manifest, HTTP)

    @override
    def take(self, pod: Pod, manifest: Pod) -> None:
        del self._url.pods[manifest.name]


class FromCluster(Origin):
    """Pods that are bound to the node at the API server, which gives them their UIDs."""

    def __init__(self, cluster: Cluster) -> None:
        self._store = cluster.store

    @override
    def has_room_for(self, name: str) -> bool:
        return not self._store.has("pods", "default", name)

    @override
    def bring(self, manifest: Pod) -> Pod:
        where = ("pods", manifest.namespace, manifest.name)
        spec = manifest.document["spec"]
        if self._store.has(*where):
            images = {each["name"]: each["image"] for each in spec["containers"]}
            now = deepcopy(dict(self._store.get(*where)["spec"]))
            for each in now["containers"]:
                each["image"] = images[each["name"]]
            return Pod.of(self._store.change(*where, spec={"containers": now["containers"]}))
        document: dict[str, Any] = deepcopy(dict(manifest.document))
        document["spec"]["nodeName"] = NODE
        metadata = document["metadata"]
        del metadata["uid"], metadata["annotations"][CONFIG_SOURCE]
        fill_defaults(document)
        return Pod.of(self._store.add(document))

    @override
    def take(self, pod: Pod, manifest: Pod) -> None:
        self._store.remove("pods", pod.namespace, pod.name, grace=None)


def decoded(manifest: Pod, source: SourceName) -> Pod:
    """Return the pod that the agent should make of a manifest."""
    rules = ManifestRules(node_name=NODE, source=source, allow_references=True)
    found = decode_manifest(canonical_json(manifest.document).encode(), rules)
    assert isinstance(found, Decoded), found
    return found.pod
