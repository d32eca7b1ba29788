"""Which static pods keep the UID that a kubelet gave them. Pure, but for the one object that says so.

A kubelet's UID is a digest of inputs that only it has: the bytes that its decoder makes of a manifest, the
node's name and the path of the file. So it cannot be computed here, and must be known before a source tells
its pod: everything else, from the mirror to the directories on the disk, goes by the UID. Had anybody behind
the source given a pod another one, verdicts, mirrors and records would name two pods for one manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from manifests.container_hashes import container_hash, is_unchanged
from manifests.restart_rules import is_sidecar
from messages.pod_runtime import RuntimePod
from messages.pods import FullName, JsonObject, PodUid, SourceName

MOST_KEPT: Final = 10_000
"""UIDs that a record holds. More static pods no node has."""


class KeptUid(NamedTuple):
    """The UID of a static pod, for one content of its manifest."""

    full_name: FullName
    digest: str
    """Of the manifest's content."""
    uid: PodUid


class AdoptedUids:
    """The UIDs that static pods of one source keep, and those that they may be given.

    A pod is given the UID under which it runs, once. From then on that belongs to this content of the
    manifest: another content has a UID of its own, as it always has, and the first one again has the kept
    one. Only pods that a kubelet started are adopted: what this agent started has its own UID, and if that
    is another one by now, the manifest was changed while no agent was there.
    """

    def __init__(self, source: SourceName, kept: Iterable[KeptUid] = ()) -> None:
        self._source = source
        self._kept = {(each.full_name, each.digest): each.uid for each in kept}
        self._running: dict[FullName, RuntimePod] = {}

    def learn(self, pods: Iterable[RuntimePod]) -> None:
        """Take what runs, and forget UIDs of earlier contents that do not run any more."""
        there = {each.uid: each for each in pods}
        contents = Counter(name for name, _ in self._kept)
        for (name, digest), uid in tuple(self._kept.items()):
            if uid not in there and contents[name] > 1:
                contents[name] -= 1
                del self._kept[name, digest]
        taken = set(self._kept.values())
        found = [
            each
            for each in there.values()
            if each.is_foreign and each.source == self._source and each.uid not in taken
        ]
        found.sort(key=lambda each: (each.is_running, each.started_at or 0.0))
        self._running = {FullName(f"{each.name}_{each.namespace}"): each for each in found}

    def uid_of(self, pod: JsonObject, digest: str) -> PodUid | None:
        """Return the UID that the static pod of a manifest keeps; None if it has one of its own."""
        name = FullName(f"{pod['metadata']['name']}_{pod['metadata']['namespace']}")
        kept = self._kept.get((name, digest))
        found = self._running.get(name)
        if kept is None and found is not None and not why_not(pod, found):
            kept = self._kept[name, digest] = found.uid
            del self._running[name]
        return kept

    @property
    def kept(self) -> tuple[KeptUid, ...]:
        """The UIDs that are kept, the oldest first."""
        return tuple(KeptUid(name, digest, uid) for (name, digest), uid in self._kept.items())


def why_not(pod: JsonObject, found: RuntimePod) -> str:
    """Return why the pod of a manifest is not the one that was found; empty if it is."""
    spec: Mapping[str, Any] = pod["spec"]
    inits, regular = spec.get("initContainers") or (), spec["containers"]
    images = {each["name"]: each.get("image") or "" for each in (*inits, *regular)}
    there = {one.name: one for one in found.instances}
    for one in there.values():
        if one.name not in images:
            return f"container {one.name} of it is not in the manifest"
        image = images[one.name]
        if not is_unchanged(container_hash(one.name, image), image, one):
            return f"container {one.name} has image {one.image}, and {image} in the manifest"
    lasting = [each["name"] for each in (*filter(is_sidecar, inits), *regular)]
    missing = [name for name in lasting if name not in there]
    return f"it has no container {missing[0]}, which is in the manifest" if missing else ""
