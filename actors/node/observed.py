"""What is known of the Node, which is told of through two channels: a watch, and answers to calls.

Either may be behind the other: the answer to a patch comes before the event of a change that preceded
it, and an answer may be late and speak of a Node that is gone. Versions and UIDs put that in order;
where they cannot, there is a doubt, and only a look at the API server ends it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manifests.versions import resource_version, version_number
from messages.pods import JsonObject
from messages.watches import ObjectOp


@dataclass(slots=True)
class ObservedNode:
    """The Node, as far as anybody has told."""

    node: JsonObject | None = None
    is_known: bool = False
    """Somebody has told whether there is a Node."""
    is_doubted: bool = False
    """What was told contradicts itself."""
    is_watched: bool = True
    """The watch tells of the Node, or will."""
    _is_stale: bool = False
    """Nobody has told of the Node since the machine was looked at last, and no watch will."""
    _newest: int = 0
    """The highest resource version that was told: what is older comes late."""
    _gone: str = ""
    """UID of the last Node that is known to be gone."""
    _is_disturbed: bool = False
    """Something was told since the look began."""

    @property
    def needs_look(self) -> bool:
        """Whether only a look at the API server can say how the Node is."""
        return self.is_doubted or self._is_stale

    def listed(self, nodes: Sequence[JsonObject], version: str) -> None:
        """Take a complete listing of the watch, made at ``version``."""
        node = nodes[0] if nodes else None
        if self._is_late(version) or (node is not None and uid_of(node) == self._gone):
            # Mostly it is late. But an API server that was restored from a backup begins anew with
            # old versions, so it cannot be ignored.
            self.is_doubted = True
            return
        self._take(node, version)

    def changed(self, op: ObjectOp, node: JsonObject) -> None:
        """Take one event of the watch."""
        if op is ObjectOp.DELETED:
            if self.node is None or uid_of(node) == uid_of(self.node):
                self._take(None, resource_version(node))
                self._gone = uid_of(node)
        else:
            self.answered(node)

    def answered(self, node: JsonObject) -> None:
        """Take the answer to a creation or a patch."""
        version = resource_version(node)
        if uid_of(node) != self._gone and not self._is_late(version):
            self._take(node, version)

    def missing(self) -> None:
        """Take it that a change was answered with "not found": so it was, but who knows how it is."""
        self.is_doubted = True

    def unwatched(self) -> None:
        """Take it that the watch fails. A Node that is known stays as it was until it is stale."""
        self.is_watched = False
        self._is_stale |= self.node is None

    def watched(self) -> None:
        """Take it that the watch works again, and has told what happened meanwhile."""
        self.is_watched = True
        self._is_stale = False

    def age(self) -> None:
        """Take it that the machine is looked at anew: what no watch tells of is stale."""
        self._is_stale = not self.is_watched

    def looking(self) -> None:
        """Note that a look begins."""
        self._is_disturbed = False

    def looked(self, node: JsonObject | None) -> None:
        """Take the answer to a look; None when there is no Node.

        It is believed whatever was told before it, but not against what was told since it began: then
        the doubt stays, and there has to be another look.
        """
        if self._is_disturbed:
            return
        self.is_doubted = False
        self._newest = 0
        self._take(node, resource_version(node) if node is not None else "")

    def _take(self, node: JsonObject | None, version: str) -> None:
        if self.node is not None and (node is None or uid_of(node) != uid_of(self.node)):
            self._gone = uid_of(self.node)
        self.node = node
        self.is_known = True
        self._is_stale = False
        self._is_disturbed = True
        self._newest = max(self._newest, version_number(version))

    def _is_late(self, version: str) -> bool:
        # The API allows to compare versions that are numbers. Others count as new: the last word counts.
        return 0 < version_number(version) < self._newest


def uid_of(node: JsonObject) -> str:
    """Return the UID of a document."""
    return str(node.get("metadata", {}).get("uid") or "")
