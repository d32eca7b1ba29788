"""Carries out probes: one thread with epoll for all of them, and what is decided without any thread.

- ``specs`` is what a pod's document says of a probe, ``thresholds`` what its answers come to.
- ``exchanges`` and ``grpc_exchanges`` are what is said over a connection: pure, and without sockets. They
  are made of ``http_requests`` and ``http_answers``, and of ``http2_frames`` and the heads of ``hpack``.
- ``connections`` is one attempt over a socket, ``attempts`` all of them; ``names`` looks host names up.
- ``timing`` and ``agenda`` say what is due when, ``watched`` is what is kept of each probe, and ``counting``
  what an answer changes in it.
- ``engine`` is one turn of the loop, ``loop`` its thread, ``commands`` what it is told and ``news`` what it
  tells.

It does not know who asks for probes, and what becomes of their results.
"""
