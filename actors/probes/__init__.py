"""The probes of containers: which there are, carrying them out, and what counts.

The worker of a pod tells ``ProbeKeeper`` which probes its instances have (``WantProbes``). The keeper has
a ``Prober`` for each, which tells ``ProbeLoopOwner`` to run it; that has one thread with epoll for the
sockets of all of them, and asks the runtime to run commands. What counts goes back the same way, changes
alone, and the keeper tells the worker what its probes say. For hollow pods the runtime stands in the
place of the loop.

- ``watching`` is the seam between who wants probes carried out and who does it.
- ``specs`` is what a pod's document says of a probe, and what its answers come to by that.
- ``exchanges`` and ``grpc_exchanges`` are what is said over a connection: pure, and without sockets. They
  are made of ``http_messages``, and of ``http2_frames`` and the heads of ``hpack``.
- ``connections`` is one attempt over a socket, ``attempts`` all of them; ``names`` looks host names up.
- ``tick_queue`` says what is due when, ``watched`` is what is kept of each probe, and what an answer changes
  in it. ``command_turns`` says whose command may run.
- ``engine`` is one turn of the loop, ``loop`` its thread, ``loop_messages`` what both are told.
"""
