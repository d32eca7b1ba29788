"""What is known of the Node from two channels: a watch, and answers to calls. Pure.

Either channel may be behind the other. The answer to a patch can come before the event of an earlier
change; a late answer can describe a Node that is gone. Versions and UIDs show the order. Where they
cannot, the Node is in doubt, and only a GET of the Node ends the doubt. Such a GET is called a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manifests.versions import resource_version, version_number
from messages.pods import JsonObject
from messages.watches import ObjectOp


@dataclass(slots=True)
class ObservedNode:
    """The Node as the two channels show it."""

    node: JsonObject | None = None
    is_known: bool = False
    """It is known whether there is a Node."""
    is_doubted: bool = False
    """The channels contradict each other."""
    is_watched: bool = True
    """The watch works, or has not failed yet."""
    _is_stale: bool = False
    """Nothing was heard of the Node since the machine was read last, and the watch fails."""
    _newest: int = 0
    """The highest resource version seen. Older ones come late."""
    _gone: str = ""
    """UID of the last Node that is known to be gone."""
    _is_disturbed: bool = False
    """Something was heard since the look began."""

    @property
    def needs_look(self) -> bool:
        """Whether only a look can show how the Node is."""
        return self.is_doubted or self._is_stale

    def listed(self, nodes: Sequence[JsonObject], version: str) -> None:
        """Take a complete listing of the watch, made at ``version``."""
        node = nodes[0] if nodes else None
        if self._is_late(version) or (node is not None and uid_of(node) == self._gone):
            # It is usually late. But an API server that was restored from a backup starts again from
            # old versions, so the listing must not be ignored.
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
        """Note that a change was answered with "not found". The Node may exist again by now."""
        self.is_doubted = True

    def unwatched(self) -> None:
        """Note that the watch fails. A known Node counts as unchanged until the machine is read next."""
        self.is_watched = False
        self._is_stale |= self.node is None

    def watched(self) -> None:
        """Note that the watch works again and has caught up."""
        self.is_watched = True
        self._is_stale = False

    def age(self) -> None:
        """Note that the machine is read again. Without a working watch the Node is stale from here on."""
        self._is_stale = not self.is_watched

    def looking(self) -> None:
        """Note that a look begins."""
        self._is_disturbed = False

    def looked(self, node: JsonObject | None) -> None:
        """Take the answer to a look; None if there is no Node.

        It replaces everything that was heard before the look began. If something was heard since, the
        answer is dropped, the doubt stays, and another look is needed.
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
        # Versions that are no numbers cannot be compared: they count as new.
        return 0 < version_number(version) < self._newest


def uid_of(node: JsonObject) -> str:
    """Return the UID of a document; empty if it has none."""
    return str(node.get("metadata", {}).get("uid") or "")
