"""Calls over the socket of a runtime. ``transport`` is the interface, ``grpc_wire`` carries it out.

``cri_pb2`` and those of containerd are generated from the ``.proto`` files beside them: ``make proto``.
"""

import os

# Read by gRPC when it is imported. Its handlers around fork() write to the standard error of every child, and
# nothing here forks without an exec.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
