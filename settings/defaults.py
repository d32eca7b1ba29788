"""The defaults of everything that the agent obeys, in one place.

The configuration file, the flags' help and ``/configz`` take them from here. They are a kubelet's unless a
comment says what a kubelet takes. Defaults of fields that are not served stand in ``configuration.schema``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from messages.units import Seconds

ROOT_DIR: Final = Path("/var/lib/actorlet")
SHUTDOWN_DEADLINE: Final = Seconds(10.0)
"""systemd waits 90 s for a process to stop, and Kubernetes 30 s."""

# Where pods come from.

FILE_CHECK_FREQUENCY: Final = Seconds(2.0)
"""A kubelet takes 20 s. Changes are noticed at once; the scan finds what no notification tells of, such as
a change of the target of a link."""
HTTP_CHECK_FREQUENCY: Final = Seconds(20.0)
"""These requests load a server of somebody else."""

# Endpoints.

ENABLE_SERVER: Final = True
ADDRESS: Final = "127.0.0.1"
"""A kubelet takes 0.0.0.0. But the read-only port has no authentication."""
READ_ONLY_PORT: Final = 10255
"""A kubelet takes 0, which is off. This port is how the agent shows what it does."""
HEALTHZ_BIND_ADDRESS: Final = "127.0.0.1"
HEALTHZ_PORT: Final = 10248

# The node.

SYNC_FREQUENCY: Final = Seconds(60.0)
MAX_PODS: Final = 110
EVICTION_HARD: Final = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
}
"""A kubelet's, but for images, which have no filesystem of their own here."""
REGISTER_NODE: Final = True
KUBE_API_QPS: Final = 50
KUBE_API_BURST: Final = 100
EVENT_RECORD_QPS: Final = 50
EVENT_BURST: Final = 100
NODE_STATUS_UPDATE_FREQUENCY: Final = Seconds(10.0)
NODE_STATUS_REPORT_FREQUENCY: Final = Seconds(300.0)
NODE_LEASE_DURATION_SECONDS: Final = 40
CHANGE_DETECTION: Final = "Watch"

# Logs.

LOGGING_FORMAT: Final = "text"
VERBOSITY: Final = 0
