"""Carries out probes: one thread with epoll for all of them, and what is decided without any thread.

- ``specs`` is what a pod's document says of a probe, ``thresholds`` what its answers come to.
- ``http_requests``, ``http_answers`` and ``grpc_health``, on ``hpack``, are what is sent and what comes
  back: pure, without sockets. ``exchanges`` is what they have in common.
- ``connections`` is one attempt over a socket. ``names`` looks host names up on threads of its own.
- ``agenda`` says what is due in which tick, ``watched`` what is kept of each probe.
- ``engine`` is one turn of the loop, ``loop`` its thread, and ``news`` what it tells.

It does not know who asks for probes, and what becomes of their results.
"""
