"""Modules that only some agents import: their contents are looked up at first use.

The API client takes 10 MB and gRPC 28 MB, and few nodes without a cluster serve a TLS port. So the table of
actors names functions of these modules without importing them. This is what PEP 810 brings into the language,
``lazy from agent import cluster``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.composition import LateModule

if TYPE_CHECKING:
    from agent import cluster, containers, node_server
else:
    cluster = LateModule("agent.cluster")
    containers = LateModule("agent.containers")
    node_server = LateModule("agent.node_server")

__all__ = ["cluster", "containers", "node_server"]
