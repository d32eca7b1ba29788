"""What somebody writes a virtual node with: the only names of the agent that other code may import.

``PodProvider`` is the class to derive from, and says what it may rely on. It is given ``Pod``, and returns
``PodReport`` (or a phase) with ``ContainerReport``, and ``NodeReport`` of the node. The agent runs it with
``--runtime MODULE:CLASS``. ``docs/writing-a-runtime.md`` is the guide, and ``examples/virtual_node.py`` has a
whole class.
"""

from messages.pods import JsonObject, Pod
from runtimes.provider.pod_provider import (
    ContainerReport,
    NodeReport,
    PodProvider,
    PodReport,
    PodReports,
    ProviderContext,
)

__all__ = [
    "ContainerReport",
    "JsonObject",
    "NodeReport",
    "Pod",
    "PodProvider",
    "PodReport",
    "PodReports",
    "ProviderContext",
]
