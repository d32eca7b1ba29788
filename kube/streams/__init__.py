"""Watch streams: thousands of watches over a few HTTP/2 connections, on one thread.

From the bottom:

- ``rules``: every number that the streams go by, and whether there are descriptors for all connections.
- ``next_round``: which round follows the last one, and when (pure).
- ``queries`` and ``parsing``: how to ask for lists and watches, and how to read the answers.
- ``failures``: which watches fail at present, and why.
- ``circuit_breaker``: whether requests may be sent over one connection.
- ``connections``: the pool of connections, with slots for streams.
- ``shared``: what all watches share, and what outlives a crash of the actor.
- ``exchange``: one request and its answer.
- ``target_requests``: the requests of one target.
- ``listing``: one whole list, for a watch or beside it.
- ``subscribers``: what the subscribers of one target are told.
- ``follower``: one watch, round after round.
- ``keeper``: all watches.
- ``actor``: the actor in front of it all.
"""
