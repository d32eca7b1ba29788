"""The runtime of containers that speaks the Container Runtime Interface: containerd, CRI-O.

- ``wire`` carries single calls and streams. Nothing outside of it knows gRPC, and nothing outside of this
  room knows the interface's messages.
- ``configs`` makes messages from pods, and reads them back.
- ``disk`` makes what containers need on the node's disk.
- ``operations`` is what one request takes, call by call.
"""
