"""The Lease that says the Node is alive, as a document of the API. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from manifests.times import rfc3339_micro
from messages.api import ApiRequest, Verb
from messages.node import NodeUid
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp

NAMESPACE = "kube-node-lease"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"

FEWEST_RISES: Final = 3
"""Revisions that must have risen this often before a fall means anything. The API calls them opaque: a server
whose revisions are no count is not taken for one that was restored again and again."""

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The revisions that the API server gave to our renewals of the Lease, one after the other.

    Each renewal is a write that changes the Lease and is sent after the last one was answered. So its
    revision is higher, whichever API server answers and whatever any cache holds: all of them write to one
    etcd. Answers to anything else are not compared: what was read may come from a cache, a write that
    changes nothing has the revision of an earlier one, and other kinds may be in an etcd of their own.
    """

    revision: int | None = None
    """That of the last renewal; None before the first, and if it was no number."""
    rises: int = 0
    """How often the revision rose in a row."""
    fell_from: int | None = None
    """The revision before the last renewal, if that says that the past was put back: from a backup of
    etcd, or by another cluster in place of this one."""

    def after(self, renewed: JsonObject) -> History:
        """Return the history with ``renewed``, the answer to one more renewal."""
        text = (renewed.get("metadata") or {}).get("resourceVersion")
        if not isinstance(text, str) or not (text.isascii() and text.isdecimal()):
            return History()
        revision = int(text)
        if self.revision is None or revision > self.revision:
            return History(revision=revision, rises=self.rises + (self.revision is not None))
        is_fall = revision < self.revision and self.rises >= FEWEST_RISES
        return History(revision=revision, fell_from=self.revision if is_fall else None)


def look(node: str) -> ApiRequest:
    """Return the request for the Lease of ``node``."""
    return ApiRequest(verb=Verb.GET, path=f"{LEASES}/{node}")


def creation(node: str, owner: NodeUid, duration: Seconds, now: Timestamp) -> ApiRequest:
    """Return the request that creates the Lease of ``node``, owned by the Node of UID ``owner``.

    It is deleted with its Node, so it is not created without one (rule N5).
    """
    blank = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": NAMESPACE},
    }
    return ApiRequest(
        verb=Verb.CREATE, path=LEASES, body=renewed(blank, node, owner, duration, now)
    )


def renewal(
    lease: JsonObject, node: str, owner: NodeUid | None, duration: Seconds, now: Timestamp
) -> ApiRequest:
    """Return the request that renews ``lease``. It carries the known version, so no GET is needed first."""
    body = renewed(lease, node, owner, duration, now)
    return ApiRequest(verb=Verb.UPDATE, path=f"{LEASES}/{node}", body=body)


def renewed(
    lease: JsonObject, node: str, owner: NodeUid | None, duration: Seconds, now: Timestamp
) -> JsonObject:
    """Return ``lease`` as it is after a renewal at ``now``. Without ``owner`` its owners stay.

    The new time is later than the one before even if the clock was set back: the controller of nodes
    takes a Lease whose time does not advance for one that was not renewed.
    """
    before = lease.get("spec") or {}
    metadata = dict(lease["metadata"])
    if owner is not None:
        metadata["ownerReferences"] = owners(metadata.get("ownerReferences") or (), node, owner)
    spec = {
        **before,
        "holderIdentity": node,
        "leaseDurationSeconds": int(duration),
        "renewTime": max(rfc3339_micro(now), _next_time(before.get("renewTime"))),
    }
    return {**lease, "metadata": metadata, "spec": spec}


def renew_time(lease: JsonObject) -> str:
    """Return the time of the last renewal as ``lease`` has it; empty if it has none."""
    return str((lease.get("spec") or {}).get("renewTime") or "")


def other_holder(lease: JsonObject, node: str, ours: str) -> str:
    """Return in words who else seems to renew ``lease``; empty if nobody does.

    ``ours`` is the time of the agent's own last renewal, or empty if that is uncertain. A kubelet holds
    the Lease by the same name, so only a later renewal shows that somebody else is at work.
    """
    holder = (lease.get("spec") or {}).get("holderIdentity") or node
    if holder != node:
        return f"{str(holder)[:64]} holds it"
    return "it was renewed in our name" if ours and renew_time(lease) > ours else ""


def owners(present: Sequence[JsonObject], node: str, uid: NodeUid) -> list[dict[str, Any]]:
    """Return ``present`` with the Node of UID ``uid`` in place of any earlier Node; other owners stay."""
    others = [
        dict(each) for each in present if (each.get("kind"), each.get("name")) != ("Node", node)
    ]
    return [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}, *others]


def _next_time(renew_time: object) -> str:
    """Return the moment one microsecond after a renewal; empty if its time cannot be read."""
    with suppress(ValueError, OverflowError):
        return rfc3339_micro(datetime.fromisoformat(str(renew_time)).astimezone(UTC) + _TICK)
    return ""
